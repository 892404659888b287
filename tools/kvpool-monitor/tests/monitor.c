// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unit tests of kvpool-monitor. The answers of device-mapper are made up, so is the time. The
 * journal is a socket of the test. Hooks, sendmail and kvpoolctl are scripts that note how they
 * were run.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <libudev.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "alarm.h"
#include "ask.h"
#include "config.h"
#include "devices.h"
#include "dm.h"
#include "expect.h"
#include "jobs.h"
#include "journal.h"
#include "place.h"
#include "pools.h"
#include "returns.h"
#include "takes.h"

/* --- the pool ------------------------------------------------------------------------------ */

#define POOL	"0f0e0d0c-0b0a-0908-0706-050403020100"
#define LEG(n)	"1f0e0d0c-0b0a-0908-0706-05040302010" #n

static struct {
	bool runs, mute, suspended, readonly;
	bool settles;	/* when a program has run: its legs are in use */
	bool unlisted;		/* device-mapper cannot be asked for pools */
	bool beside;		/* another pool runs, which hangs */
	char events[2048], stats[2048];
	unsigned int asked;	/* for events */
} pool;

static bool mute_stats;		/* the pool tells its events, and no more */

struct udev_device *udev_monitor_receive_device(struct udev_monitor *monitor)
{
	(void)monitor;
	errno = ENOBUFS;
	return NULL;
}

static void set_legs(const char *a, const char *b, const char *ssd)
{
	snprintf(pool.stats, sizeof(pool.stats),
		 "name=tank\nvdev.0.kind=mirror\nvdev.0.first_leg=0\nvdev.0.legs=2\n"
		 "vdev.1.kind=cache\nvdev.1.first_leg=2\nvdev.1.legs=1\ncache.vdev=1\n"
		 "leg.0.uuid=" LEG(0) "\nleg.0.state=%s\nleg.1.uuid=" LEG(1) "\nleg.1.state=%s\n"
		 "leg.2.uuid=" LEG(2) "\nleg.2.state=%s\n", a, b, ssd);
}

#define BESIDE	"2f0e0d0c-0b0a-0908-0706-050403020100"

static void add_entry(struct dm_entry *list, unsigned int *count, const char *name,
		      const char *uuid)
{
	struct dm_entry *e = &list[(*count)++];

	strcpy(e->name, name);
	strcpy(e->uuid, uuid);
	e->live = true;
}

int dm_list(struct dm_entry **list, unsigned int *count, struct err *err)
{
	*count = 0;
	*list = NULL;
	if (pool.unlisted)
		return err_set(err, ERR_KERNEL, "pools", "-", "no memory");
	*list = calloc(2, sizeof(**list));
	if (pool.beside)
		add_entry(*list, count, "beside", BESIDE);
	if (!pool.runs)
		return 0;
	add_entry(*list, count, "tank", POOL);
	(*list)[*count - 1].suspended = pool.suspended;
	(*list)[*count - 1].readonly = pool.readonly;
	return 0;
}

int dm_find(const char *name, struct dm_entry *e, struct err *err)
{
	unsigned int count = 0;

	if (pool.unlisted)
		return err_set(err, ERR_KERNEL, "pools", "-", "no memory");
	memset(e, 0, sizeof(*e));
	add_entry(e, &count, "tank", POOL);
	e->readonly = pool.readonly;
	return pool.runs && (!strcmp(name, "tank") || !strcmp(name, POOL)) ? 0 :
	       err_set(err, ERR_NOT_FOUND, name, "-", "no such pool is active");
}

static const char *in_dir(const char *name);

int dm_message(const char *name, const char *message, char **answer, struct err *err)
{
	if (pool.beside && !strcmp(name, "beside"))
		for (;;)
			pause();
	expect(!strcmp(name, "tank"));
	if (pool.settles && !access(in_dir("online"), F_OK))
		set_legs("online", "online", "online");
	if (pool.mute || (mute_stats && !strcmp(message, "stats")))
		return err_set(err, ERR_KERNEL, name, "-", "it is mute");
	pool.asked += !strncmp(message, "events", 6);
	*answer = strdup(!strcmp(message, "stats") ? pool.stats : pool.events);
	return 0;
}

/* --- the disk ------------------------------------------------------------------------------ */

static char disk_steps[128];	/* of place_save() */
static bool fsync_fails;

static void step(const char *what)
{
	if (strlen(disk_steps) + strlen(what) < sizeof(disk_steps))
		strcat(disk_steps, what);
}

int fsync(int fd)
{
	struct stat st;

	expect(!fstat(fd, &st));
	step(S_ISDIR(st.st_mode) ? "folder " : "file ");
	return fsync_fails ? -1 : 0;
}

