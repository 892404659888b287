// SPDX-License-Identifier: GPL-2.0-only
/* Describes one leg without the module. */
#include <uuid/uuid.h>

#include "format/shadow.h"
#include "format/tunables.h"
#include "host.h"
#include "inspect.h"
#include "log.h"
#include "table.h"

static const char *slot_word(int state)
{
	switch (state) {
	case 0:			return "valid";
	case -ENODATA:		return "empty";
	case -EOPNOTSUPP:	return "unsupported";
	case -EIO:		return "unreadable";
	default:		return "corrupt";
	}
}

static void add_labels(json_object *o, const struct label *l)
{
	json_object *list = json_list(o, "labels"), *slot;
	unsigned int i;

	for (i = 0; i < LABEL_SLOTS; i++) {
		const struct label_slot *s = &l->slots[i];

		slot = json_item(list);
		json_number(slot, "offset", s->offset);
		json_text(slot, "state", slot_word(s->state));
		if (!s->state) {
			json_number(slot, "epoch", s->epoch);
			json_number(slot, "sequence", s->sequence);
		} else if (s->state != -ENODATA) {
			json_text(slot, "why", s->why.text);
		}
	}
}

static void add_geometry(json_object *sb_object, const struct kvp_geometry *g)
{
	json_object *o = json_child(sb_object, "geometry");

	json_text(o, "kind", vdev_word(g->kind));
	json_number(o, "legs", g->leg_count);
	json_number(o, "table_levels", g->levels);
	json_number(o, "table_start", g->table_start);
	json_number(o, "table_blocks", kvp_table_blocks(g));
	json_number(o, "table_copies", kvp_table_copies(g));
	json_number(o, "log_start", g->log_start);
	json_number(o, "log_segments", g->segments);
	json_number(o, "segment_blocks", g->segment_blocks);
	json_number(o, "data_start", g->data_start);
	json_number(o, "data_blocks", g->data_blocks);
	if (kvp_is_parity1(g))
		json_number(o, "chunk_blocks", g->chunk_blocks);
	if (kvp_is_cache(g))
		json_number(o, "log_window", kvp_log_window(g));
}

static void add_legs(json_object *sb_object, const struct kvp_sb *sb)
{
	json_object *list = json_list(sb_object, "legs"), *leg, *errors;
	char uuid[UUID_BUF];
	u32 i;

	for (i = 0; i < sb->leg_count; i++) {
		const struct kvp_leg_info *l = &sb->legs[i];

		leg = json_item(list);
		json_text(leg, "uuid", uuid_print(l->uuid, uuid));
		json_text(leg, "state", leg_word(l->state));
		json_flag(leg, "this", i == sb->leg_index);
		json_number(leg, "in_sync_era", l->in_sync_era);
		json_number(leg, "cursor", l->cursor);
		json_number(leg, "cursor_era", l->cursor_era);
		json_number(leg, "out", l->out);
		json_number(leg, "size", l->size_blocks << KVP_BLOCK_SHIFT);
		errors = json_child(leg, "errors");
		json_number(errors, "read", l->err_read);
		json_number(errors, "write", l->err_write);
		json_number(errors, "checksum", l->err_checksum);
		json_number(errors, "healed", l->healed);
	}
}

/* A device that is to take the place of a leg of a parity1. */
static void add_shadow(json_object *sb_object, const struct kvp_sb *sb)
{
	const struct kvp_shadow_info *s = &sb->shadow;
	char uuid[UUID_BUF];
	json_object *o;

	if (!s->of) {
		json_object_object_add(sb_object, "shadow", NULL);
		return;
	}
	o = json_child(sb_object, "shadow");
	json_text(o, "uuid", uuid_print(s->uuid, uuid));
	json_text(o, "replaces", uuid_print(sb->legs[kvp_shadow_leg(sb)].uuid, uuid));
	json_number(o, "cursor", s->cursor);
	json_number(o, "cursor_era", s->cursor_era);
	json_number(o, "label", s->label);
	json_number(o, "size", s->size_blocks << KVP_BLOCK_SHIFT);
}

static void add_spares(json_object *sb_object, const struct kvp_sb *sb)
{
	json_object *list = json_list(sb_object, "spares");
	char uuid[UUID_BUF];
	unsigned int i;

	for (i = 0; i < KVP_MAX_SPARES; i++)
		if (!uuid_is_null(sb->spares[i]))
			json_object_array_add(list, json_object_new_string(
					      uuid_print(sb->spares[i], uuid)));
}

