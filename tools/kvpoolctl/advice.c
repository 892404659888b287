// SPDX-License-Identifier: GPL-2.0-only
/* Advice: what to do about a pool. */
#include "advice.h"
#include "pool_object.h"

/* Why a leg is out, by its state. */
static const struct {
	const char *state, *because;
} out[] = {
	{ "faulted", "it failed a write, a flush or a repair" },
	{ "offline", "it was taken out, and lacks later writes" },
	{ "stale", "it missed writes while the pool ran without it" },
};

/*
 * A leg more than the mirror has places: it is to replace one in use, or has been replaced. Whether
 * all places are filled the state of the pool says.
 */
static bool is_extra(json_object *leg)
{
	return json_at(leg, "replaces") || json_at(leg, "replaced_by");
}

static bool is_bad(json_object *leg)
{
	return strcmp(json_text_at(leg, "state"), "online") && !is_extra(leg);
}

static bool resilvers(json_object *leg)
{
	return !strcmp(json_text_at(leg, "state"), "resilvering");
}

static bool is_out(json_object *leg)
{
	return is_bad(leg) && !resilvers(leg);
}

static bool has_errors(json_object *leg)
{
	return json_number_at(leg, "errors.read") || json_number_at(leg, "errors.write") ||
	       json_number_at(leg, "errors.checksum");
}

/* People should hear of it: a disk beside SSDs, which is expected to be slower, is no fault. */
static bool is_slow(json_object *leg)
{
	return !strcmp(json_text_at(leg, "slow.state"), "yes");
}

/*
 * The first leg for which @is is true: a reference, or NULL. @count receives the number of such
 * legs.
 */
static json_object *find_leg(json_object *pool, bool (*is)(json_object *leg), unsigned int *count)
{
	json_object *legs = pool_legs(pool), *first = NULL, *leg;
	size_t i;

	*count = 0;
	for (i = 0; i < json_object_array_length(legs); i++) {
		leg = json_object_array_get_idx(legs, i);
		if (is(leg) && !(*count)++)
			first = json_object_get(leg);
	}
	json_object_put(legs);
	return first;
}

enum exit_status advice_exit(json_object *pool)
{
	const char *state = json_text_at(pool, "state");
	unsigned int bad;

	if (!strcmp(state, "faulted") || !strcmp(state, "suspended"))
		return EXIT_FAULTED;
	json_object_put(find_leg(pool, is_bad, &bad));
	if (bad || strcmp(state, "online") || json_number_at(pool, "poisoned_total") ||
	    json_number_at(pool, "scrub.unrepaired"))
		return EXIT_DEGRADED;
	return EXIT_DONE;
}

/* Has another host got the pool? Then no write goes to a leg, and no order changes that. */
static bool lost_to_other_host(json_object *pool)
{
	return json_at(pool, "heartbeat") && !json_number_at(pool, "heartbeat.left_ms");
}

/* A pool that takes no writes, or answers no requests. */
static bool about_state(json_object *pool, char *buf, size_t size)
{
	const char *name = json_text_at(pool, "name"), *state = json_text_at(pool, "state");

	if (!strcmp(state, "suspended") && !json_at(pool, "vdevs"))
		snprintf(buf, size,
			 "all I/O waits, and the pool does not run, since its table could not be "
			 "started. The kernel log names what is missing. Connect that, then "
			 "kvpoolctl clear %s; if that fails, dmsetup resume %s", name, name);
	else if (!strcmp(state, "suspended"))
		snprintf(buf, size, "all I/O waits: kvpoolctl clear %s resumes it", name);
	else if (!strcmp(state, "faulted") && lost_to_other_host(pool))
		snprintf(buf, size, "another host has taken over the pool, or may have, since no "
			 "heartbeat was written in time: see kvpoolctl events %s. Writes that were "
			 "not flushed are lost. To use the pool here, export it on the other host; "
			 "here, unmount it, dmsetup remove %s and kvpoolctl import %s", name, name,
			 name);
	else if (!strcmp(state, "faulted"))
		snprintf(buf, size, "%s: check disks and cables, then kvpoolctl clear %s; if it "
			 "stays faulted, unmount it, dmsetup remove %s and kvpoolctl import %s",
			 json_flag_at(pool, "log.failed") ?
			 "no leg takes the log; writes that were not flushed are only in memory" :
			 "no leg can be written", name, name, name);
	else
		return false;
	return true;
}

