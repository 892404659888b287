// SPDX-License-Identifier: GPL-2.0-only
#include <linux/moduleparam.h>

#include "core/core.h"
#include "io/inject.h"

static bool fault_injection;
module_param(fault_injection, bool, 0444);
MODULE_PARM_DESC(fault_injection, "allow the message 'inject', which makes faults");

static const char *const kinds[KVP_FAULTS] = {
	[KVP_FAULT_READ] = "read",
	[KVP_FAULT_WRITE] = "write",
	[KVP_FAULT_FLUSH] = "flush",
};

bool kvp_inject_allowed(void)
{
	return fault_injection;
}

int kvp_inject(struct kvp_leg *leg, const char *kind, u32 count)
{
	u32 i;

	for (i = 0; i < KVP_FAULTS; i++)
		if (!strcmp(kind, kinds[i])) {
			atomic_set(&leg->faults[i], count);
			return 0;
		}
	return -EINVAL;
}
