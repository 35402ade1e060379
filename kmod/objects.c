// SPDX-License-Identifier: GPL-2.0
/* Caches of objects; see objects.h. */
#include "channel.h"
#include "group.h"
#include "member.h"
#include "objects.h"
#include "park.h"
#include "queue.h"
#include "record.h"

/* Since 6.5. */
#ifdef SLAB_NO_MERGE
#define NO_MERGE	SLAB_NO_MERGE
#else
#define NO_MERGE	0
#endif

struct kmem_cache *ds_caches[DS_OBJECT_MAX];

static const struct {
	const char *name;
	unsigned int size;
} kinds[] = {
#define DS_OBJECT_KIND(type) { "distsnap_" #type, sizeof(struct ds_##type) },
	DS_OBJECTS(DS_OBJECT_KIND)
#undef DS_OBJECT_KIND
};

int ds_objects_init(void)
{
	unsigned int i;

	for (i = 0; i < DS_OBJECT_MAX; i++) {
		ds_caches[i] = kmem_cache_create(kinds[i].name, kinds[i].size, 0,
						 NO_MERGE, NULL);
		if (!ds_caches[i]) {
			ds_objects_exit();
			return -ENOMEM;
		}
	}
	return 0;
}

/* After rcu_barrier(), with nobody left who could free or allocate. */
void ds_objects_exit(void)
{
	unsigned int i;

	for (i = 0; i < DS_OBJECT_MAX; i++)
		kmem_cache_destroy(ds_caches[i]);
}
