/* SPDX-License-Identifier: GPL-2.0 */
/* Columns as wide as they need to be.  What is printed is printable. */
#ifndef DISTSNAP_TABLE_H
#define DISTSNAP_TABLE_H

#include <stdio.h>

#include "jsonread.h"

/**
 * struct table - cells, row by row
 * @columns: how many in a row
 * @right: a bit for each column of numbers
 * @cells: the texts
 */
struct table {
	unsigned int columns, right;
	struct texts cells;
};

void table_add(struct table *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void table_print(const struct table *t, FILE *to);
void table_free(struct table *t);

#endif
