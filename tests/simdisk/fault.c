// SPDX-License-Identifier: GPL-2.0-only
/* Faults of ranges of sectors, and the text commands that set them. */
#include <linux/slab.h>
#include <linux/string.h>

#include "simdisk.h"

const char * const sim_fault_names[SIM_NR_FAULTS] = {
	[SIM_FAULT_LATENT] = "bad",
	[SIM_FAULT_READ] = "read_error",
	[SIM_FAULT_WRITE] = "write_error",
	[SIM_FAULT_LOST] = "lost",
	[SIM_FAULT_MISDIRECT] = "misdirect",
};

/* The oldest fault of a kind that touches the range. Read side is enough. */
struct sim_fault *sim_fault_find(struct sim_dev *dev, enum sim_fault_kind kind,
				 sector_t sector, sector_t nr)
{
	struct sim_fault *f;

	list_for_each_entry(f, &dev->faults, list) {
		if (f->kind != kind)
			continue;
		if (!f->nr || sim_overlap(f->sector, f->nr, sector, nr))
			return f;
	}
	return NULL;
}

static struct sim_fault *sim_fault_alloc(enum sim_fault_kind kind,
					 sector_t sector, sector_t nr)
{
	struct sim_fault *f = kzalloc(sizeof(*f), GFP_NOIO | __GFP_NOWARN);

	if (!f)
		return NULL;
	f->kind = kind;
	f->sector = sector;
	f->nr = nr;
	return f;
}

int sim_fault_add(struct sim_dev *dev, enum sim_fault_kind kind,
		  sector_t sector, sector_t nr, s64 distance)
{
	struct sim_fault *f = sim_fault_alloc(kind, sector, nr);

	if (!f)
		return -ENOMEM;
	f->distance = distance;
	list_add_tail(&f->list, &dev->faults);
	return 0;
}

void sim_fault_remove(struct sim_fault *f)
{
	list_del(&f->list);
	kfree(f);
}

void sim_fault_free_list(struct list_head *list)
{
	struct sim_fault *f, *next;

	list_for_each_entry_safe(f, next, list, list)
		sim_fault_remove(f);
}

/* Split @f so that one element ends, or starts, at @at. */
static int sim_fault_split(struct sim_fault *f, sector_t at)
{
	struct sim_fault *tail;

	if (at <= f->sector || at >= f->sector + f->nr)
		return 0;
	tail = sim_fault_alloc(f->kind, at, f->sector + f->nr - at);
	if (!tail)
		return -ENOMEM;
	tail->distance = f->distance;
	f->nr = at - f->sector;
	list_add(&tail->list, &f->list);	/* next to be visited */
	return 0;
}

/* Take the part of each fault of @kind in the range off the list. */
static int sim_fault_cut_out(struct sim_dev *dev, enum sim_fault_kind kind,
			     sector_t sector, sector_t nr,
			     struct list_head *saved)
{
	struct sim_fault *f, *next;

	for (f = list_first_entry(&dev->faults, struct sim_fault, list);
	     !list_entry_is_head(f, &dev->faults, list); f = next) {
		if (f->kind == kind && sim_overlap(f->sector, f->nr, sector, nr)) {
			if (sim_fault_split(f, sector) ||
			    sim_fault_split(f, sector + nr))
				return -ENOMEM;
		}
		next = list_next_entry(f, list);
		if (f->kind != kind || f->sector < sector ||
		    f->sector + f->nr > sector + nr)
			continue;
		list_del(&f->list);
		if (saved)
			list_add_tail(&f->list, saved);
		else
			kfree(f);
	}
	return 0;
}

/**
 * sim_fault_cure() - a write heals the latent errors it overwrites
 * @dev: device
 * @sector: first sector written
 * @nr: sectors
 * @saved: where the cured ranges go, in case the write is lost; NULL: nowhere
 *
 * Context: sim.sem held for writing. Return: 0 or -ENOMEM.
 */
int sim_fault_cure(struct sim_dev *dev, sector_t sector, sector_t nr,
		   struct list_head *saved)
{
	if (list_empty(&dev->faults))
		return 0;
	return sim_fault_cut_out(dev, SIM_FAULT_LATENT, sector, nr, saved);
}

static int sim_fault_kind(const char *name)
{
	/* "latent" is what "bad" means. */
	if (!strcmp(name, "latent"))
		return SIM_FAULT_LATENT;
	return match_string(sim_fault_names, SIM_NR_FAULTS, name);
}

static bool sim_range_valid(const struct sim_dev *dev, u64 sector, u64 nr)
{
	u64 end = dev->size_mib << (20 - SECTOR_SHIFT);

	return nr && sector < end && nr <= end - sector;
}

/* add KIND SECTOR COUNT | add lost [SECTOR COUNT] |
 * add misdirect DISTANCE [SECTOR COUNT]
 */
static int sim_command_add(struct sim_dev *dev, int kind, const char *args)
{
	unsigned long long sector = 0, nr = 0;
	long long distance = 0;
	int n;

	if (kind == SIM_FAULT_MISDIRECT) {
		n = sscanf(args, "%lld %llu %llu", &distance, &sector, &nr) - 1;
		/* Entries are laid out by block. */
		if (n < 0 || !distance || distance % SIM_BLOCK_SECTORS)
			return -EINVAL;
	} else {
		n = sscanf(args, "%llu %llu", &sector, &nr);
		if (n < 2 && kind != SIM_FAULT_LOST)
			return -EINVAL;
	}
	if (n == 1 || (n >= 2 && !sim_range_valid(dev, sector, nr)))
		return -EINVAL;
	return sim_fault_add(dev, kind, sector, nr, distance);
}

/* Cured errors must not come back in a power cut after they were cleared. */
static void sim_fault_forget_cured(struct sim_dev *dev)
{
	struct sim_entry *e;

	list_for_each_entry(e, &dev->journal, list)
		sim_fault_free_list(&e->cured);
}

/* clear [KIND [SECTOR COUNT]]; of a range only what is not cured by now */
static int sim_command_clear(struct sim_dev *dev, const char *name,
			     const char *args)
{
	unsigned long long sector = 0, nr = 0;
	struct sim_fault *f, *next;
	int kind, n;

	if (!name) {
		sim_fault_free_list(&dev->faults);
		sim_fault_forget_cured(dev);
		return 0;
	}
	kind = sim_fault_kind(name);
	if (kind < 0)
		return kind;
	n = args ? sscanf(args, "%llu %llu", &sector, &nr) : 0;
	if (n == 2)
		return sim_fault_cut_out(dev, kind, sector, nr, NULL);
	if (n == 1)
		return -EINVAL;
	list_for_each_entry_safe(f, next, &dev->faults, list)
		if (f->kind == kind)
			sim_fault_remove(f);
	if (kind == SIM_FAULT_LATENT)
		sim_fault_forget_cured(dev);
	return 0;
}

/**
 * sim_fault_command() - one line of the faults attribute
 * @dev: device
 * @line: "add ..." or "clear ..."; modified
 *
 * Context: sim.sem held for writing. Return: 0, -EINVAL or -ENOMEM.
 */
int sim_fault_command(struct sim_dev *dev, char *line)
{
	char *verb, *name, *args = strim(line);
	int kind;

	if (!*args)
		return 0;
	verb = strsep(&args, " ");
	name = strsep(&args, " ");
	if (!strcmp(verb, "clear"))
		return sim_command_clear(dev, name, args);
	if (strcmp(verb, "add") || !name)
		return -EINVAL;
	kind = sim_fault_kind(name);
	if (kind < 0)
		return kind;
	return sim_command_add(dev, kind, args ?: "");
}