static bool is_readonly(json_object *pool)
{
	return json_flag_at(pool, "readonly");
}

/* The commands that make a read-only pool writable: before them, each change is refused. */
static const char *writable_first(json_object *pool, char *buf, size_t size)
{
	const char *name = json_text_at(pool, "name");

	*buf = 0;
	if (is_readonly(pool))
		snprintf(buf, size, "kvpoolctl export %.64s, then kvpoolctl import %.64s without "
			 "--readonly; then ", name, name);
	return buf;
}

/*
 * Blocks that are lost, or that the last scrub found no good copy of. Those may have been written
 * since, or a leg did not answer: then they are not lost.
 */
static bool about_blocks(json_object *pool, char *buf, size_t size)
{
	u64 poisoned = json_number_at(pool, "poisoned_total");
	u64 unrepaired = json_number_at(pool, "scrub.unrepaired");
	const char *name = json_text_at(pool, "name");
	char first[224];

	writable_first(pool, first, sizeof(first));
	if (poisoned)
		snprintf(buf, size, "%" PRIu64 " block%s lost: kvpoolctl status -v %s lists them, "
			 "kvpoolctl whois %s names their files; %swrite them anew from a backup, "
			 "then kvpoolctl scrub --wait %s", poisoned,
			 poisoned == 1 ? " is" : "s are", name, name, first, name);
	else if (unrepaired)
		snprintf(buf, size, "the last scrub found no good copy of %" PRIu64 " block%s, but "
			 "no block is known to be lost: a disk did not answer, or the blocks were "
			 "overwritten since. Check disks and cables; then %skvpoolctl scrub "
			 "--wait %s", unrepaired, unrepaired == 1 ? "" : "s", first, name);
	return poisoned || unrepaired;
}

static const char *leg_name(json_object *leg)
{
	return json_text_at(leg, json_at(leg, "path") ? "path" : "uuid");
}

/* The same for a command: a path that must be cut could be that of another device. */
static const char *leg_in_order(json_object *leg)
{
	return strlen(leg_name(leg)) <= 120 ? leg_name(leg) : json_text_at(leg, "uuid");
}

/* Is it an SSD of the cache? */
static bool is_ssd(json_object *pool, json_object *leg)
{
	json_object *ssds = json_at(pool, "cache.legs");
	size_t i;

	for (i = 0; ssds && i < json_object_array_length(ssds); i++)
		if (!strcmp(json_text_at(json_object_array_get_idx(ssds, i), "uuid"),
			    json_text_at(leg, "uuid")))
			return true;
	return false;
}

static bool any_ssd_is_online(json_object *pool)
{
	json_object *ssds = json_at(pool, "cache.legs");
	size_t i;

	for (i = 0; ssds && i < json_object_array_length(ssds); i++)
		if (!strcmp(json_text_at(json_object_array_get_idx(ssds, i), "state"), "online"))
			return true;
	return false;
}

static bool replaces(json_object *leg)
{
	return json_at(leg, "replaces");
}

/* A device that is to take the place of a leg of a parity1, or NULL. It belongs to @pool. */
static json_object *find_shadow(json_object *pool)
{
	json_object *vdevs = json_at(pool, "vdevs"), *vdev, *legs, *leg;
	size_t v, i;

	for (v = 0; vdevs && v < json_object_array_length(vdevs); v++) {
		vdev = json_object_array_get_idx(vdevs, v);
		legs = json_at(vdev, "legs");
		for (i = 0; legs && i < json_object_array_length(legs); i++) {
			leg = json_object_array_get_idx(legs, i);
			if (replaces(leg) && !strcmp(json_text_at(vdev, "kind"), "parity1"))
				return leg;
		}
	}
	return NULL;
}

static bool is_stopped(json_object *shadow)
{
	const char *state = json_text_at(shadow, "state");

	return !strcmp(state, "missing") || !strcmp(state, "faulted");
}

