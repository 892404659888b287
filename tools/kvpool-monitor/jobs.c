// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jobs.h"
#include "journal.h"

static struct job *first;	/* in the order in which they came */

static void *or_abort(void *p)
{
	if (!p)
		abort();
	return p;
}

/* Adds to a list that NULL ends. */
static char **append(char **list, char *text)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	list = or_abort(realloc(list, (n + 2) * sizeof(*list)));
	list[n] = or_abort(text);
	list[n + 1] = NULL;
	return list;
}

static void free_list(char **list)
{
	size_t i;

	for (i = 0; list && list[i]; i++)
		free(list[i]);
	free(list);
}

static void job_free(struct job *job)
{
	free_list(job->argv);
	free_list(job->env);
	free(job->input);
	free(job->subject);
	free(job);
}

struct job *job_new(const char *lane, const char *const *argv)
{
	struct job *job = or_abort(calloc(1, sizeof(*job)));

	snprintf(job->lane, sizeof(job->lane), "%s", lane);
	for (; *argv; argv++)
		job->argv = append(job->argv, strdup(*argv));
	return job;
}

void job_env(struct job *job, const char *key, const char *value)
{
	char *text, *c;

	if (asprintf(&text, "KVPOOL_%s=%s", key, value) < 0)
		abort();
	for (c = text; *c && *c != '='; c++)
		*c = (char)toupper((unsigned char)*c);
	job->env = append(job->env, text);
}

/* --- running ------------------------------------------------------------------------------- */

/* A file in memory: the program may read it when it likes, or not at all. */
static int input_fd(const struct job *job)
{
	int fd = job->input ? memfd_create("input", MFD_CLOEXEC) : -1;
	size_t len;

	if (fd < 0)
		return open("/dev/null", O_RDONLY | O_CLOEXEC);
	len = strlen(job->input);
	if (write(fd, job->input, len) != (ssize_t)len)
		perror("kvpool-monitor: input of a program");
	lseek(fd, 0, SEEK_SET);
	return fd;
}

static void __attribute__((noreturn)) child(const struct job *job, int input)
{
	sigset_t none;
	size_t i;

	setpgid(0, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (i = 0; job->env && job->env[i]; i++)
		putenv(job->env[i]);
	if (dup2(input, 0) >= 0)
		execvp(job->argv[0], job->argv);
	fprintf(stderr, "kvpool-monitor: %s: %s\n", job->argv[0], strerror(errno));
	_exit(127);
}

static bool same_subject(const struct job *job, const char *lane, const char *subject)
{
	return job->subject && !strcmp(job->subject, subject) && !strcmp(job->lane, lane);
}

static void begin(struct job *job)
{
	struct job *other;

	job->begun = true;
	for (other = first; other && job->subject; other = other->next)
		if (other->seq == job->seq && same_subject(other, job->lane, job->subject))
			other->begun = true;
	if (job->begins)
		job->begins(job);
}

/* True if an earlier run of the program hangs. */
static bool hangs(const struct job *job)
{
	const struct job *other;

	for (other = first; other; other = other->next)
		if (other->left && !strcmp(other->argv[0], job->argv[0]))
			return true;
	return false;
}

static void start(struct job *job, time_t now)
{
	int input;

	begin(job);
	if (job->limit && hangs(job)) {
		journal_say(PRI_WARNING, "%s hangs since an earlier run, and is left out",
			    job->argv[0]);
		job->pid = -1;
		return;
	}
	input = input_fd(job);
	job->pid = fork();
	if (!job->pid)
		child(job, input);
	if (input >= 0)
		close(input);
	if (job->limit)
		job->deadline = now + (time_t)job->limit;
}

static void report(const struct job *job, int status)
{
	if (WIFSIGNALED(status))
		journal_say(PRI_WARNING, "%s was ended by signal %d", job->argv[0],
			    WTERMSIG(status));
	else if (WEXITSTATUS(status))
		journal_say(PRI_WARNING, "%s ended with status %d", job->argv[0],
			    WEXITSTATUS(status));
	if (job->ended)
		job->ended(job, status);
}

/* Has the job's program ended? One that could not be started has, too. */
static bool has_ended(const struct job *job, int *status)
{
	int pid;

	*status = 127 << 8;
	if (job->pid < 0)
		return true;
	pid = waitpid(job->pid, status, WNOHANG);
	return pid == job->pid || (pid < 0 && errno == ECHILD);
}

/* The whole group: a hook may wait for a child of its own. */
static void enforce(struct job *job, time_t now)
{
	if (!job->deadline || now < job->deadline)
		return;
	if (job->killed) {
		journal_say(PRI_WARNING, "%s does not end though killed: going on without it",
			    job->argv[0]);
		job->left = true;
		job->deadline = 0;
		return;
	}
	journal_say(PRI_WARNING, "%s took more than %u s", job->argv[0], job->limit);
	kill(-job->pid, SIGKILL);
	job->killed = true;
	job->deadline = now + JOB_KILLED;
}

static void reap(time_t now)
{
	struct job **at = &first, *job;
	int status;

	while ((job = *at)) {
		if (!job->pid || !has_ended(job, &status)) {
			enforce(job, now);
			at = &job->next;
			continue;
		}
		*at = job->next;
		report(job, status);
		job_free(job);
		at = &first;	/* report() may have added some */
	}
}

/* True if @job waits, or runs, in this lane. */
static bool is_of(const struct job *job, const char *lane)
{
	return !job->left && !strcmp(job->lane, lane);
}

static bool lane_free(const struct job *until)
{
	const struct job *job;

	for (job = first; job != until; job = job->next)
		if (is_of(job, until->lane))
			return false;
	return true;
}

/* True if some job could not be started. Then the next one of its lane can be. */
static bool any_unstarted(void)
{
	const struct job *job = first;

	while (job && job->pid >= 0)
		job = job->next;
	return job;
}

void jobs_step(time_t now)
{
	struct job *job;

	do {
		reap(now);
		for (job = first; job; job = job->next)
			if (!job->pid && lane_free(job))
				start(job, now);
	} while (any_unstarted());
}

bool jobs_add(struct job *job)
{
	struct job **at = &first;
	unsigned int count = 0;

	for (; *at; at = &(*at)->next)
		count += is_of(*at, job->lane);
	if (count >= JOB_MAX) {
		journal_say(PRI_WARNING, "too many programs wait to be run: %s is left out",
			    job->argv[0]);
		job_free(job);
		return false;
	}
	*at = job;
	return true;
}

time_t jobs_deadline(void)
{
	const struct job *job;
	time_t next = 0;

	for (job = first; job; job = job->next)
		if (job->deadline && (!next || job->deadline < next))
			next = job->deadline;
	return next;
}

bool jobs_busy(const char *lane)
{
	const struct job *job;

	for (job = first; job; job = job->next)
		if (is_of(job, lane))
			return true;
	return false;
}

u64 jobs_waits(const char *lane, const char *subject)
{
	u64 seq = UINT64_MAX;
	const struct job *job;

	for (job = first; job; job = job->next)
		if (!job->begun && job->seq < seq && same_subject(job, lane, subject))
			seq = job->seq;
	return seq;
}

bool jobs_drained(time_t now)
{
	const struct job *job;

	reap(now);
	for (job = first; job; job = job->next)
		if (job->pid > 0 && !job->limit)
			return false;
	return true;
}
