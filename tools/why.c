// SPDX-License-Identifier: GPL-2.0
#include <stdarg.h>
#include <stdio.h>

#include "util.h"
#include "why.h"

void why_clean(char *text)
{
	for (; *text; text++)
		if (*text < 0x20 || *text > 0x7e)
			*text = '?';
}

int why_set(struct why *why, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why->text, sizeof(why->text), fmt, ap);
	va_end(ap);
	why_clean(why->text);
	return -1;
}

int why_about(struct why *why, const char *what)
{
	struct why old = *why;

	return why_set(why, "%s: %s", what, old.text);
}

char *why_format(const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	why_clean(text);
	return xstrdup(text);
}
