/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Devices that are here, and that a pool lacks: "missing" is not the whole truth of their legs. One
 * may be read-only, or too small, or only not in use yet.
 */
#ifndef KVPOOLCTL_FOUND_H
#define KVPOOLCTL_FOUND_H

#include "ctl.h"
#include "scan.h"

#define FOUND_WHY	256

/* What to do about a device that is smaller than it was. */
#define FOUND_FULL_SIZE \
	"connect that so that its full size is seen: another dock or controller, no host " \
	"protected area, a partition as large as it was"

/* What to do about a part of a device that has the leg. */
#define FOUND_PART \
	"assemble that device, for example with mdadm --assemble --scan; if there is none, " \
	"wipefs --types TYPE DEV removes what makes it a part"

/**
 * found_fault() - why the pool of a leg cannot use its device
 * @why: receives it
 * @mend: receives what to do, a constant; NULL: not needed
 *
 * Return: false if the device has no fault, by what the scan read of it.
 */
bool found_fault(const struct found_leg *leg, char why[FOUND_WHY], const char **mend);

/** found_json() - set "found" of the leg @o: the device @leg, or null */
void found_json(json_object *o, const struct found_leg *leg);

/** found_note() - set "found" of each leg of the running pool @pool that is missing and in @s */
void found_note(json_object *pool, const struct scan *s);

#endif