/* What comes before a change of a cache: beside a shadow, all are refused. */
static const char *shadow_first(json_object *pool, json_object *shadow, char *buf, size_t size)
{
	const char *name = json_text_at(pool, "name");

	if (is_stopped(shadow))
		snprintf(buf, size, "the replacement of a leg has stopped: kvpoolctl cancel %.64s "
			 "replace undoes it; then ", name);
	else
		snprintf(buf, size, "a leg is being replaced: kvpoolctl wait -t replace %.64s "
			 "completes that; then ", name);
	return buf;
}

/* A leg that is there, and is out: it need not be copied as a whole. */
static void about_return(json_object *pool, json_object *leg, char *buf, size_t size)
{
	const char *name = json_text_at(pool, "name");
	bool faulted = !strcmp(json_text_at(leg, "state"), "faulted");
	char another[256] = "", first[224];

	if (faulted)
		snprintf(another, sizeof(another), "kvpoolctl replace %.64s %.120s NEW puts "
			 "another in its place", name, leg_in_order(leg));
	snprintf(buf, size, "%s%skvpoolctl online %s %s brings it back, and copies only what it "
		 "missed%s%s",
		 faulted ? "Check its cable; then " : "",
		 writable_first(pool, first, sizeof(first)),
		 name, leg_name(leg),
		 !faulted ? "" : "; if it fails again, ", faulted ? another : "");
}

/* Its device may be here: then "connect it" is no help. */
static void about_missing_leg(json_object *pool, json_object *leg, char *buf, size_t size)
{
	const char *name = json_text_at(pool, "name");
	bool found = json_at(leg, "found"), bad = json_at(leg, "found.why");
	char first[300] = "";

	if (!found)
		snprintf(first, sizeof(first), "Connect it, then ");
	else if (bad)
		snprintf(first, sizeof(first), "To use it, %.256s; then ",
			 json_text_at(leg, "found.mend"));
	snprintf(buf, size, "%skvpoolctl online %.64s %.120s brings it back, and copies only what "
		 "it missed. If it is gone for good, kvpoolctl replace %.64s %.120s NEW puts "
		 "another in its place", first, name,
		 found ? path_whole(json_text_at(leg, "found.path"), 120) : "DEV", name,
		 leg_in_order(leg));
}

/* The vdev with data that @leg is in; NULL: none. It belongs to @pool. */
static json_object *vdev_of(json_object *pool, json_object *leg)
{
	json_object *vdevs = json_at(pool, "vdevs"), *legs;
	size_t v, i;

	for (v = 0; vdevs && v < json_object_array_length(vdevs); v++) {
		legs = json_at(json_object_array_get_idx(vdevs, v), "legs");
		for (i = 0; legs && i < json_object_array_length(legs); i++)
			if (json_object_array_get_idx(legs, i) == leg)
				return json_object_array_get_idx(vdevs, v);
	}
	return NULL;
}

/* The size of the smallest leg of @vdev: what is as large has room for all that it uses. */
static u64 least_size(json_object *vdev)
{
	json_object *legs = json_at(vdev, "legs");
	u64 least = 0, size;
	size_t i;

	for (i = 0; legs && i < json_object_array_length(legs); i++) {
		size = json_number_at(json_object_array_get_idx(legs, i), "size");
		least = size && (!least || size < least) ? size : least;
	}
	return least;
}

/* In a pool with a cache, spares that rotate are for legs with data, and others for SSDs. */
static bool kind_fits(json_object *pool, json_object *leg, json_object *spare)
{
	bool known = json_at(spare, "rotates"), rotates = json_flag_at(spare, "rotates");

	if (is_ssd(pool, leg))
		return known && !rotates;
	return !json_at(pool, "cache") || rotates;
}