static void add_tunables(json_object *sb_object, const struct kvp_sb *sb)
{
	json_object *o = json_child(sb_object, "tunables");
	char value[64];
	unsigned int i;

	for (i = 0; i < KVP_TUNABLES; i++) {
		if (!(sb->tunable_mask >> i & 1))
			continue;
		kvp_tunable_print(i, sb->tunables[i], value, sizeof(value));
		json_text(o, kvp_tunables[i].key, value);
	}
}

static void add_forks(json_object *sb_object, const struct kvp_sb *sb)
{
	json_object *list = json_list(sb_object, "forks");
	char text[20];
	u32 i;

	for (i = 0; i < sb->fork_count; i++) {
		snprintf(text, sizeof(text), "%016" PRIx64, sb->forks[i]);
		json_object_array_add(list, json_string(text));
	}
}

/* Vdevs that carry the log beside log_vdev. */
static void add_log_others(json_object *sb_object, const struct kvp_sb *sb)
{
	json_object *list = json_list(sb_object, "log_others");
	u32 v;

	for (v = 0; v < sb->vdev_count; v++)
		if (sb->log_others >> v & 1)
			json_object_array_add(list, json_object_new_int64(v));
}

/* The vdev that the leg belongs to. */
static u32 own_vdev(const struct kvp_sb *sb)
{
	u32 i = 0;

	while (i + 1 < sb->vdev_count && sb->leg_index >= sb->vdevs[i + 1].first_leg)
		i++;
	return i;
}

static void add_superblock(json_object *parent, const struct kvp_sb *sb)
{
	json_object *o = json_child(parent, "superblock");
	char uuid[UUID_BUF], host[HOST_SHOWN];

	json_text(o, "name", sb->name);
	json_text(o, "comment", sb->comment);
	json_text(o, "pool_uuid", uuid_print(sb->pool_uuid, uuid));
	json_text(o, "leg_uuid", uuid_print(sb->leg_uuid, uuid));
	json_number(o, "leg_index", sb->leg_index);
	json_flag(o, "exported", sb->flags & KVP_SB_EXPORTED);
	json_flag(o, "destroyed", sb->flags & KVP_SB_DESTROYED);
	json_flag(o, "clean", sb->flags & KVP_SB_CLEAN);
	json_flag(o, "joining", sb->flags & KVP_SB_JOINING);
	json_number(o, "compat", sb->compat);
	json_number(o, "ro_compat", sb->ro_compat);
	json_number(o, "incompat", sb->incompat);
	json_number(o, "epoch", sb->epoch);
	json_number(o, "sequence", sb->sequence);
	json_number(o, "era", sb->era);
	json_number(o, "checkpoint", sb->era);
	json_time(o, "created", sb->create_time);
	json_time(o, "last_written", sb->write_time);
	json_text(o, "host", host_shown(sb, host));
	json_number(o, "size", sb->pool_blocks << KVP_BLOCK_SHIFT);
	json_number(o, "written_blocks", sb->written_blocks);
	json_number(o, "uncounted_leaves", sb->uncounted_leaves);
	json_number(o, "poisoned_blocks", sb->poisoned_blocks);
	json_number(o, "log_tail", sb->log_tail);
	json_number(o, "log_generations", sb->generation_count);
	json_number(o, "log_commit", sb->log_commit);
	json_number(o, "log_resolved", sb->log_resolved);
	json_number(o, "log_discards", sb->log_discards);
	json_number(o, "scrub_cursor", sb->scrub.cursor);
	add_forks(o, sb);
	add_legs(o, sb);
	add_shadow(o, sb);
	add_spares(o, sb);
	add_geometry(o, &sb->vdevs[own_vdev(sb)]);
	json_number(o, "vdev", own_vdev(sb));
	json_number(o, "vdevs", sb->vdev_count);
	json_number(o, "log_vdev", sb->log_vdev);
	add_log_others(o, sb);
	add_tunables(o, sb);
}

static int add_entry(void *arg, const struct kvp_log_hdr *h, const void *buf)
{
	u64 count[KVP_REC_CLEAN + 1] = { 0 };
	json_object *list = arg, *o;
	struct kvp_rec r;
	u32 i;

	if (json_object_array_length(list) >= INSPECT_MAX_ENTRIES)
		return 0;
	for (i = 0; i < h->rec_count; i++) {
		log_rec(buf, i, &r);
		count[r.kind]++;
	}
	o = json_item(list);
	json_number(o, "lsn", h->lsn);
	json_number(o, "blocks", h->blocks);
	json_number(o, "epoch", h->epoch);
	json_number(o, "durable", h->durable);
	json_number(o, "open", h->open_count);
	json_number(o, "data", count[KVP_REC_DATA]);
	json_number(o, "intents", count[KVP_REC_INTENT]);
	json_number(o, "discards", count[KVP_REC_DISCARD]);
	json_number(o, "parity", count[KVP_REC_PARITY]);
	json_number(o, "clean", count[KVP_REC_CLEAN]);
	return 0;
}