int rename(const char *from, const char *to)
{
	step("rename ");
	return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

/* --- what the monitor did ------------------------------------------------------------------ */

static char dir[64] = "/tmp/kvpool-monitor-test.XXXXXX";
static int journal_fd;
static time_t clock_now;

static const char *in_dir(const char *name)
{
	static char path[4][128];
	static int i;

	i = (i + 1) % 4;
	snprintf(path[i], sizeof(path[i]), "%s/%s", dir, name);
	return path[i];
}

static void write_file(const char *name, mode_t mode, const char *format, ...)
{
	FILE *f = fopen(in_dir(name), "w");
	va_list ap;

	va_start(ap, format);
	vfprintf(f, format, ap);
	va_end(ap);
	fclose(f);
	chmod(in_dir(name), mode);
}

/* The contents of a file; "" if there is none. */
static const char *read_file(const char *name)
{
	static char text[8192];
	FILE *f = fopen(in_dir(name), "r");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

	text[n] = 0;
	if (f)
		fclose(f);
	return text;
}

/* The same, and the file is removed: not while a program may write it. */
static const char *take_file(const char *name)
{
	const char *text = read_file(name);

	unlink(in_dir(name));
	return text;
}

static char entries[65536];
static size_t entries_len;

/* The socket holds only some ten entries. */
static void read_journal(void)
{
	ssize_t got;

	while ((got = recv(journal_fd, entries + entries_len, sizeof(entries) - entries_len - 1,
			   MSG_DONTWAIT)) > 0)
		entries_len += (size_t)got;
}

/* All entries since the last call, one behind the other. */
static const char *take_journal(void)
{
	read_journal();
	entries[entries_len] = 0;
	entries_len = 0;
	return entries;
}

/* Until no program runs or waits. */
static void let_run(void)
{
	while (jobs_busy("alarm") || jobs_busy(POOL) || jobs_busy(POOL " ssd")) {
		usleep(1000);
		jobs_step(clock_now);
	}
	read_journal();
}

static void look(void)
{
	pools_look(clock_now, 1000);
	pools_return(clock_now);
	pools_take(clock_now);
	let_run();
}

/* Every event of the past is gone, and the pool is not watched. */
static void begin(void)
{
	pool.runs = pool.mute = pool.suspended = pool.unlisted = pool.beside = false;
	pool.readonly = false;
	look();
	pool.runs = true;
	pool.asked = 0;
	*pool.events = 0;
	set_legs("online", "online", "online");
	returns_forget();
	takes_forget();
	config.spare_after = 300;
	unlink(in_dir("state/" POOL));
	config.mail = NULL;
	config.no_return = false;
	write_file("status", 0644, "0");
	take_file("ran");
	take_file("online");
	take_journal();
}

static void event(unsigned int seq, unsigned int seconds, const char *text)
{
	size_t n = strlen(pool.events);

	snprintf(pool.events + n, sizeof(pool.events) - n, "%u %u %s\n", seq, seconds, text);
}

/* --- tests --------------------------------------------------------------------------------- */

static bool is_alarm(const char *text)
{
	struct event_text e;
	char parts[256];

	snprintf(parts, sizeof(parts), "%s", text);
	event_text_split(parts, &e);
	return alarm_judge(&e).alarm;
}

static void test_alarms(void)
{
	expect(is_alarm("leg_lost leg=1 uuid=u path=/dev/sdc why=does not answer"));
	expect(is_alarm("resilver_finished leg=1 copied=4"));
	expect(is_alarm("unrepaired block=7"));
	expect(is_alarm("suspended why=no leg is left"));
	expect(is_alarm("commit_failed why=x"));
	expect(is_alarm("shadow_lost uuid=u path=/dev/sdd why=does not answer"));
	expect(!is_alarm("shadow_complete leg=1 copied=4 uuid=u path=/dev/sdd"));
	expect(is_alarm("scrub_finished healed=0 unrepaired=1"));
	expect(!is_alarm("scrub_finished healed=5 unrepaired=0"));
	expect(!is_alarm("scrub_finished"));
	expect(!is_alarm("leg_offline leg=1"));
	expect(!is_alarm("healed leg=1 block=7"));
	expect(!is_alarm("an_event_of_a_later_version x=1"));
	expect(!is_alarm(""));
}

static void test_split(void)
{
	char text[] = "leg_lost leg=1 path=/dev/sdc why=it does not answer, a = b";
	char odd[] = "a b c=d", none[] = "resumed";
	struct event_text e;

	event_text_split(text, &e);
	expect(!strcmp(e.name, "leg_lost") && e.count == 3);
	expect(!strcmp(event_text_field(&e, "path"), "/dev/sdc"));
	expect(!strcmp(event_text_field(&e, "why"), "it does not answer, a = b"));
	expect(!event_text_field(&e, "uuid"));
	event_text_split(odd, &e);
	expect(e.count == 2 && !strcmp(event_text_field(&e, "b"), ""));
	event_text_split(none, &e);
	expect(!strcmp(e.name, "resumed") && !e.count);
}

static void test_journal(void)
{
	char large[JOURNAL_ENTRY];
	struct journal_entry e;
	const char *text;

	take_journal();
	journal_begin(&e, PRI_ERR, "pool tank: a");
	journal_field(&e, "path", "/dev/sdc");
	journal_field(&e, "two words", "x");
	journal_send(&e);
	expect(!strcmp(take_journal(), "PRIORITY=3\nSYSLOG_IDENTIFIER=kvpool-monitor\n"
		       "MESSAGE=pool tank: a\nKVPOOL_PATH=/dev/sdc\n"));
	journal_begin(&e, PRI_INFO, "m");
	journal_field(&e, "text", "a\nb");
	expect(e.len > 14 && !memcmp(e.data + e.len - 24, "KVPOOL_TEXT\n\3\0\0\0\0\0\0\0a\nb\n", 24));
	memset(large, 'x', sizeof(large) - 1);
	large[sizeof(large) - 1] = 0;
	journal_field(&e, "large", large);
	journal_field(&e, "last", "1");
	journal_send(&e);
	text = take_journal();
	expect(!strstr(text, "xxx"));
	journal_say(PRI_WARNING, "two\nlines");
	expect(strstr(take_journal(), "MESSAGE=two\n"));
}

static void test_tell(void)
{
	const char *text;

	begin();
	event(5, 2000, "leg_lost leg=1 uuid=" LEG(1) " path=/dev/sdc why=it does not answer");
	event(6, 2001, "leg_offline leg=0 uuid=" LEG(0) " path=/dev/sdb");
	look();
	text = take_journal();
	expect(strstr(text, "PRIORITY=3\n") && strstr(text, "KVPOOL_EVENT=leg_lost\n"));
	expect(strstr(text, "MESSAGE=pool tank: a disk was lost: leg_lost leg=1 "));
	expect(strstr(text, "KVPOOL_POOL=tank\n") && strstr(text, "KVPOOL_POOL_UUID=" POOL "\n"));
	expect(strstr(text, "KVPOOL_SEQ=5\n") && strstr(text, "KVPOOL_WHY=it does not answer\n"));
	expect(strstr(text, "KVPOOL_UUID=" LEG(1) "\n") && strstr(text, "KVPOOL_LEG=1\n"));
	expect(strstr(text, "KVPOOL_TIME=1970-01-01T00:33:20Z\n"));
	expect(strstr(text, "KVPOOL_ALARM=a disk was lost\n"));
	expect(strstr(text, "PRIORITY=5\n") && strstr(text, "KVPOOL_EVENT=leg_offline\n"));
	/* two hooks, one behind the other, and for the alarm alone */
	expect(!strcmp(take_file("ran"), "10-first leg_lost tank /dev/sdc it does not answer\n"
		       "20-second leg_lost tank /dev/sdc it does not answer\n"));
}

static void test_mail(void)
{
	const char *text;

	begin();
	config.mail = "root@here";
	event(1, 2000, "unrepaired block=77");
	event(2, 2000, "healed leg=0 block=3");
	look();
	expect(!strcmp(take_file("mail-args"), "-i -- root@here\n"));
	text = take_file("mail");
	expect(!strncmp(text, "To: root@here\nSubject: kvpool on ", 33));
	expect(strstr(text, ": pool tank: blocks are lost\n"));
	expect(strstr(text, "1970-01-01T00:33:20Z:\n    unrepaired block=77\n"));
	expect(strstr(text, "\n\nPool tank on ") && !strstr(text, "healed"));
	begin();
	config.mail = "root@here";
	config.sendmail = in_dir("no-such-program");
	event(1, 2000, "suspended why=x");
	look();
	expect(strstr(take_journal(), "no mail to root@here: there is no "));
	config.sendmail = "./sendmail";
}

static void test_slow_hook(void)
{
	begin();
	write_file("hook.d/15-hangs", 0755, "#!/bin/sh\necho hangs >> %s\nsleep 1000\n", in_dir("ran"));
	event(1, 2000, "suspended why=x");
	pools_look(clock_now, 1000);
	jobs_step(clock_now);
	expect(jobs_deadline() == clock_now + 60);
	while (!strstr(read_file("ran"), "hangs\n")) {
		usleep(1000);
		jobs_step(clock_now);
	}
	jobs_step(clock_now + 59);
	expect(jobs_busy("alarm"));
	expect(!strstr(read_file("ran"), "20-second"));
	clock_now += 120;
	let_run();
	expect(strstr(take_file("ran"), "20-second suspended"));
	expect(strstr(take_journal(), "took more than 60 s"));
	unlink(in_dir("hook.d/15-hangs"));
}

static bool unkillable;		/* a program waits for a disk in the kernel */

int kill(pid_t pid, int signal)
{
	return unkillable ? 0 : (int)syscall(SYS_kill, pid, signal);
}

/* A hook hangs in the kernel: later ones run, and it is not begun again as long as it hangs. */
static void test_hook_not_killed(void)
{
	u64 seq = 2;

	begin();
	unkillable = true;
	write_file("hook.d/15-hangs", 0755,
		   "#!/bin/sh\necho hangs >> %s\nuntil [ -e go ]; do sleep 0.01; done\n",
		   in_dir("ran"));
	event(1, 2000, "suspended why=x");
	pools_look(clock_now, 1000);
	jobs_step(clock_now);
	while (!strstr(read_file("ran"), "hangs\n")) {
		usleep(1000);
		jobs_step(clock_now);
	}
	clock_now += 60;
	jobs_step(clock_now);
	expect(jobs_busy("alarm") && jobs_deadline() == clock_now + JOB_KILLED);
	clock_now += JOB_KILLED;
	let_run();
	expect(strstr(take_file("ran"), "20-second suspended"));
	expect(strstr(take_journal(), "does not end though killed"));
	event(2, 2001, "suspended why=y");
	look();
	expect(!strstr(read_file("ran"), "hangs") && strstr(take_file("ran"), "20-second suspended"));
	expect(strstr(take_journal(), "hangs since an earlier run, and is left out"));
	/* its disk answers */
	unkillable = false;
	write_file("go", 0644, "%s", "");
	do {
		event(++seq, 2002, "suspended why=z");
		look();
	} while (!strstr(read_file("ran"), "hangs"));
	unlink(in_dir("hook.d/15-hangs"));
	unlink(in_dir("go"));
	take_file("ran");
	take_journal();
}

static void test_place(void)
{
	u64 next = 0;

	/* a pool never seen: what was before the monitor is not told */
	begin();
	event(7, 999, "leg_lost leg=1 path=/dev/old");
	event(8, 1000, "leg_lost leg=1 path=/dev/new");
	look();
	expect(!strstr(take_file("ran"), "old"));
	expect(place_load(POOL, &next) && next == 9);
	take_journal();
	look();
	expect(!*take_journal() && !*take_file("ran"));
	/* what came while no monitor ran is told, whenever it was */
	pool.runs = false;
	look();
	event(9, 500, "leg_lost leg=1 path=/dev/meanwhile");
	pool.runs = true;
	look();
	expect(strstr(take_file("ran"), "/dev/meanwhile"));
	expect(place_load(POOL, &next) && next == 10);
	/* its legs were put back to an older state: the numbers begin further down */
	pool.runs = false;
	look();
	*pool.events = 0;
	event(3, 2000, "created");
	pool.runs = true;
	look();
	event(4, 3000, "leg_lost leg=1 path=/dev/again");
	look();
	expect(strstr(take_file("ran"), "/dev/again"));
	/* amid a change of its legs it does not answer, which is no news */
	take_journal();
	pool.mute = pool.suspended = true;
	look();
	expect(!*take_journal());
	/* one that does not answer is told of once */
	pool.suspended = false;
	look();
	expect(strstr(take_journal(), "does not tell its events: it is mute"));
	look();
	expect(!*take_journal());
}

/*
 * A pool that does not answer at first: it is not told anew, and not what was before the monitor.
 */
static void test_mute_at_first(void)
{
	begin();
	event(7, 2000, "leg_lost leg=1 path=/dev/told");
	look();
	expect(strstr(take_file("ran"), "/dev/told"));
	pool.runs = false;
	look();
	event(8, 2000, "leg_lost leg=1 path=/dev/untold");
	pool.runs = pool.mute = true;
	look();
	pool.mute = false;
	look();
	expect(!strcmp(take_file("ran"), "10-first leg_lost tank /dev/untold \n"
		       "20-second leg_lost tank /dev/untold \n"));
	begin();
	event(1, 999, "leg_lost leg=1 path=/dev/old");
	pool.mute = true;
	look();
	pool.mute = false;
	look();
	expect(!*take_file("ran"));
}

/* What the disk has: the number is there before the name, and the name before it counts. */
static void test_durable(void)
{
	*disk_steps = 0;
	place_save(POOL, 5);
	expect(!strcmp(disk_steps, "file rename folder "));
	*disk_steps = 0;
	fsync_fails = true;
	take_journal();
	place_save(POOL, 6);
	fsync_fails = false;
	/* the old file stays */
	expect(!strcmp(disk_steps, "file ") && strstr(take_journal(), "cannot be written"));
}

static u64 place(void)
{
	u64 next;

	return place_load(POOL, &next) ? next : 0;
}

/*
 * The monitor may end at any time: events of which no program has begun are told by the next one.
 */
static void test_alarms_wait(void)
{
	begin();
	event(5, 2000, "suspended why=a");
	event(6, 2000, "resumed");
	event(7, 2000, "healed leg=0 block=3");
	pools_look(clock_now, 1000);
	expect(place() == 5);
	jobs_step(clock_now);
	/* the first of two hooks: this event is not told again, as that hook may end the system */
	expect(place() == 6);
	/* the pool is stopped while programs wait */
	pool.runs = false;
	pools_look(clock_now, 1000);
	expect(place() == 6);
	let_run();
	expect(place() == 8);
	expect(strstr(take_file("ran"), "20-second resumed tank"));
	pools_look(clock_now, 1000);
	take_journal();
	pool.runs = true;
	look();
	expect(strstr(take_journal(), "watching pool tank"));
	expect(!*take_file("ran"));
}

/* The monitor is told to end. */
static void test_drained(void)
{
	const char *const slow[] = { "./slow", NULL }, *const other[] = { "./other", NULL };
	struct job *hook;

	begin();
	write_file("slow", 0755, "#!/bin/sh\nuntil [ -e go ]; do sleep 0.01; done\necho x >> slow-ended\n");
	write_file("other", 0755, "#!/bin/sh\necho x >> other-ran\n");
	expect(jobs_drained(clock_now));
	jobs_add(job_new(POOL, slow));
	jobs_add(job_new(POOL, other));
	jobs_step(clock_now);
	expect(!jobs_drained(clock_now));
	write_file("go", 0644, "");
	while (!jobs_drained(clock_now))
		usleep(1000);
	expect(*take_file("slow-ended") && !*take_file("other-ran"));
	let_run();
	expect(*take_file("other-ran"));
	/* a program with a time limit is not waited for */
	unlink(in_dir("go"));
	hook = job_new("alarm", slow);
	hook->limit = 60;
	jobs_add(hook);
	jobs_step(clock_now);
	expect(jobs_drained(clock_now) && jobs_busy("alarm"));
	write_file("go", 0644, "");
	let_run();
}

static void test_degraded(void)
{
	begin();
	set_legs("online", "faulted", "online");
	event(1, 2000, "imported epoch=4 legs=2");
	look();
	expect(strstr(take_file("ran"), "20-second degraded tank"));
	expect(strstr(take_journal(), "KVPOOL_LEGS_OUT=1\n"));
	begin();
	set_legs("online", "resilvering", "online");
	event(1, 2000, "imported epoch=4 legs=2");
	look();
	expect(!*take_file("ran"));
	/* nor one that was taken out, and is missing by now */
	begin();
	set_legs("online", "missing", "online");
	strcat(pool.stats, "leg.1.by_order=1\n");
	event(1, 2000, "imported epoch=4 legs=2");
	look();
	expect(!*take_file("ran"));
}

/* udev says that the device of leg 1 is there. */
static void appears(const char *action, const char *node)
{
	devices_event(action, node, "kvpool_member", POOL, LEG(1), 0, clock_now);
}

/* Looks once more after @seconds. Did kvpoolctl run? */
static bool tries_after(time_t seconds)
{
	clock_now += seconds;
	look();
	return *take_file("online");
}

static void lose(unsigned int seq)
{
	set_legs("online", "faulted", "online");
	event(seq, 2000, "leg_lost leg=1 uuid=" LEG(1) " path=/dev/x");
	look();
}

/* Answers that no module gives. */
static void test_hostile(void)
{
	char long_text[1500];
	unsigned int i;
	u64 next;

	begin();
	memset(long_text, 'a', sizeof(long_text));
	for (i = 0; i < sizeof(long_text); i += 4)
		memcpy(long_text + i, " k=v", 4);
	memcpy(long_text, "leg_lost", 8);
	long_text[sizeof(long_text) - 1] = 0;
	event(1, 2000, long_text);
	strcat(pool.events, "\n\n7\n8 \n9 x y\n-1 2000 leg_lost\n18446744073709551615 2000 leg_lost\n");
	event(2, 2000, "suspended");
	event(2, 2000, "suspended");
	event(3, 2000, "");
	pool.stats[0] = 0;
	look();
	expect(place_load(POOL, &next) && next == 4);
	expect(!strcmp(take_file("ran"), "10-first leg_lost tank  \n20-second leg_lost tank  \n"
		       "10-first suspended tank  \n20-second suspended tank  \n"));
	strcpy(pool.stats, "leg.0.uuid\n=\nleg.0.uuid=" LEG(1) "\n\n\ncache.vdev=99999999999999999999\n");
	appears("add", "/dev/x");
	expect(!tries_after(10));
}

static void test_return(void)
{
	begin();
	appears(NULL, "/dev/x");	/* as found at the start */
	lose(1);
	expect(!returns_next() && !tries_after(100000));
	devices_event("remove", "/dev/x", NULL, NULL, NULL, 0, clock_now);
	appears("add", "/dev/y");
	expect(returns_next() == clock_now + RETURN_SETTLE);
	expect(!tries_after(RETURN_SETTLE - 1));
	clock_now++;
	look();
	expect(!strcmp(take_file("online"), "online -- tank /dev/y\n"));
	expect(strstr(take_journal(), "/dev/y is back, leg " LEG(1)));
	/* it worked: not again, and neither when udev looks at it again */
	appears("change", "/dev/y");
	expect(!returns_next() && !tries_after(100000));
}

/* The pool notices the loss only when it next writes: after the device is back. */
static void test_return_unnoticed(void)
{
	begin();
	look();
	appears("add", "/dev/x");
	expect(!tries_after(10) && !returns_next());
	lose(1);
	expect(returns_next() == clock_now + RETURN_SETTLE && tries_after(RETURN_SETTLE));
	/* gone before its turn */
	begin();
	set_legs("online", "faulted", "online");
	look();
	appears("add", "/dev/x");
	devices_event("change", "/dev/x", NULL, NULL, NULL, 0, clock_now);
	expect(!returns_next() && !tries_after(10));
	/* another start of the pool took it */
	begin();
	look();
	appears("add", "/dev/x");
	event(1, 2000, "imported epoch=1");
	look();
	lose(2);
	expect(!returns_next());
}

static void test_not_returned(void)
{
	/* taken out by order */
	begin();
	set_legs("online", "offline", "online");
	look();
	appears("add", "/dev/x");
	expect(!tries_after(10) && !returns_next());
	/* an SSD of a cache that was not unplugged; one taken out by order */
	begin();
	devices_event(NULL, "/dev/z", "kvpool_member", POOL, LEG(2), 0, clock_now);
	set_legs("online", "online", "faulted");
	event(1, 2000, "leg_lost leg=2 uuid=" LEG(2) " path=/dev/z");
	look();
	expect(!tries_after(10) && !returns_next());
	begin();
	set_legs("online", "online", "offline");
	look();
	devices_event("add", "/dev/z", "kvpool_member", POOL, LEG(2), 0, clock_now);
	expect(!tries_after(10) && !returns_next());
	/* it resilvers */
	begin();
	set_legs("online", "resilvering", "online");
	look();
	appears("add", "/dev/x");
	expect(!tries_after(10) && !returns_next());
	/* by the pool's tunable; by option; another pool's; no leg */
	begin();
	set_legs("online", "faulted", "online");
	strcat(pool.stats, "tunable.online_auto=0\n");
	look();
	appears("add", "/dev/x");
	expect(!tries_after(10) && !returns_next());
	begin();
	config.no_return = true;
	set_legs("online", "faulted", "online");
	look();
	appears("add", "/dev/x");
	expect(!tries_after(10));
	begin();
	set_legs("online", "faulted", "online");
	look();
	devices_event("add", "/dev/x", "kvpool_member", LEG(3), LEG(1), 0, clock_now);
	expect(!tries_after(10));
	devices_event("add", "/dev/x", "ext4", POOL, NULL, 0, clock_now);
	devices_event("add", "/dev/x", "kvpool_member", POOL, NULL, 0, clock_now);
	devices_event("add", NULL, "kvpool_member", POOL, LEG(1), 0, clock_now);
	expect(!tries_after(10));
}

static void has_ssd(const char *action)
{
	devices_spare(action, "/dev/n", POOL, LEG(8), false, clock_now);
}

static void lose_ssd(unsigned int seq)
{
	set_legs("online", "online", "faulted");
	event(seq, 2000, "leg_lost leg=2 uuid=" LEG(2) " path=/dev/x");
	look();
}

#define SSD_BACK	"online -- tank /dev/z\n"

static void ssd_appears(const char *action, const char *uuid)
{
	devices_event(action, "/dev/z", "kvpool_member", POOL, uuid, 0, clock_now);
}

/* An SSD begins anew under another UUID, in a lane of its own, and its pauses go on. */
static void test_ssd_returned(void)
{
	char *leg;

	begin();
	set_legs("online", "online", "faulted");
	look();
	ssd_appears("add", LEG(2));
	clock_now += RETURN_SETTLE;
	pools_return(clock_now);
	expect(!jobs_busy(POOL) && jobs_busy(POOL " ssd"));
	/* the tool gives it its new UUID, and udev tells before the tool has ended */
	set_legs("online", "online", "online");
	leg = strstr(pool.stats, "leg.2.uuid=" LEG(2));
	memcpy(leg, "leg.2.uuid=" LEG(3), strlen("leg.2.uuid=" LEG(3)));
	ssd_appears("change", LEG(3));
	let_run();
	expect(!strcmp(take_file("online"), SSD_BACK));
	expect(strstr(take_file("ran"), "20-second ssd_returned tank /dev/z"));
	expect(strstr(take_journal(), "uuid=" LEG(3)));
	expect(!returns_next() && !takes_next() && !tries_after(10));
	/* lost again: it is not tried before the pause is over, though the UUID is new */
	strcpy(strstr(pool.stats, "leg.2.state=") + 12, "faulted\n");
	devices_event("remove", "/dev/z", NULL, NULL, NULL, 0, clock_now);
	ssd_appears("add", LEG(3));
	expect(returns_next() >= clock_now + RETURN_PAUSE - 20 && !tries_after(30));
	expect(tries_after(RETURN_PAUSE));
	/* missing at a start */
	begin();
	set_legs("online", "online", "missing");
	ssd_appears(NULL, LEG(2));
	look();
	expect(tries_after(RETURN_SETTLE));
	/* refused: it may have what the pool has lost */
	begin();
	set_legs("online", "online", "faulted");
	look();
	write_file("status", 0644, "3");
	ssd_appears("add", LEG(2));
	while (returns_next()) {
		clock_now = returns_next();
		look();
	}
	expect(strstr(take_file("ran"), "20-second return_failed tank /dev/z"));
}

/* An SSD that was out before the pool was started, and is connected. */
static void test_ssd_at_start(void)
{
	/* the monitor sees the start */
	begin();
	ssd_appears(NULL, LEG(2));
	look();
	set_legs("online", "online", "stale");
	event(2, 2000, "imported epoch=4 legs=3");
	look();
	clock_now += RETURN_SETTLE;
	look();
	expect(!strcmp(take_file("online"), SSD_BACK));
	/* the pool was started before the monitor; the SSD was lost in the life before */
	begin();
	ssd_appears(NULL, LEG(2));
	set_legs("online", "online", "faulted");
	event(1, 400, "leg_lost leg=2 uuid=" LEG(2) " path=/dev/z");
	event(2, 500, "imported epoch=4 legs=3");
	event(3, 600, "leg_lost leg=1 uuid=" LEG(1) " path=/dev/y");
	look();
	expect(tries_after(RETURN_SETTLE));
	/* it was lost since the start; the ring has no start; the ring cannot be read; by order */
	begin();
	ssd_appears(NULL, LEG(2));
	set_legs("online", "online", "faulted");
	event(1, 500, "imported epoch=4 legs=3");
	event(2, 600, "leg_lost leg=2 uuid=" LEG(2) " path=/dev/z");
	look();
	expect(!tries_after(10) && !returns_next());
	begin();
	ssd_appears(NULL, LEG(2));
	set_legs("online", "online", "faulted");
	look();
	expect(!tries_after(10) && !returns_next());
	begin();
	ssd_appears(NULL, LEG(2));
	set_legs("online", "online", "offline");
	event(1, 500, "imported epoch=4 legs=3");
	look();
	expect(!tries_after(10) && !returns_next());
	/* a leg with data comes back by the module, if it may */
	begin();
	devices_event(NULL, "/dev/x", "kvpool_member", POOL, LEG(1), 0, clock_now);
	set_legs("online", "stale", "online");
	event(1, 500, "imported epoch=4 legs=3");
	look();
	expect(!tries_after(10) && !returns_next());
}

/* No spare is put in its place while it returns, and it does not return beside a spare. */
static void test_ssd_or_spare(void)
{
	begin();
	has_ssd(NULL);
	lose_ssd(1);
	clock_now += 299;
	ssd_appears("add", LEG(2));
	clock_now += RETURN_SETTLE;
	pools_return(clock_now);
	pools_take(clock_now);
	let_run();
	expect(!strcmp(take_file("online"), SSD_BACK));
	begin();
	has_ssd(NULL);
	lose_ssd(1);
	clock_now += 300;
	ssd_appears("add", LEG(2));
	pools_take(clock_now);
	clock_now += RETURN_SETTLE;
	pools_return(clock_now);
	let_run();
	expect(!strcmp(take_file("online"), "replace -- tank " LEG(2) "\n"));
}

/* A pool that was started without a leg whose device is there now, before the monitor. */
static void test_missing_at_start(void)
{
	begin();
	set_legs("online", "missing", "online");
	appears(NULL, "/dev/x");
	look();
	expect(tries_after(RETURN_SETTLE));
}

/* Taken out by order, and not there at the next start: the order still holds. */
static void test_missing_by_order(void)
{
	begin();
	set_legs("online", "missing", "online");
	strcat(pool.stats, "leg.1.by_order=1\n");
	appears(NULL, "/dev/x");
	look();
	expect(!returns_next() && !tries_after(RETURN_SETTLE));
	event(1, 2000, "imported epoch=4 legs=1");
	look();
	expect(!returns_next() && !tries_after(RETURN_SETTLE));
	devices_event("remove", "/dev/x", NULL, NULL, NULL, 0, clock_now);
	appears("add", "/dev/x");
	expect(!tries_after(RETURN_SETTLE) && !returns_next());
	/* until it is online again, and lost */
	set_legs("online", "missing", "online");
	strcat(pool.stats, "leg.1.by_order=0\n");
	devices_event("remove", "/dev/x", NULL, NULL, NULL, 0, clock_now);
	appears("add", "/dev/x");
	expect(tries_after(RETURN_SETTLE));
}

static void is_connected(const char *action, u64 seq)
{
	devices_event(action, "/dev/x", "kvpool_member", POOL, LEG(1), seq, clock_now);
}

/* It came loose, and is back under its name, and udev's events of that were lost. */
static void test_back_unseen(void)
{
	begin();
	is_connected(NULL, 7);
	lose(1);
	is_connected("add", 7);
	expect(!tries_after(10) && !returns_next());
	/* the kernel has no number, or udev could not read it */
	is_connected("add", 0);
	expect(!tries_after(10) && !returns_next());
	is_connected("add", 9);
	expect(tries_after(RETURN_SETTLE));
	/* seen before the pool notices that the old one has gone */
	begin();
	is_connected(NULL, 7);
	look();
	is_connected("change", 9);
	set_legs("online", "online", "online");
	expect(!tries_after(10));
	lose(1);
	expect(tries_after(RETURN_SETTLE));
}

/* `udevadm trigger`, and a program that closes the device: it was there all the time. */
static void test_told_again(void)
{
	begin();
	appears(NULL, "/dev/x");
	lose(1);
	appears("add", "/dev/x");
	appears("change", "/dev/x");
	expect(!returns_next() && !tries_after(100000));
}

/* A cable that comes loose every few seconds. */
static void test_flapping(void)
{
	time_t last = 0, end;
	unsigned int tries = 0;

	begin();
	set_legs("online", "faulted", "online");
	look();
	for (end = clock_now + 18000; clock_now < end;) {
		devices_event("remove", "/dev/x", NULL, NULL, NULL, 0, clock_now);
		appears("add", "/dev/x");
		if (!tries_after(5))
			continue;
		expect(!tries || clock_now - last >= RETURN_PAUSE << (tries - 1));
		last = clock_now;
		tries++;
	}
	/* eight pauses of 60, 120, 240 ... s, and not a ninth */
	expect(tries == 9);
	/* a day's rest */
	devices_event("remove", "/dev/x", NULL, NULL, NULL, 0, clock_now);
	clock_now += RETURN_FORGET;
	appears("add", "/dev/x");
	expect(returns_next() == clock_now + RETURN_SETTLE);
	expect(tries_after(RETURN_SETTLE));
	devices_event("remove", "/dev/x", NULL, NULL, NULL, 0, clock_now);
	appears("add", "/dev/x");
	expect(returns_next() == clock_now + RETURN_PAUSE);
}

static void test_failing(void)
{
	unsigned int tries = 0;
	time_t next, last = 0, pause = RETURN_PAUSE;

	begin();
	set_legs("online", "faulted", "online");
	look();
	write_file("status", 0644, "3");
	appears("add", "/dev/x");
	while ((next = returns_next())) {
		expect(next > clock_now);
		clock_now = next;
		look();
		expect(!strcmp(take_file("online"), "online -- tank /dev/x\n"));
		if (tries++)
			expect(next - last == pause);
		pause *= tries > 1 ? 2 : 1;
		last = next;
	}
	expect(tries == RETURN_TRIES);
	expect(strstr(take_file("ran"), "20-second return_failed tank /dev/x"));
	expect(strstr(take_journal(), "kvpoolctl ended with status 3"));
}

static void prepare(void)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	char path[256];

	if (!mkdtemp(dir))
		exit(1);
	mkdir(in_dir("hook.d"), 0755);
	mkdir(in_dir("state"), 0755);
	write_file("hook.d/20-second", 0755, "#!/bin/sh\n"
		   "echo \"${0##*/} $1 $2 $KVPOOL_PATH $KVPOOL_WHY\" >> %s\n", in_dir("ran"));
	write_file("hook.d/10-first", 0755, "#!/bin/sh\n"
		   "sleep 0.1; echo \"${0##*/} $1 $2 $KVPOOL_PATH $KVPOOL_WHY\" >> %s\n", in_dir("ran"));
	write_file("hook.d/30-old.dpkg-old", 0755, "#!/bin/sh\necho old >> %s\n", in_dir("ran"));
	write_file("hook.d/40-not-executable", 0644, "#!/bin/sh\necho not >> %s\n", in_dir("ran"));
	write_file("kvpoolctl", 0755, "#!/bin/sh\necho \"$@\" >> %s\nexit $(cat %s)\n",
		   in_dir("online"), in_dir("status"));
	write_file("sendmail", 0755, "#!/bin/sh\necho \"$@\" > %s\ncat > %s\n",
		   in_dir("mail-args"), in_dir("mail"));
	journal_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	snprintf(at.sun_path, sizeof(at.sun_path), "%s/journal", dir);
	if (bind(journal_fd, (struct sockaddr *)&at, sizeof(at)) || chdir(dir))
		exit(1);
	snprintf(path, sizeof(path), "%s:%s", dir, getenv("PATH"));
	setenv("PATH", path, 1);
	config.hooks = strdup(in_dir("hook.d"));
	config.state = strdup(in_dir("state"));
	config.sendmail = "./sendmail";
	journal_open(at.sun_path);
	clock_now = 50000;
	ask_patience = 0;
}

