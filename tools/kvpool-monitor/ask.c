// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ask.h"
#include "dm.h"
#include "watched.h"

#define ANSWER_MAX	(4u << 20)

unsigned int ask_patience = ASK_PATIENCE;

/* --- pools that hang ----------------------------------------------------------------------- */

/* A process that asks, and does not end. Even a signal may not end it before the pool answers. */
struct asker {
	char pool[sizeof(((struct dm_entry *)NULL)->name)];
	pid_t pid;
	struct asker *next;
};

static struct asker *askers;

static void remember(const char *pool, pid_t pid)
{
	struct asker *a = calloc(1, sizeof(*a));

	if (!a)
		abort();
	snprintf(a->pool, sizeof(a->pool), "%s", pool);
	a->pid = pid;
	a->next = askers;
	askers = a;
}

/* Forgets those that have ended; does one still ask @pool? */
static bool hangs(const char *pool)
{
	struct asker **at = &askers, *a;
	bool found = false;

	while ((a = *at)) {
		if (!waitpid(a->pid, NULL, WNOHANG)) {
			found |= !strcmp(a->pool, pool);
			at = &a->next;
			continue;
		}
		*at = a->next;
		free(a);
	}
	return found;
}

static int no_answer(const char *pool, struct err *err)
{
	return err_set(err, ERR_IO, pool, "see kvpoolctl status, and the kernel log",
		       "it has not answered for %u s", ask_patience);
}

/* --- one question -------------------------------------------------------------------------- */

static void send_all(int fd, const void *data, size_t size)
{
	const char *at = data;
	ssize_t n;

	while (size) {
		n = write(fd, at, size);
		if (n <= 0)
			_exit(1);
		at += n;
		size -= (size_t)n;
	}
}

/* Tells what dm_message() returned, its error, and the answer. */
static void __attribute__((noreturn)) child(const char *pool, const char *message, int fd)
{
	struct err err = { 0 };
	char *text = NULL;
	sigset_t none;
	int ret;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	watched_begin();
	ret = dm_message(pool, message, &text, &err);
	send_all(fd, &ret, sizeof(ret));
	send_all(fd, &err, sizeof(err));
	if (!ret)
		send_all(fd, text, strlen(text));
	_exit(0);
}

static long long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ll + t.tv_nsec / 1000000;
}

/* Reads until the end, for @ask_patience at most. Returns the size, or -1: it is not over. */
static ssize_t hear(int fd, char *buf, size_t size)
{
	long long end = now_ms() + ask_patience * 1000ll, left;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	size_t at = 0;
	ssize_t n;

	while ((left = end - now_ms()) > 0) {
		if (poll(&p, 1, (int)left) <= 0)
			continue;
		n = read(fd, buf + at, size - at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return (ssize_t)at;
		at += (size_t)n;
	}
	return -1;
}

static int understand(const char *pool, const char *buf, size_t size, char **answer,
		      struct err *err)
{
	struct err said;
	int ret;

	if (size < sizeof(ret) + sizeof(said))
		return err_set(err, ERR_FAILED, pool, "see the journal", "it cannot be asked");
	memcpy(&ret, buf, sizeof(ret));
	memcpy(&said, buf + sizeof(ret), sizeof(said));
	if (ret) {
		if (err)
			*err = said;
		return ret;
	}
	*answer = strndup(buf + sizeof(ret) + sizeof(said), size - sizeof(ret) - sizeof(said));
	if (!*answer)
		abort();
	return 0;
}

static int ask_apart(const char *pool, const char *message, char *buf, char **answer,
		     struct err *err)
{
	ssize_t size;
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return err_set(err, ERR_FAILED, pool, "see the journal", "%s", strerror(errno));
	pid = fork();
	if (!pid)
		child(pool, message, ends[1]);
	close(ends[1]);
	size = pid > 0 ? hear(ends[0], buf, ANSWER_MAX) : 0;
	close(ends[0]);
	if (pid > 0 && size >= 0)
		waitpid(pid, NULL, 0);
	if (size >= 0)
		return understand(pool, buf, (size_t)size, answer, err);
	kill(pid, SIGKILL);
	remember(pool, pid);
	return no_answer(pool, err);
}

static int ask(const char *pool, const char *message, char **answer, struct err *err)
{
	char *buf;
	int ret;

	if (!ask_patience)
		return dm_message(pool, message, answer, err);
	if (hangs(pool))
		return no_answer(pool, err);
	buf = malloc(ANSWER_MAX);
	if (!buf)
		abort();
	ret = ask_apart(pool, message, buf, answer, err);
	free(buf);
	return ret;
}

/* --- questions ----------------------------------------------------------------------------- */

int ask_stats(const char *pool, struct stats *s, struct err *err)
{
	char *text;

	memset(s, 0, sizeof(*s));
	if (ask(pool, "stats", &text, err))
		return -1;
	if (stats_parse(text, s))
		return err_set(err, ERR_FAILED, pool, "free some memory", "out of memory");
	return 0;
}

int ask_events(const char *pool, u64 *next, event_fn fn, void *arg, struct err *err)
{
	char message[48], *text;

	snprintf(message, sizeof(message), "events %" PRIu64, *next);
	if (ask(pool, message, &text, err))
		return -1;
	event_parse(text, next, fn, arg);
	free(text);
	return 0;
}
