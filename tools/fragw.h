/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Writing a fragment: what this node recorded of one epoch, fetched from the
 * kernel, becomes STORE/GROUP/EPOCH/NODE, whole or not at all.
 *
 * A member whose data or image cannot be written is stated as aborted with the
 * reason, so that nobody takes the snapshot for complete.
 */
#ifndef DISTSNAP_FRAGW_H
#define DISTSNAP_FRAGW_H

#include <jansson.h>

#include "image.h"
#include "nl.h"

struct fragw_image {
	uint32_t member;
	struct image *img;
};

struct fragw_job {
	const char *store, *group, *node;
	uint32_t epoch;
	bool light;			/* set by fragw_write() */
	const struct fragw_image *images;
	size_t n_images;
};

struct fragw_result {
	uint32_t state;			/* enum distsnap_state */
	size_t members;
	char path[512];
};

/* 0, or a negative errno with the reason printed. */
int fragw_write(struct ds_conn *c, struct fragw_job *job,
		struct fragw_result *res);

/* fragw_member.c: one element of "members"; its files go below @dirfd. */
json_t *fragw_member(struct ds_conn *c, const struct fragw_job *job,
		     const struct ds_record *r, int dirfd);

/* fragw_data.c: captured bytes into files. */
struct fragw_piece {
	uint32_t channel, origin;
	uint64_t offset, len, pos;
};

struct fragw_data {
	int dirfd, fd;			/* @fd: the file under way */
	uint32_t channel, origin;
	uint64_t pos;
	struct fragw_piece *pieces;
	size_t n, cap;
};

int fragw_data(struct ds_conn *c, const struct fragw_job *job, uint32_t member,
	       int dirfd, struct fragw_data *data);
/* "17.recvq.bin" */
void fragw_data_name(uint32_t channel, uint32_t origin, char *name, size_t n);

/* fragw_ipc.c: "uncovered": what the process holds beside TCP channels. */
json_t *fragw_uncovered(const struct image *img);

/* jansson takes UTF-8 only; names and paths may be anything. */
json_t *fragw_text(const char *s);
json_t *fragw_texts(const struct ds_strings *s);

#endif