/* --- spares -------------------------------------------------------------------------------- */

#define TAKES	"replace -- tank " LEG(1) "\n"

static void has_spare(const char *action)
{
	devices_spare(action, "/dev/s", POOL, LEG(7), true, clock_now);
}

static void test_spare_taken(void)
{
	begin();
	has_spare(NULL);
	lose(1);
	expect(takes_next() == clock_now + 300 && !tries_after(299));
	clock_now++;
	look();
	expect(!strcmp(take_file("online"), TAKES));
	expect(strstr(take_journal(), "leg " LEG(1) " stays away"));
	expect(strstr(take_file("ran"), "20-second spare_taken tank"));
	/* once: its place has another leg */
	expect(!takes_next() && !tries_after(100000));
}

/* An SSD of a cache gets no spare that rotates, and one that does not as soon as there is one. */
static void test_spare_for_ssd(void)
{
	begin();
	has_spare(NULL);
	lose_ssd(1);
	expect(!tries_after(1000) && !takes_next());
	has_ssd("add");
	expect(takes_next() == clock_now + TAKE_SETTLE && tries_after(TAKE_SETTLE));
	/* also at a start */
	begin();
	has_ssd(NULL);
	set_legs("online", "online", "missing");
	event(1, 2000, "imported epoch=4 legs=3");
	look();
	expect(!tries_after(299));
	clock_now++;
	look();
	expect(!strcmp(take_file("online"), "replace -- tank " LEG(2) "\n"));
	/* the spare for it has gone */
	begin();
	has_spare(NULL);
	has_ssd(NULL);
	lose_ssd(1);
	expect(takes_next() == clock_now + 300);
	devices_spare("remove", "/dev/n", NULL, NULL, false, clock_now);
	expect(!takes_next() && !tries_after(1000));
	/* by order */
	begin();
	has_ssd(NULL);
	set_legs("online", "online", "missing");
	strcat(pool.stats, "leg.2.by_order=1\n");
	event(1, 2000, "imported epoch=4 legs=3");
	look();
	expect(!tries_after(1000));
}

