// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"
#include "util.h"

void table_add(struct table *t, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	why_clean(text);
	texts_add(&t->cells, xstrdup(text));
}

void table_print(const struct table *t, FILE *to)
{
	int *width = xcalloc(t->columns, sizeof(*width));
	unsigned int col;
	size_t i;
	int len;

	for (i = 0; i < t->cells.n; i++) {
		len = strlen(t->cells.v[i]);
		if (len > width[i % t->columns])
			width[i % t->columns] = len;
	}
	for (i = 0; i < t->cells.n; i++) {
		col = i % t->columns;
		if (t->right & (1u << col))
			fprintf(to, "%*s", width[col], t->cells.v[i]);
		else if (col + 1 < t->columns)
			fprintf(to, "%-*s", width[col], t->cells.v[i]);
		else
			fputs(t->cells.v[i], to);
		fputs(col + 1 < t->columns ? "  " : "\n", to);
	}
	free(width);
}

void table_free(struct table *t)
{
	texts_free(&t->cells);
}