json_object *log_object(json_object *parent, const struct offline_pool *p,
			const struct log_walk *w)
{
	static const char *const words[] = {
		[LOG_SOUND] = "sound", [LOG_NEWER] = "newer", [LOG_DAMAGED] = "damaged",
		[LOG_UNKNOWN] = "unknown",
	};
	json_object *o = json_child(parent, "log");
	enum log_state state = log_state(p, w);

	json_text(o, "state", words[state]);
	json_text(o, "why", w->damaged || state == LOG_UNKNOWN ? w->end.text : NULL);
	json_number(o, "tail", p->sb->log_tail);
	json_number(o, "head", w->head);
	json_number(o, "durable", w->watermark);
	json_number(o, "entries", w->entries);
	json_number(o, "data", w->data);
	json_number(o, "intents", w->intents);
	json_number(o, "discards", w->discards);
	json_number(o, "parity", w->parity);
	json_number(o, "clean", w->clean);
	return o;
}

/*
 * A leg of a parity1 has only some segments of the log. One of several vdevs has only some entries.
 * So the leg's part is no chain that could be judged.
 */
static int add_log(json_object *parent, const struct offline_pool *p)
{
	json_object *list = json_object_new_array(), *o;
	bool part = kvp_is_parity1(p->g) || p->sb->log_others;
	struct log_walk w;
	int ret;

	/* in full stripes no leg has a whole entry */
	if (kvp_log_striped(p->g) || (p->vdev != p->sb->log_vdev &&
				      !(p->sb->log_others >> p->vdev & 1))) {
		json_object_put(list);
		json_text(parent, "log", NULL);
		return 0;
	}
	ret = part ? log_part(p, &w, add_entry, list) : log_walk(p, &w, add_entry, list);
	o = log_object(parent, p, &w);
	if (part)
		json_text(o, "state", "partial");
	json_object_object_add(o, "list", list);
	return ret;
}

struct table_sum {
	const struct table *t;
	u64 count[4];		/* blocks, by enum kvp_entry_state */
	u64 elsewhere;		/* blocks whose pages are on other legs only */
};

/* A table_step_fn. */
static u64 sum_leaves(void *arg, u64 leaf, u64 next, enum page_state state)
{
	struct table_sum *sum = arg;
	u64 blocks = table_span(sum->t->pool, leaf, next);
	u32 slot;

	if (state == PAGE_ELSEWHERE)
		sum->elsewhere += blocks;
	if (state == PAGE_NULL)
		sum->count[KVP_ENTRY_UNWRITTEN] += blocks;
	for (slot = 0; state == PAGE_GOOD && slot < blocks; slot++)
		sum->count[kvp_entry_state(table_entry(sum->t, slot))]++;
	return next;
}

static int add_table(json_object *parent, const struct offline_pool *p)
{
	json_object *o = json_child(parent, "table");
	struct table t;
	struct table_sum sum = { .t = &t };

	if (table_open(&t, p))
		return -ENOMEM;
	table_walk(&t, sum_leaves, &sum);
	json_number(o, "vdev", p->vdev);
	json_number(o, "pages_good", t.good);
	json_number(o, "pages_bad", t.bad[0]);
	json_number(o, "valid", sum.count[KVP_ENTRY_VALID]);
	json_number(o, "unwritten", sum.count[KVP_ENTRY_UNWRITTEN]);
	json_number(o, "poisoned", sum.count[KVP_ENTRY_POISONED]);
	json_number(o, "invalid", sum.count[3]);
	json_number(o, "elsewhere", sum.elsewhere);
	table_close(&t);
	return 0;
}

json_object *inspect_object(const struct device *d, const struct label *l, struct err *err)
{
	json_object *o = json_object_new_object();
	struct offline_pool p;

	json_text(o, "path", d->path);
	add_labels(o, l);
	if (!l->sb)
		return o;
	add_superblock(o, l->sb);
	offline_init(&p, l->sb, own_vdev(l->sb));
	p.index[0] = l->sb->leg_index;
	p.legs[p.leg_count++] = d;
	if (!kvp_has_data(p.g))
		json_object_object_add(o, "table", NULL);
	if (!add_log(o, &p) && (!kvp_has_data(p.g) || !add_table(o, &p)))
		return o;
	json_object_put(o);
	err_set(err, ERR_FAILED, d->path, "free some memory", "out of memory");
	return NULL;
}
