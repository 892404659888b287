/* SPDX-License-Identifier: GPL-2.0-only */
/* A table's view of its pool; shared by the files of device-mapper glue. */
#ifndef KVP_TARGET_H
#define KVP_TARGET_H

#include "pool/pool.h"
#include "target/registry.h"

struct dm_dev;
struct dm_target;

struct kvp_target {
	struct kvp_start start;			/* the line, taken apart */
	struct kvp_refusal refusal;		/* of the line, if more can be said than ti->error */
	struct dm_target *ti;			/* while the line is taken apart */
	struct dm_dev *devs[KVP_MAX_LEGS];
	struct kvp_instance *inst;		/* NULL until resumed */
	bool resuming;				/* it has been loaded, and was found good then */
};

#endif /* KVP_TARGET_H */