/* It comes and goes: each time the grace begins anew, and there is one spare for it in all. */
static void test_spare_for_flapping(void)
{
	unsigned int i;

	begin();
	has_spare(NULL);
	for (i = 0; i < 5; i++) {
		lose(2 * i + 1);
		expect(!tries_after(200));
		set_legs("online", "resilvering", "online");
		event(2 * i + 2, 2000, "resilver_started leg=1 uuid=" LEG(1) " path=/dev/x");
		look();
		expect(!takes_next() && !tries_after(200));
	}
	lose(2 * i + 1);
	event(2 * i + 2, 2000, "leg_lost leg=1 uuid=" LEG(1) " path=/dev/x");
	expect(!tries_after(299));
	clock_now++;
	look();
	expect(!strcmp(take_file("online"), TAKES));
	expect(!tries_after(100000));
}

#define SHADOW(state)	"shadow.replaces=" LEG(1) "\nshadow.state=" state "\n"
#define ENDS		"wait -t replace --now -- tank\n"

/* A leg of a parity1 in use is replaced: what ends that, and what does not. */
static void test_replace_ends(void)
{
	begin();
	strcat(pool.stats, SHADOW("resilvering"));
	event(1, 2000, "shadow_added leg=1 uuid=" LEG(5) " path=/dev/y");
	look();
	expect(!*take_file("online"));
	event(2, 2000, "shadow_complete leg=1 copied=4 uuid=" LEG(5) " path=/dev/y");
	look();
	expect(!strcmp(take_file("online"), ENDS));
	/* the leg is lost, or missing at a start */
	begin();
	set_legs("online", "faulted", "online");
	strcat(pool.stats, SHADOW("stale"));
	event(1, 2000, "leg_lost leg=1 uuid=" LEG(1) " path=/dev/x");
	look();
	expect(strstr(take_file("online"), ENDS));
	event(2, 2000, "leg_lost leg=0 uuid=" LEG(0) " path=/dev/z");
	look();
	expect(!*take_file("online"));
	begin();
	set_legs("online", "missing", "online");
	strcat(pool.stats, SHADOW("stale"));
	event(1, 2000, "imported epoch=4 legs=2");
	look();
	expect(strstr(take_file("online"), ENDS));
	/* the device is lost, or not there */
	begin();
	set_legs("online", "faulted", "online");
	strcat(pool.stats, SHADOW("missing"));
	event(1, 2000, "leg_lost leg=1 uuid=" LEG(1) " path=/dev/x");
	event(2, 2000, "shadow_lost uuid=" LEG(5) " path=/dev/y why=does not answer");
	look();
	expect(!*take_file("online"));
	/* both are lost, and there is a spare: kvpoolctl cancels the order for that */
	has_spare(NULL);
	expect(!tries_after(299));
	clock_now++;
	look();
	expect(!strcmp(take_file("online"), TAKES));
}