/* A spare that is surely free to take the place of @leg, or NULL. It belongs to @pool. */
static json_object *find_spare(json_object *pool, json_object *leg)
{
	json_object *spares = json_at(pool, "spares"), *spare;
	json_object *vdev = is_ssd(pool, leg) ? json_at(pool, "cache") : vdev_of(pool, leg);
	u64 least = vdev ? least_size(vdev) : 0;
	size_t i;

	for (i = 0; least && spares && i < json_object_array_length(spares); i++) {
		spare = json_object_array_get_idx(spares, i);
		if (!strcmp(json_text_at(spare, "state"), "available") &&
		    !json_at(spare, "foreign") && json_number_at(spare, "size") >= least &&
		    kind_fits(pool, leg, spare))
			return spare;
	}
	return NULL;
}

static void about_spare(json_object *pool, json_object *leg, char *buf, size_t size)
{
	json_object *spare = is_readonly(pool) ? NULL : find_spare(pool, leg);
	const char *name = json_text_at(pool, "name");

	*buf = 0;
	if (spare)
		snprintf(buf, size, ". Spare %.120s is free: kvpoolctl replace %.64s %.120s puts "
			 "it there%s", path_whole(json_text_at(spare, "path"), 120), name,
			 leg_in_order(leg),
			 json_flag_at(leg, "by_order") ? "" :
			 ", and kvpool-monitor does so by itself, if the leg stays away");
}

/*
 * The SSD holds no data that the others lack, so another SSD can replace it. The pool also runs
 * without an SSD, but more slowly.
 */
static void about_bad_ssd(json_object *pool, json_object *leg, const char *more,
			  const char *because, char *buf, size_t size)
{
	const char *state = json_text_at(leg, "state"), *name = json_text_at(pool, "name");
	char again[288] = "", none[96] = "", first[224], spare[480];
	json_object *shadow = find_shadow(pool);

	writable_first(pool, first, sizeof(first));
	if (shadow && is_readonly(pool)) {
		snprintf(buf, size, "SSD %s of the cache is %s%s: %s. %skvpoolctl status %s tells "
			 "how to go on", leg_name(leg), state, more, because, first, name);
		return;
	}
	if (shadow)
		shadow_first(pool, shadow, first, sizeof(first));
	if (!any_ssd_is_online(pool))
		snprintf(none, sizeof(none), ", kvpoolctl remove %s cache takes the cache out",
			 name);
	if (strcmp(state, "missing"))
		snprintf(again, sizeof(again),
			 "; if it works again, kvpoolctl online %s %s starts it empty", name,
			 leg_name(leg));
	else if (json_at(leg, "found") && !json_at(leg, "found.why"))
		snprintf(again, sizeof(again), "; kvpoolctl online %.64s %.120s starts it empty",
			 name, path_whole(json_text_at(leg, "found.path"), 120));
	about_spare(pool, leg, spare, sizeof(spare));
	snprintf(buf, size,
		 "SSD %s of the cache is %s%s: %s. %skvpoolctl replace %s %s NEW puts another in "
		 "its place%s%s%s", leg_name(leg), state, more, because, first, name,
		 leg_name(leg), none, again, shadow ? "" : spare);
}

/* @buf: used if the device is here */
static const char *why_missing(json_object *leg, char *buf, size_t size)
{
	bool bad = json_at(leg, "found.why");

	if (json_at(leg, "found")) {
		snprintf(buf, size, "its device %.160s is there, %s%.200s, and lacks later writes",
			 path_whole(json_text_at(leg, "found.path"), 160),
			 bad ? "but " : "and not in use",
			 bad ? json_text_at(leg, "found.why") : "");
		return buf;
	}
	return json_flag_at(leg, "by_order") ? "it was taken out, and is not connected" :
	       "it is not connected, and lacks later writes";
}

/* How many more legs the pool can lose, as words behind "the pool". */
static const char *would_survive(json_object *pool, char *buf, size_t size)
{
	u64 losses = json_number_at(pool, "losses_survivable");

	if (losses)
		snprintf(buf, size, "would survive the loss of %" PRIu64 " more", losses);
	else
		snprintf(buf, size, "would not survive another loss");
	return buf;
}

