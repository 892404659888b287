// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alarm.h"
#include "config.h"
#include "jobs.h"
#include "pools.h"
#include "tell.h"

#define LANE		"alarm"
#define HOOK_SECONDS	60

/* Calls @put with each name and value of the event. */
static void each_field(const struct told *t, const char *alarm,
		       void (*put)(void *to, const char *key, const char *value), void *to)
{
	char number[24], when[TIME_BUF];
	unsigned int i;

	put(to, "pool", t->pool);
	put(to, "pool_uuid", t->uuid);
	put(to, "event", t->event.name);
	snprintf(number, sizeof(number), "%" PRIu64, t->seq);
	put(to, "seq", number);
	put(to, "time", time_print(t->seconds, when));
	put(to, "text", t->text);
	if (alarm)
		put(to, "alarm", alarm);
	for (i = 0; i < t->event.count; i++)
		put(to, t->event.fields[i].key, t->event.fields[i].value);
}

static void put_journal(void *to, const char *key, const char *value)
{
	journal_field(to, key, value);
}

static void put_env(void *to, const char *key, const char *value)
{
	job_env(to, key, value);
}

static void write_journal(const struct told *t, const struct verdict *v)
{
	struct journal_entry e;
	char message[512];

	snprintf(message, sizeof(message), "pool %s: %s%s%s", t->pool, v->alarm ? v->alarm : "",
		 v->alarm ? ": " : "", t->text);
	journal_begin(&e, v->priority, message);
	each_field(t, v->alarm, put_journal, &e);
	journal_send(&e);
}

/* --- hooks --------------------------------------------------------------------------------- */

/* As of run-parts(8): no backups, and no leftovers of dpkg. */
static int is_hook(const struct dirent *d)
{
	const char *c;

	for (c = d->d_name; *c; c++)
		if (!isalnum((unsigned char)*c) && *c != '-' && *c != '_')
			return 0;
	return 1;
}

static void begins(const struct job *job)
{
	pools_told(job->subject);
}

static struct job *job_of(const struct told *t, const char *const *argv)
{
	struct job *job = job_new(LANE, argv);

	job->limit = HOOK_SECONDS;
	job->begins = begins;
	job->seq = t->own ? UINT64_MAX : t->seq;
	job->subject = strdup(t->uuid);
	if (!job->subject)
		abort();
	return job;
}

static void run_hook(const struct told *t, const char *alarm, const char *path)
{
	const char *argv[] = { path, t->event.name, t->pool, NULL };
	struct job *job = job_of(t, argv);

	each_field(t, alarm, put_env, job);
	jobs_add(job);
}

static void run_hooks(const struct told *t, const char *alarm)
{
	struct dirent **list;
	int i, n = scandir(config.hooks, &list, is_hook, alphasort);
	char *path;

	for (i = 0; i < n; i++) {
		if (asprintf(&path, "%s/%s", config.hooks, list[i]->d_name) < 0)
			abort();
		if (!access(path, X_OK))
			run_hook(t, alarm, path);
		free(path);
		free(list[i]);
	}
	if (n >= 0)
		free(list);
}

/* --- mail ---------------------------------------------------------------------------------- */

static void send_mail(const struct told *t, const char *alarm)
{
	const char *argv[] = { config.sendmail, "-i", "--", config.mail, NULL };
	char host[65] = "", when[TIME_BUF], pool[256];
	struct job *job;

	if (access(config.sendmail, X_OK)) {
		journal_say(PRI_WARNING, "no mail to %s: there is no %s", config.mail,
			    config.sendmail);
		return;
	}
	gethostname(host, sizeof(host) - 1);
	/* It stands in a header: a name with a line break would begin another one. */
	snprintf(pool, sizeof(pool), "%s", t->pool);
	text_clean(pool, "");
	text_clean(host, "");
	job = job_of(t, argv);
	if (asprintf(&job->input,
		     "To: %s\nSubject: kvpool on %s: pool %s: %s\nAuto-Submitted: auto-generated\n"
		     "Content-Type: text/plain; charset=utf-8\n\n"
		     "Pool %s on %s: %s.\n\nEvent of %s:\n    %s\n\n"
		     "'kvpoolctl status %s' says how the pool is now, and what to do.\n",
		     config.mail, host, pool, alarm, pool, host, alarm,
		     time_print(t->seconds, when), t->text, pool) < 0)
		abort();
	jobs_add(job);
}

void tell(const struct told *t)
{
	struct verdict v = alarm_judge(&t->event);

	write_journal(t, &v);
	if (!v.alarm)
		return;
	run_hooks(t, v.alarm);
	if (config.mail)
		send_mail(t, v.alarm);
}

u64 tell_waits(const char *uuid)
{
	return jobs_waits(LANE, uuid);
}
