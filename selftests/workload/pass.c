// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <linux/io_uring.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "pass.h"

union control {
	char buf[CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

int pass_fd(int via, int fd, const void *data, size_t n)
{
	struct iovec iov = { (void *)data, n };
	union control u = { 0 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = u.buf, .msg_controllen = sizeof(u.buf),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(int));
	return sendmsg(via, &msg, 0) == n ? 0 : -1;
}

int take_fd(int via, void *data, size_t n)
{
	struct iovec iov = { data, n };
	union control u;
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = u.buf, .msg_controllen = sizeof(u.buf),
	};
	struct cmsghdr *c;
	int fd;

	if (recvmsg(via, &msg, MSG_CMSG_CLOEXEC | MSG_WAITALL) != n)
		return -1;
	c = CMSG_FIRSTHDR(&msg);
	if (!c || c->cmsg_type != SCM_RIGHTS) {
		errno = EBADMSG;
		return -1;
	}
	memcpy(&fd, CMSG_DATA(c), sizeof(int));
	return fd;
}

static int unix_socket(struct sockaddr_un *addr, const char *path)
{
	memset(addr, 0, sizeof(*addr));
	addr->sun_family = AF_UNIX;
	strncpy(addr->sun_path, path, sizeof(addr->sun_path) - 1);
	return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

int pass_listen(const char *path)
{
	struct sockaddr_un addr;
	int fd = unix_socket(&addr, path), via = -1;

	unlink(path);
	if (fd >= 0 && !bind(fd, (struct sockaddr *)&addr, sizeof(addr)) && !listen(fd, 1))
		via = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	close(fd);
	return via;
}

int pass_connect(const char *path)
{
	struct sockaddr_un addr;
	int fd = unix_socket(&addr, path);

	if (fd < 0 || !connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
		return fd;
	close(fd);
	return -1;
}

int pass_to_ring(int fd)
{
	struct io_uring_params p = { 0 };
	int ring = syscall(SYS_io_uring_setup, 4, &p);

	if (ring < 0 ||
	    !syscall(SYS_io_uring_register, ring, IORING_REGISTER_FILES, &fd, 1))
		return ring;
	close(ring);
	return -1;
}