static void about_bad_leg(json_object *pool, json_object *leg, unsigned int count, char *buf,
			  size_t size)
{
	const char *state = json_text_at(leg, "state"), *name = json_text_at(pool, "name");
	const char *because = "it cannot be used";
	char more[40] = "", then[900], spare[480], missing[480], losses[64];
	size_t i;

	if (!strcmp(state, "missing") && is_readonly(pool) && !is_ssd(pool, leg)) {
		snprintf(buf, size, "leg %s is missing: kvpoolctl export %s, connect it, then "
			 "kvpoolctl import %s", leg_name(leg), name, name);
		return;
	}
	for (i = 0; i < sizeof(out) / sizeof(*out); i++)
		if (!strcmp(state, out[i].state))
			because = out[i].because;
	if (!strcmp(state, "missing"))
		because = why_missing(leg, missing, sizeof(missing));
	if (count > 1)
		snprintf(more, sizeof(more), " (and %u more)", count - 1);
	if (is_ssd(pool, leg)) {
		about_bad_ssd(pool, leg, more, because, buf, size);
		return;
	}
	if (!strcmp(state, "missing"))
		about_missing_leg(pool, leg, then, sizeof(then));
	else
		about_return(pool, leg, then, sizeof(then));
	about_spare(pool, leg, spare, sizeof(spare));
	snprintf(buf, size, "leg %s is %s%s: %s; the pool %s. %s%s", leg_name(leg), state, more,
		 because, would_survive(pool, losses, sizeof(losses)), then, spare);
}

static void about_resilver(json_object *pool, json_object *leg, unsigned int count, char *buf,
			   size_t size)
{
	u64 done = json_number_at(pool, "resilver.done"),
	    total = json_number_at(pool, "resilver.total");
	u64 unread = json_number_at(pool, "resilver.unread");
	char more[40] = "", lacks[224] = "", losses[64];

	if (count > 1)
		snprintf(more, sizeof(more), " (and %u more)", count - 1);
	if (is_readonly(pool)) {
		snprintf(buf, size, "leg %s is not in sync%s: its resilver goes on once the pool "
			 "takes writes: kvpoolctl export %s, then kvpoolctl import %s without "
			 "--readonly",
			 leg_name(leg), more, json_text_at(pool, "name"),
			 json_text_at(pool, "name"));
		return;
	}
	if (unread)
		snprintf(lacks, sizeof(lacks), ". It cannot end until a leg in sync gives %" PRIu64
			 " block(s), which kvpoolctl status -v %s lists: check the other disks",
			 unread / KVP_BLOCK_SIZE, json_text_at(pool, "name"));
	snprintf(buf, size, "leg %s is resilvering%s, %" PRIu64 " %% done; until then the pool %s. "
		 "kvpoolctl wait -t resilver %s waits for that%s",
		 leg_name(leg), more, total ? done * 100 / total : 0,
		 would_survive(pool, losses, sizeof(losses)), json_text_at(pool, "name"), lacks);
}

static bool is_of_parity1(json_object *pool, json_object *leg)
{
	json_object *vdev = vdev_of(pool, leg);

	return vdev && !strcmp(json_text_at(vdev, "kind"), "parity1");
}

/* Can a leg of @vdev stay in use until another has everything? A mirror gets one leg more. */
static bool takes_copy(json_object *pool, json_object *vdev)
{
	json_object *all = pool_legs(pool), *legs = vdev ? json_at(vdev, "legs") : NULL;
	bool room = json_object_array_length(all) < KVP_MAX_LEGS;

	json_object_put(all);
	if (vdev && !strcmp(json_text_at(vdev, "kind"), "parity1"))
		return true;
	return room && legs && json_object_array_length(legs) < KVP_MAX_MIRROR_LEGS;
}

/*
 * How to change a leg for another, while all legs of the pool are in sync. It stays in use until
 * the new one is in sync.
 */
static void about_change(json_object *pool, json_object *leg, char *buf, size_t size)
{
	const char *name = json_text_at(pool, "name"), *dev = leg_in_order(leg);
	json_object *vdev = vdev_of(pool, leg), *legs = vdev ? json_at(vdev, "legs") : NULL;

	if (is_ssd(pool, leg))
		snprintf(buf, size, "kvpoolctl replace %.64s %.120s NEW", name, dev);
	else if (takes_copy(pool, vdev))
		snprintf(buf, size, "kvpoolctl replace --wait %.64s %.120s NEW", name, dev);
	else if (legs && json_object_array_length(legs) > 1)
		snprintf(buf, size, "kvpoolctl offline %.64s %.120s, then kvpoolctl replace "
			 "%.64s %.120s NEW", name, dev, name, dev);
	else
		snprintf(buf, size, "the disk is failing, and the pool cannot be without it: keep "
			 "a backup");
}

