// SPDX-License-Identifier: GPL-2.0-only
/* Module entry and exit; the state that all simulated disks share. */
#include <linux/module.h>

#include "simdisk.h"

struct sim_state sim = {
	.admin = __MUTEX_INITIALIZER(sim.admin),
	.sem = __RWSEM_INITIALIZER(sim.sem),
	.lock = __SPIN_LOCK_UNLOCKED(sim.lock),
	.devs = LIST_HEAD_INIT(sim.devs),
};

static int __init sim_init(void)
{
	int r = -ENOMEM;

	BUILD_BUG_ON(PAGE_SIZE != SIM_BLOCK_SIZE);
	sim.zero_page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	if (!sim.zero_page)
		return r;
	sim.io_cache = KMEM_CACHE(sim_io, 0);
	if (!sim.io_cache)
		goto free_page;
	sim.wq = alloc_workqueue("simdisk", WQ_MEM_RECLAIM, 0);
	if (!sim.wq)
		goto free_cache;
	sim_trace_init();
	config_group_init(&sim_subsys.su_group);
	r = configfs_register_subsystem(&sim_subsys);
	if (r)
		goto free_trace;
	return 0;

free_trace:
	sim_trace_exit();
	destroy_workqueue(sim.wq);
free_cache:
	kmem_cache_destroy(sim.io_cache);
free_page:
	__free_page(sim.zero_page);
	return r;
}

/* Every device pins the module, so none is left by now. */
static void __exit sim_exit(void)
{
	configfs_unregister_subsystem(&sim_subsys);
	sim_trace_exit();
	destroy_workqueue(sim.wq);
	kmem_cache_destroy(sim.io_cache);
	__free_page(sim.zero_page);
}

module_init(sim_init);
module_exit(sim_exit);
MODULE_DESCRIPTION("RAM-backed disks with power cuts and faults, for tests");
MODULE_LICENSE("GPL");
