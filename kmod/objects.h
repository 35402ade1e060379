/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Objects: each kind has a cache of its own.  So unloading tells of each kind
 * whether all that was created has been freed (kmem_cache_destroy() warns of what
 * is left), and fault injection can aim at one (failslab's cache-filter).  Where
 * SLAB_NO_MERGE is missing, the kernel must be booted with slab_nomerge for that.
 */
#ifndef _DISTSNAP_OBJECTS_H
#define _DISTSNAP_OBJECTS_H

#include <linux/slab.h>

#define DS_OBJECTS(X)	\
	X(group)	\
	X(member)	\
	X(channel)	\
	X(parked)	\
	X(stolen)	\
	X(snap)		\
	X(record)	\
	X(cut)

enum ds_object {
#define DS_OBJECT_ENUM(type) DS_OBJECT_##type,
	DS_OBJECTS(DS_OBJECT_ENUM)
#undef DS_OBJECT_ENUM
	DS_OBJECT_MAX
};

extern struct kmem_cache *ds_caches[DS_OBJECT_MAX];

/* A struct ds_TYPE, all zero; NULL without memory */
#define ds_new(type, gfp) \
	((struct ds_##type *)kmem_cache_zalloc(ds_caches[DS_OBJECT_##type], gfp))

/* Not from kfree_rcu(): unloading would not wait for that. */
#define ds_free(type, p) do {						\
	struct ds_##type *p_ = (p);					\
	kmem_cache_free(ds_caches[DS_OBJECT_##type], p_);		\
} while (0)

int ds_objects_init(void);
void ds_objects_exit(void);

#endif /* _DISTSNAP_OBJECTS_H */