static bool has_left(json_object *leg)
{
	return json_at(leg, "replaced_by") && json_flag_at(leg, "by_order");
}

/* The new leg resilvers. In a pool that was imported read-only it waits. */
static void about_replace_running(json_object *pool, json_object *new, char *buf, size_t size)
{
	u64 done = json_number_at(pool, "resilver.done"),
	    total = json_number_at(pool, "resilver.total");
	const char *name = json_text_at(pool, "name");
	char first[224];

	writable_first(pool, first, sizeof(first));
	snprintf(buf, size, "leg %s is resilvering, %" PRIu64 " %% done, to replace another, which "
		 "is in use until then: %skvpoolctl wait -t replace %s waits for that, kvpoolctl "
		 "cancel %s replace undoes it", leg_name(new), total ? done * 100 / total : 0,
		 first, name, name);
}

/* The new leg is out, and maybe not connected. */
static void about_replace_stopped(json_object *pool, json_object *new, char *buf, size_t size)
{
	const char *name = json_text_at(pool, "name"), *state = json_text_at(new, "state");
	bool missing = !strcmp(state, "missing");
	char first[224];

	writable_first(pool, first, sizeof(first));
	snprintf(buf, size, "leg %s, which is to replace another, is %s. The other stays in use. "
		 "%s%skvpoolctl online %s %s goes on with it, kvpoolctl cancel %s replace undoes "
		 "it", leg_name(new), state, first, missing ? "Connect the new one; " : "", name,
		 missing ? "DEV" : leg_name(new), name);
}

static void about_stopped_shadow(json_object *pool, json_object *new, char *buf, size_t size)
{
	const char *name = json_text_at(pool, "name"), *state = json_text_at(new, "state");
	const char *mend = json_at(new, "found") ? "" : "connect it, then ";
	char is[400] = "", first[300];

	if (json_at(new, "found.why")) {
		snprintf(is, sizeof(is), " (%.120s, but %.200s)",
			 path_whole(json_text_at(new, "found.path"), 120),
			 json_text_at(new, "found.why"));
		snprintf(first, sizeof(first), "%.256s, then ", json_text_at(new, "found.mend"));
		mend = first;
	}
	snprintf(buf, size, "leg %s, which is to replace another, is %s%s. The other stays in use. "
		 "To go on: %skvpoolctl export %s and kvpoolctl import %s; or kvpoolctl cancel %s "
		 "replace undoes it", leg_name(new), state, is, mend, name, name, name);
}

/*
 * The new device is a shadow: it is no leg until it takes the place. It has stopped, or has
 * everything. A pool that was imported read-only does not use it, and calls it missing even if it
 * is there.
 */
static void about_shadow(json_object *pool, json_object *new, char *buf, size_t size)
{
	const char *name = json_text_at(pool, "name"), *state = json_text_at(new, "state");

	if (is_readonly(pool))
		snprintf(buf, size, "leg %s is to replace another, which stays in use; the "
			 "replacement goes on once the pool takes writes: kvpoolctl export %s, "
			 "then kvpoolctl import %s without --readonly", leg_name(new), name, name);
	else if (!strcmp(state, "online"))
		snprintf(buf, size, "leg %s has all data of the leg that it is to replace: "
			 "kvpoolctl wait -t replace %s lets it take its place", leg_name(new),
			 name);
	else if (!strcmp(state, "resilvering") || !strcmp(state, "stale"))
		about_replace_running(pool, new, buf, size);
	else
		about_stopped_shadow(pool, new, buf, size);
}

static bool is_replaced(json_object *leg)
{
	return json_at(leg, "replaced_by") && strcmp(json_text_at(leg, "state"), "online") &&
	       !resilvers(leg);
}