static void test_spare_not_taken(void)
{
	/* taken out by order, also if its device is missing since */
	begin();
	has_spare(NULL);
	lose(1);
	set_legs("online", "offline", "online");
	event(2, 2000, "leg_offline leg=1 uuid=" LEG(1) " path=/dev/x");
	expect(!tries_after(1000) && !takes_next());
	begin();
	has_spare(NULL);
	set_legs("online", "missing", "online");
	strcat(pool.stats, "leg.1.by_order=1\n");
	look();
	expect(!takes_next() && !tries_after(1000));
	/* it is back, and no event has told */
	begin();
	has_spare(NULL);
	lose(1);
	set_legs("online", "resilvering", "online");
	expect(!tries_after(1000) && !takes_next());
	/* another pool's, by option, and one that went */
	begin();
	devices_spare("add", "/dev/s", LEG(3), LEG(7), true, clock_now);
	lose(1);
	expect(!tries_after(1000));
	begin();
	config.spare_after = 0;
	has_spare(NULL);
	lose(1);
	expect(!takes_next() && !tries_after(1000));
	begin();
	has_spare(NULL);
	lose(1);
	take_file("ran");
	devices_spare("remove", "/dev/s", NULL, NULL, true, clock_now);
	look();
	expect(strstr(take_file("ran"), "20-second spare_missing tank"));
	/* no spare, or none any more */
	devices_spare("remove", "/dev/s", NULL, NULL, true, clock_now);
	look();
	expect(!strstr(take_file("ran"), "spare_missing"));
	expect(!takes_next() && !tries_after(1000));
	/* a spare that was added later is taken at once */
	has_spare("change");
	expect(takes_next() == clock_now + TAKE_SETTLE && tries_after(TAKE_SETTLE));
}

