/* SPDX-License-Identifier: GPL-2.0-only */
/* Shrinkers are allocated by the kernel since 6.7; before, they are embedded. */
#ifndef KVP_COMPAT_SHRINKER_H
#define KVP_COMPAT_SHRINKER_H

#include <linux/shrinker.h>
#include <linux/version.h>

typedef unsigned long (*kvp_shrink_fn)(struct shrinker *s, struct shrink_control *sc);

/**
 * kvp_shrinker_register() - let the kernel call @count and @scan when memory is short
 * @private: what kvp_shrinker_private() returns in these calls
 * @name: for debugfs
 *
 * Return: 0 or -ENOMEM. Context: process, may sleep.
 *
 * kvp_shrinker_unregister() - wait for calls that run; there are no more. Does nothing if @k is
 * zeros, or not registered any more. Context: process, may sleep.
 */

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0)

struct kvp_shrinker {
	struct shrinker *shrinker;
};

static inline void *kvp_shrinker_private(struct shrinker *s)
{
	return s->private_data;
}

static inline int kvp_shrinker_register(struct kvp_shrinker *k, void *private,
					kvp_shrink_fn count, kvp_shrink_fn scan, const char *name)
{
	k->shrinker = shrinker_alloc(0, "%s", name);
	if (!k->shrinker)
		return -ENOMEM;
	k->shrinker->count_objects = count;
	k->shrinker->scan_objects = scan;
	k->shrinker->private_data = private;
	shrinker_register(k->shrinker);
	return 0;
}

static inline void kvp_shrinker_unregister(struct kvp_shrinker *k)
{
	if (k->shrinker)
		shrinker_free(k->shrinker);
	k->shrinker = NULL;
}

#else

struct kvp_shrinker {
	struct shrinker shrinker;
	void *private;
	bool registered;
};

static inline void *kvp_shrinker_private(struct shrinker *s)
{
	return container_of(s, struct kvp_shrinker, shrinker)->private;
}

static inline int kvp_shrinker_register(struct kvp_shrinker *k, void *private,
					kvp_shrink_fn count, kvp_shrink_fn scan, const char *name)
{
	int ret;

	k->shrinker.count_objects = count;
	k->shrinker.scan_objects = scan;
	k->shrinker.seeks = DEFAULT_SEEKS;
	k->private = private;
	ret = register_shrinker(&k->shrinker, "%s", name);
	k->registered = !ret;
	return ret;
}

static inline void kvp_shrinker_unregister(struct kvp_shrinker *k)
{
	if (k->registered)
		unregister_shrinker(&k->shrinker);
	k->registered = false;
}

#endif

#endif /* KVP_COMPAT_SHRINKER_H */
