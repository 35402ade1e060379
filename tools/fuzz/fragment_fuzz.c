// SPDX-License-Identifier: GPL-2.0
/*
 * libFuzzer: any bytes as fragment.json, up to the manifest.  Seeds are the
 * fragment.json of real snapshots.
 *
 * clang -g -O1 -fsanitize=fuzzer,address,undefined -Iuapi \
 *	tools/fuzz/fragment_fuzz.c tools/{fragment,fragment_json,fragment_cut,file}.c \
 *	tools/{jsonread,pair,verdict,manifest,why,util}.c -ljansson
 */
#include <stdlib.h>
#include <string.h>

#include "../manifest.h"
#include "../util.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fragment *f = xcalloc(1, sizeof(*f));
	struct verdict v;
	struct why why;

	f->fd = -1;
	f->path = xstrdup("fuzz");
	f->text = xmalloc(size + 1);
	f->text_len = size;
	memcpy(f->text, data, size);
	if (!fragment_parse(f, &why)) {
		verdict_reach(&v, &f, 1, NULL, 0);
		verdict_finish(&v);
		free(manifest_render(&v));
		verdict_free(&v);
	}
	fragment_free(f);
	return 0;
}