/* A pool that was started without the leg. */
static void test_spare_at_start(void)
{
	begin();
	has_spare(NULL);
	set_legs("online", "missing", "online");
	event(1, 2000, "imported epoch=4 legs=2");
	look();
	expect(!tries_after(299));
	clock_now++;
	look();
	expect(!strcmp(take_file("online"), TAKES));
}

/* The change of an SSD takes hours, and the spare for a leg does not wait for it. */
static void test_spares_for_both(void)
{
	begin();
	has_spare(NULL);
	has_ssd(NULL);
	set_legs("online", "faulted", "faulted");
	event(1, 2000, "leg_lost leg=1 uuid=" LEG(1) " path=/dev/x");
	event(2, 2000, "leg_lost leg=2 uuid=" LEG(2) " path=/dev/y");
	look();
	clock_now += 300;
	pools_take(clock_now);
	expect(jobs_busy(POOL) && jobs_busy(POOL " ssd"));
	take_file("ran");
	let_run();
	look();
	expect(strstr(take_file("ran"), "20-second spare_taken tank"));
}

/* The pool does not answer when its legs are asked for: it is asked again, and nothing is lost. */
static void test_spare_mute(void)
{
	begin();
	has_spare(NULL);
	set_legs("online", "missing", "online");
	pool.mute = true;
	look();
	expect(pools_next(clock_now) == clock_now + ASK_AGAIN);
	pool.mute = false;
	look();
	expect(takes_next() && !pools_next(clock_now));
	/* a loss while it is mute: an SSD is still an SSD, and gets no spare that rotates */
	begin();
	look();
	has_spare(NULL);
	set_legs("online", "online", "faulted");
	event(1, 2000, "leg_lost leg=2 uuid=" LEG(2) " path=/dev/x");
	mute_stats = true;
	look();
	mute_stats = false;
	expect(pools_next(clock_now));
	look();
	expect(!takes_next() && !tries_after(1000));
	has_ssd("add");
	expect(takes_next());
	/* the replacement of the leg that is lost is ended later */
	begin();
	look();
	set_legs("online", "faulted", "online");
	strcat(pool.stats, SHADOW("stale"));
	event(1, 2000, "leg_lost leg=1 uuid=" LEG(1) " path=/dev/x");
	mute_stats = true;
	look();
	mute_stats = false;
	expect(!*take_file("online"));
	look();
	expect(strstr(take_file("online"), ENDS));
	/* a start */
	begin();
	look();
	set_legs("online", "missing", "online");
	event(1, 2000, "imported epoch=4 legs=2");
	mute_stats = true;
	look();
	mute_stats = false;
	take_file("ran");
	look();
	expect(strstr(take_file("ran"), "20-second degraded tank"));
}

