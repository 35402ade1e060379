/* SPDX-License-Identifier: GPL-2.0 */
/* The parts of image_copy() that find out what there is to copy. */
#ifndef DISTSNAP_IMAGE_SCAN_H
#define DISTSNAP_IMAGE_SCAN_H

#include "image.h"

#define PAGE		4096ull
#define SCAN_ENTRIES	65536		/* pagemap entries a read */
#define FILL_MAX	(16ull << 20)	/* writable file mappings up to this are filled */

#define FDS_SURE	1024
#define FDS_MAX		65536		/* more than that are not listed */

enum {
	HOW_READV,		/* process_vm_readv */
	HOW_MEM,		/* /proc/PID/mem */
	HOW_OBJECT,		/* through the object's own file */
};

struct image_run *add_run(struct image *img);
int scan_pages(struct image *img, int procfd, uint64_t deadline);
/*
 * Pipes and sockets.  The first FDS_SURE descriptors are listed whatever the
 * clock says, which takes a millisecond or so: @deadline is for the rest.
 */
void scan_fds(struct image *img, int procfd, uint64_t deadline);
/* They cannot be listed: errno says why. */
void scan_fds_failed(struct image *img);

#endif