/* A leg of a parity1 that is out, and that the shadow is to replace: a reference, or NULL. */
static json_object *find_replaced(json_object *pool)
{
	json_object *shadow = find_shadow(pool), *legs, *leg;
	size_t i;

	legs = shadow ? json_at(vdev_of(pool, shadow), "legs") : NULL;
	for (i = 0; legs && i < json_object_array_length(legs); i++) {
		leg = json_object_array_get_idx(legs, i);
		if (is_replaced(leg))
			return json_object_get(leg);
	}
	return NULL;
}

/* Advice for such a leg, into @buf. Returns the state of the shadow, in words. */
static const char *go_on(json_object *pool, json_object *shadow, char *buf, size_t size)
{
	const char *name = json_text_at(pool, "name");

	if (is_readonly(pool)) {
		snprintf(buf, size, "kvpoolctl export %.64s, then kvpoolctl import %.64s without "
			 "--readonly; then kvpoolctl status %.64s tells how to go on", name, name,
			 name);
		return "waits until the pool takes writes";
	}
	if (is_stopped(shadow)) {
		snprintf(buf, size, "kvpoolctl cancel %.64s replace, then kvpoolctl status %.64s "
			 "tells how to go on", name, name);
		return "is out, too";
	}
	snprintf(buf, size, "kvpoolctl wait -t replace %.64s lets it take that place now, and "
		 "waits until it has the rest", name);
	return "has part of its data";
}

static void about_replaced(json_object *pool, json_object *old, char *buf, size_t size)
{
	json_object *new = find_shadow(pool);
	char then[320], losses[64];
	const char *is = go_on(pool, new, then, sizeof(then));

	snprintf(buf, size, "leg %s is %s, and %s, which is to replace it, %s; the pool %s. %s",
		 leg_name(old), json_text_at(old, "state"), leg_name(new), is,
		 would_survive(pool, losses, sizeof(losses)), then);
}

/*
 * The device that replaces a leg in use: a reference, or NULL. A shadow comes first: while there is
 * one, no leg can be detached.
 */
static json_object *find_replacing(json_object *pool)
{
	json_object *shadow = find_shadow(pool);
	unsigned int count;

	return shadow ? json_object_get(shadow) : find_leg(pool, replaces, &count);
}

/* A leg in use is being replaced. All places are filled. */
static void about_replace(json_object *pool, json_object *new, char *buf, size_t size)
{
	const char *name = json_text_at(pool, "name"), *state = json_text_at(new, "state");
	unsigned int count;
	json_object *old = find_leg(pool, has_left, &count);
	char first[224];

	if (is_of_parity1(pool, new))
		about_shadow(pool, new, buf, size);
	else if (!strcmp(state, "resilvering"))
		about_replace_running(pool, new, buf, size);
	else if (strcmp(state, "online"))
		about_replace_stopped(pool, new, buf, size);
	else if (old)
		snprintf(buf, size, "leg %s has left, since %s took its place: %skvpoolctl wait -t "
			 "replace %s detaches it", leg_name(old), leg_name(new),
			 writable_first(pool, first, sizeof(first)), name);
	json_object_put(old);
}

/* A leg in use whose device had errors. */
static void about_errors(json_object *pool, json_object *leg, char *buf, size_t size)
{
	const char *name = json_text_at(pool, "name");
	char what[480], first[224];

	about_change(pool, leg, what, sizeof(what));
	snprintf(buf, size, "leg %s had errors (%" PRIu64 " read, %" PRIu64 " write, %" PRIu64
		 " checksum): %skvpoolctl scrub --wait %s verifies all data, kvpoolctl clear %s "
		 "resets the counters; if errors return, %s", leg_name(leg),
		 json_number_at(leg, "errors.read"), json_number_at(leg, "errors.write"),
		 json_number_at(leg, "errors.checksum"),
		 writable_first(pool, first, sizeof(first)), name, name, what);
}

/* What a leg takes long for, in words. */
static const char *slow_words(json_object *leg)
{
	static const struct {
		const char *by, *words;
	} kinds[] = {
		{ "read", "reads" }, { "long_read", "long reads, for each 64 KiB" },
		{ "write", "writes" }, { "flush", "flushes" },
	};
	const char *by = json_text_at(leg, "slow.by");
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(by, kinds[i].by))
			return kinds[i].words;
	return "requests";
}