/* What cannot be asked is not absent: neither the spare nor the return is forgotten. */
static void test_unlisted(void)
{
	begin();
	has_spare(NULL);
	lose(1);
	clock_now += 300;
	pool.unlisted = true;
	look();
	expect(takes_next() == clock_now + TAKE_LATER);
	pool.unlisted = false;
	expect(tries_after(TAKE_LATER));
	begin();
	set_legs("online", "faulted", "online");
	look();
	appears("add", "/dev/x");
	pool.unlisted = true;
	expect(!tries_after(RETURN_SETTLE) && returns_next());
	pool.unlisted = false;
	expect(tries_after(RETURN_PAUSE));
}

/* More events came at once than the socket holds. Here is no device of a pool. */
static void test_events_lost(void)
{
	begin();
	has_spare(NULL);
	appears(NULL, "/dev/x");
	look();
	take_file("ran");
	devices_read(clock_now);
	look();
	expect(strstr(take_journal(), "events of udev were lost"));
	expect(!takes_spare_of("/dev/s") && !returns_known(LEG(1), "/dev/x", 0));
	expect(strstr(take_file("ran"), "20-second spare_missing tank"));
}

/* A pool that hangs does not stop the alarms of another, and is not asked twice at once. */
static void test_hung_beside(void)
{
	begin();
	ask_patience = 3;	/* enough for the other one on a busy machine */
	pool.beside = true;
	event(1, 2000, "unrepaired block=77");
	look();
	expect(strstr(take_file("ran"), "20-second unrepaired tank"));
	expect(strstr(take_journal(), "pool beside does not tell its events: it has not answered"));
	expect(pools_next(clock_now));
	event(2, 2000, "unrepaired block=78");
	look();
	expect(strstr(take_file("ran"), "20-second unrepaired tank"));
	ask_patience = 0;
}

