/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What all changes of a pool's vdevs and legs have in common: the checks before, the superblock
 * that puts the change into effect, and refusals.
 *
 * A change runs while the pool is quiesced, in this order:
 * 1. kvp_change_ready() if all must be home first, else kvp_change_settled().
 * 2. Its own plan. A table is checked by the same plan when it is loaded, without I/O.
 * 3. New devices must be blank (kvp_change_blank(), kvp_check_blank()). They get a label that says
 *    JOINING (kvp_sb_join()), so that the superblock of 4 finds legs with labels. A leg that is in
 *    sync at once gets the rings of events before (kvp_events_give()).
 * 4. Under sb_lock, the new shape in memory, and kvp_change_commit().
 * 5. After an error the file's own undo(): the old shape in memory, and kvp_sb_undone() if some leg
 *    may have the superblock of 4. Legs that were given up are in use again
 *    (kvp_change_put_back()), unless they have not answered all requests
 *    (kvp_change_leave_strays()).
 * 6. What cannot fail the change any more: labels of legs that have left are wiped
 *    (kvp_label_wipe()), and an event is raised.
 */
#ifndef KVP_CHANGE_H
#define KVP_CHANGE_H

#include "core/core.h"

struct kvp_refusal;
struct page;

/**
 * kvp_change_able() - check that the pool is not read-only or faulted
 *
 * Return: 0, or -errno with @r filled in. Context: any.
 */
int __must_check kvp_change_able(const struct kvp_pool *pool, struct kvp_refusal *r);

/**
 * kvp_change_begin() - a new table is about to change the pool, which has its devices
 *
 * The heartbeat goes on, since the change may first write home a large log. Context: process, waits
 * for I/O. The caller has called kvp_heartbeat_stop().
 */
void kvp_change_begin(struct kvp_pool *pool);

/** kvp_change_end() - the change has ended, or was undone. Context: any. */
void kvp_change_end(struct kvp_pool *pool);

/**
 * kvp_change_ready() - check that the pool is quiesced, and that all is home
 *
 * Legs may change places from now on, so the heartbeat stops. Return: 0, or -EBUSY with @r filled
 * in. Context: process, waits for a round of the heartbeat.
 */
int __must_check kvp_change_ready(struct kvp_pool *pool, struct kvp_refusal *r);

/**
 * kvp_change_larger() - kvp_change_ready(), and make the table ready for vdevs with more blocks
 *
 * See kvp_table_bound_lost(). Context: process, waits for I/O; the caller holds no lock.
 *
 * Return: 0, or -errno with the reason in @r.
 */
int __must_check kvp_change_larger(struct kvp_pool *pool, struct kvp_refusal *r);

/**
 * kvp_change_settled() - check that the pool is quiesced, and record all losses
 *
 * Does first what a suspend in haste has left (kvp_pool_finish()). Waiting events are written as
 * well: none must be written after a label is wiped. A log on a cache need not be empty. Return: 0,
 * or -errno with @r filled in. Context: process, waits for I/O; takes checkpoint_lock and sb_lock.
 */
int __must_check kvp_change_settled(struct kvp_pool *pool, struct kvp_refusal *r);

/**
 * kvp_change_blank() - check that a new device is blank; make it so if it is a spare of this pool
 * @leg: the device, whose size is set
 * @page: buffer to read into
 *
 * A spare is blank except its own label. That is wiped first, so that no device ever has both the
 * label of a spare and that of a leg. If the power goes then, the device is blank, and no spare any
 * more. But the superblock still lists it, so it is missed. In memory the list lacks it: the
 * superblock of the change says so, and an undo puts the list back.
 *
 * The device may hang. So the heartbeat goes on meanwhile: no leg may move, and a new one must not
 * be in use. Caller holds sb_lock. Return: 0, or -errno with @r filled in. Context: process, waits
 * for I/O.
 */
int __must_check kvp_change_blank(struct kvp_pool *pool, struct kvp_leg *leg, struct page *page,
				  struct kvp_refusal *r);

/**
 * kvp_change_commit() - commit pool->sb, which has the new shape, under a new epoch
 *
 * After an error some leg may have it. Caller holds sb_lock. Return: 0, or -EIO with @r filled in.
 * Context: process, waits for I/O.
 */
int __must_check kvp_change_commit(struct kvp_pool *pool, struct kvp_refusal *r);

/**
 * kvp_change_join() - give a new leg its label, and commit pool->sb, which has the leg
 * @at: its index in pool->legs
 * @page: buffer to read into
 * @tried: result: true if some leg may have the superblock
 *
 * The device must be blank, or a spare of this pool (kvp_change_blank()). Caller holds sb_lock.
 * Return: 0, or -errno with @r filled in: the caller undoes the change. Context: process, waits for
 * I/O.
 */
int __must_check kvp_change_join(struct kvp_pool *pool, u32 at, struct page *page, bool *tried,
				 struct kvp_refusal *r);

/**
 * kvp_change_put_back() - a change is undone: use @leg as before, though it may have been given up
 * @leg: in the new shape or the old one
 * @was: a copy from before the change
 *
 * Nothing was written without the leg. All else stays as it is by now, above all what is known of
 * its label: a slot may be torn (R27), and a flush may be lost (R20). Caller holds sb_lock; takes
 * members_lock.
 *
 * Return: true if it had been given up. See kvp_change_in_sync_again().
 */
bool kvp_change_put_back(struct kvp_leg *leg, const struct kvp_leg *was);

/**
 * kvp_change_in_sync_again() - the next superblock undoes a change, and calls legs in sync again
 * @which: legs that had been given up, or were about to leave, as bits
 *
 * A leg may have a superblock of the change that calls them out, and lack the next one. It did not
 * go on without them. Without this it would look like one that did (kvp_sb_forked()). pool->sb has
 * the old shape and the epoch of the next superblock. Caller holds sb_lock.
 */
void kvp_change_in_sync_again(struct kvp_pool *pool, u64 which);

/**
 * kvp_change_leave_strays() - give up again the legs that have not answered all requests
 *
 * A late write could overwrite a newer superblock (R28). The pool has its old shape. Caller holds
 * sb_lock; takes members_lock.
 */
void kvp_change_leave_strays(struct kvp_pool *pool);

/**
 * kvp_label_wipe() - wipe the labels at both ends of a leg, whether or not it was in use
 *
 * The pool is suspended, so a device that hangs must not delay it. A device that has not answered
 * other requests is not written. For one that does not answer now, the wipe ends after five
 * seconds. Then zeros may be written late, while the device is held. Return: false, after an event,
 * if the wipe fails. Context: process, waits for I/O.
 */
bool kvp_label_wipe(struct kvp_pool *pool, struct kvp_leg *leg);

/**
 * kvp_change_no_memory() - refuse a change: there is no memory for it. Return: -ENOMEM.
 *
 * kvp_change_no_superblock() - too few legs took the superblock. Return: -EIO.
 *
 * kvp_change_faulted() - the pool is faulted, and must be cleared first. Return: -EIO.
 *
 * Each fills in @r, and changes nothing else. Context: any.
 */
int __must_check kvp_change_no_memory(struct kvp_refusal *r);
int __must_check kvp_change_no_superblock(struct kvp_refusal *r);
int __must_check kvp_change_faulted(struct kvp_refusal *r);

#endif /* KVP_CHANGE_H */