/* A leg in use that takes much longer than the others. It does its duty, so it is no fault yet. */
static void about_slow(json_object *pool, json_object *leg, char *buf, size_t size)
{
	char what[480], first[224];

	about_change(pool, leg, what, sizeof(what));
	snprintf(buf, size, "leg %s is slow (99 %% of %s take up to %.1f ms, of the fastest other "
		 "leg %.1f ms): look at its SMART values, cables and controller, as it may be "
		 "about to fail; if it is, %s%s", leg_name(leg), slow_words(leg),
		 (double)json_number_at(leg, "slow.p99_us") / 1e3,
		 (double)json_number_at(leg, "slow.others_us") / 1e3,
		 writable_first(pool, first, sizeof(first)), what);
}

/*
 * Would the pool survive less with the log on the cache? All legs are in sync. The module says so,
 * too (kvp_cache_lowers()), and wants -f then.
 */
static bool cache_lowers(json_object *pool)
{
	json_object *vdevs = json_at(pool, "vdevs"), *vdev;
	size_t v;

	for (v = 0; v < json_object_array_length(vdevs); v++) {
		vdev = json_object_array_get_idx(vdevs, v);
		if (json_object_array_length(json_at(vdev, "legs")) == 1)
			return false;
	}
	return json_object_array_length(json_at(pool, "cache.legs")) == 1;
}

/*
 * A sound cache in write-back mode, but the log is on the legs. A change of its SSDs was
 * interrupted before the last step. The pool cannot tell a change that was interrupted sooner from
 * a chosen mode: in both cases it is write-through.
 */
static void about_idle_cache(json_object *pool, char *buf, size_t size)
{
	const char *name = json_text_at(pool, "name");
	bool lowers;

	if (strcmp(json_text_at(pool, "cache.mode"), "writeback") ||
	    strcmp(json_text_at(pool, "cache.state"), "online") ||
	    strcmp(json_text_at(pool, "log.on"), "legs") ||
	    !strcmp(json_text_at(pool, "cache.drain.state"), "running") ||
	    json_flag_at(pool, "readonly"))
		return;
	lowers = cache_lowers(pool);
	snprintf(buf, size,
		 "the log belongs on the cache, but is on the legs since SSDs were changed or "
		 "lost: kvpoolctl set %s%s cache_mode=writeback moves it there%s",
		 lowers ? "-f " : "", name, lowers ?
		 "; with that SSD the pool would then lose writes, though it can lose a leg" :
		 "");
}

void advice_set(json_object *pool)
{
	char buf[ADVICE_BUF];

	json_text(pool, "advice", advice_text(pool, buf, sizeof(buf)) ? buf : NULL);
}

bool advice_text(json_object *pool, char *buf, size_t size)
{
	const char *state = json_text_at(pool, "state"), *name = json_text_at(pool, "name");
	json_object *leg;
	unsigned int count;

	*buf = 0;
	if (about_state(pool, buf, size) || about_blocks(pool, buf, size))
		return true;
	leg = find_leg(pool, is_out, &count);
	if (leg) {
		about_bad_leg(pool, leg, count, buf, size);
	} else if (!strcmp(state, "online") && (leg = find_replacing(pool))) {
		about_replace(pool, leg, buf, size);
	} else if (strcmp(state, "online") && (leg = find_replaced(pool))) {
		about_replaced(pool, leg, buf, size);
	} else if ((leg = find_leg(pool, resilvers, &count))) {
		about_resilver(pool, leg, count, buf, size);
	} else if (strcmp(state, "online")) {
		snprintf(buf, size, "the pool is %s: kvpoolctl events %s tells why", state, name);
	} else {
		leg = find_leg(pool, has_errors, &count);
		if (leg)
			about_errors(pool, leg, buf, size);
		else
			about_idle_cache(pool, buf, size);
		if (!*buf && (leg = find_leg(pool, is_slow, &count)))
			about_slow(pool, leg, buf, size);
	}
	json_object_put(leg);
	return *buf;
}
