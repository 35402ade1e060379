/* SPDX-License-Identifier: GPL-2.0 */
/* manifest.json, version 1: a verdict in writing.  Same verdict, same bytes. */
#ifndef DISTSNAP_MANIFEST_H
#define DISTSNAP_MANIFEST_H

#include <jansson.h>

#include "verdict.h"

#define MANIFEST_FORMAT		"distsnap-snapshot"
#define MANIFEST_VERSION	1

/* @v is finished.  The caller frees. */
char *manifest_render(const struct verdict *v);

uint64_t manifest_bytes(const struct verdict *v);	/* in flight */

/* Format and version: 0, or -1 and @why. */
int manifest_check_head(const json_t *root, struct why *why);

#endif
