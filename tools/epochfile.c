// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "epochfile.h"
#include "util.h"

static char *file_name(const char *store, const char *group, const char *node)
{
	return xasprintf("%s/%s/.epoch-%s", store, group, node);
}

int epochfile_read(const char *store, const char *group, const char *node,
		   uint32_t *epoch)
{
	char *path = file_name(store, group, node), *text;
	int err = 0;

	*epoch = 0;
	text = read_whole(path, NULL);
	if (!text) {
		err = errno == ENOENT ? 0 : -errno;
	} else {
		text[strcspn(text, "\n")] = 0;
		err = parse_u32(text, UINT32_MAX, epoch) ? -EINVAL : 0;
	}
	free(text);
	free(path);
	return err;
}

static int write_synced(const char *path, const char *text)
{
	int fd, err;

	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
		  0600);
	if (fd < 0)
		return -errno;
	err = write_all(fd, text, strlen(text));
	if (!err && fsync(fd))
		err = -errno;
	close(fd);
	return err;
}

int epochfile_write(const char *store, const char *group, const char *node,
		    uint32_t epoch)
{
	char *path = file_name(store, group, node);
	char *tmp = xasprintf("%s.tmp", path);
	char *dir = xasprintf("%s/%s", store, group);
	char text[16];
	int err;

	snprintf(text, sizeof(text), "%u\n", epoch);
	err = mkdirs(dir);
	if (!err)
		err = write_synced(tmp, text);
	if (!err && rename(tmp, path))
		err = -errno;
	free(dir);
	free(tmp);
	free(path);
	return err;
}
