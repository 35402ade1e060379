// SPDX-License-Identifier: GPL-2.0
/* The names of the counters. */
#include "counters.h"

const char * const ds_counter_names[DS_CNT_MAX] = {
#define DS_COUNTER_NAME(name) [DS_CNT_##name] = #name,
	DS_COUNTERS(DS_COUNTER_NAME)
#undef DS_COUNTER_NAME
};