/* Device-mapper cannot be asked when an event wakes the monitor: no other event need come. */
static void test_look_again(void)
{
	begin();
	look();
	expect(!pools_next(clock_now));
	take_journal();
	event(1, 2000, "unrepaired block=77");
	pool.unlisted = true;
	look();
	expect(pools_next(clock_now) == clock_now + ASK_AGAIN);
	expect(strstr(take_journal(), "pools cannot be listed"));
	look();
	expect(!strstr(take_journal(), "pools cannot be listed"));
	pool.unlisted = false;
	look();
	expect(!pools_next(clock_now));
	expect(strstr(take_file("ran"), "20-second unrepaired tank"));
}

static void test_too_many(void)
{
	const char *const argv[] = { "true", NULL };
	unsigned int i;

	begin();
	for (i = 0; i < JOB_MAX; i++)
		expect(jobs_add(job_new("alarm", argv)));
	expect(!jobs_add(job_new("alarm", argv)));
	/* a spare is taken all the same: a scrub that finds lost blocks gives an alarm for each */
	has_spare(NULL);
	set_legs("online", "missing", "online");
	pools_look(clock_now, 1000);
	clock_now += 300;
	pools_take(clock_now);
	expect(jobs_busy(POOL));
	let_run();
	expect(strstr(take_journal(), "too many programs wait"));
	expect(!strcmp(take_file("online"), TAKES));
}

/* It takes no order, so a failure of one would be an alarm about nothing. */
static void test_read_only(void)
{
	begin();
	pool.readonly = true;
	has_spare(NULL);
	appears(NULL, "/dev/x");
	set_legs("online", "missing", "online");
	strcat(pool.stats, SHADOW("online"));
	event(1, 2000, "imported epoch=4 legs=2");
	look();
	expect(strstr(take_file("ran"), "20-second degraded tank"));
	appears("add", "/dev/y");
	expect(!tries_after(1000) && !takes_next() && !returns_next());
	/* the next start takes writes */
	pool.runs = false;
	look();
	pool.runs = true;
	pool.readonly = false;
	set_legs("online", "missing", "online");
	event(2, 2000, "imported epoch=5 legs=2");
	look();
	expect(takes_next() && returns_next() && tries_after(RETURN_SETTLE));
}

static void test_spare_fails(void)
{
	unsigned int tries = 0, told = 0, i;

	begin();
	has_spare(NULL);
	write_file("status", 0644, "1");
	lose(1);
	for (i = 0; i < 200; i++) {
		tries += tries_after(300);
		told += !!strstr(take_file("ran"), "20-second spare_failed tank");
	}
	expect(tries == TAKE_TRIES && told == 2);
}

/* A person settles it while the command waits for its turn: that fails, which is no news. */
static void test_spare_not_needed(void)
{
	begin();
	has_spare(NULL);
	write_file("status", 0644, "1");
	lose(1);
	pool.settles = true;
	expect(tries_after(300));
	pool.settles = false;
	expect(!strstr(take_file("ran"), "spare_failed"));
	expect(!takes_next() && !tries_after(3000));
}

int main(void)
{
	char command[128];

	alarm(600);	/* a program that never ends must not stop the check */
	prepare();
	test_split();
	test_alarms();
	test_journal();
	test_tell();
	test_mail();
	test_slow_hook();
	test_hook_not_killed();
	test_too_many();
	test_place();
	test_mute_at_first();
	test_durable();
	test_alarms_wait();
	test_drained();
	test_hostile();
	test_degraded();
	test_return();
	test_return_unnoticed();
	test_not_returned();
	test_ssd_returned();
	test_ssd_at_start();
	test_ssd_or_spare();
	test_missing_at_start();
	test_missing_by_order();
	test_told_again();
	test_back_unseen();
	test_flapping();
	test_failing();
	test_spare_taken();
	test_spare_for_ssd();
	test_spare_for_flapping();
	test_spare_not_taken();
	test_replace_ends();
	test_spare_at_start();
	test_read_only();
	test_spare_fails();
	test_spare_not_needed();
	test_spares_for_both();
	test_spare_mute();
	test_unlisted();
	test_look_again();
	test_events_lost();
	test_hung_beside();
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	if (system(command))
		failed++;
	printf("%u passed, %u failed\n", passed, failed);
	return failed || !passed;
}
