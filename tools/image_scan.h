/* SPDX-License-Identifier: GPL-2.0 */
/* The parts of image_copy() that find out what there is to copy. */
#ifndef DISTSNAP_IMAGE_SCAN_H
#define DISTSNAP_IMAGE_SCAN_H

#include "image.h"

#define PAGE		4096ull
#define SCAN_ENTRIES	65536		/* pagemap entries a read */
#define FILL_MAX	(16ull << 20)	/* writable file mappings up to this are filled */

enum {
	HOW_READV,		/* process_vm_readv */
	HOW_MEM,		/* /proc/PID/mem */
	HOW_OBJECT,		/* through the object's own file */
};

struct image_run *add_run(struct image *img);
int scan_pages(struct image *img, int procfd, uint64_t deadline);
void scan_fds(struct image *img, int procfd, uint64_t deadline);

#endif
