// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "watched.h"

#define AT_ONCE		64	/* processes */
#define TICK_MS		1000

static int private_fd = -1;

void watched_private(int fd)
{
	private_fd = fd;
}

/*
 * A process that hangs must not keep the caller's output open: the reader of that output would wait
 * for the end of the process.
 */
static void let_go_of_output(void)
{
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0 || dup2(fd, STDERR_FILENO) < 0)
		_exit(1);
	if (fd > STDERR_FILENO)
		close(fd);
}

void watched_begin(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	let_go_of_output();
	if (private_fd >= 0)
		close(private_fd);
}

static void __attribute__((noreturn)) child(const struct watched *w, int fd)
{
	FILE *out;
	int ret;

	/* not one of the standard ones, if the caller has closed those */
	fd = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!out)
		_exit(1);
	watched_begin();
	ret = w->work(w->arg, out);
	_exit(fclose(out) || ret ? 1 : 0);
}

/* The time of processors that a process has used; it stands still while the process waits. */
static long long used(pid_t pid)
{
	struct timespec t;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t))
		return 0;
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static long long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ll + t.tv_nsec / 1000000;
}

bool watched_wait(pid_t pid, int fd, int patience)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	long long last = -1, now;
	int quiet;

	for (quiet = 0; quiet < patience; quiet++) {
		int n = poll(&p, 1, TICK_MS);

		if (n > 0)
			return true;
		if (n < 0 && errno == EINTR) {
			quiet--;
			continue;
		}
		now = used(pid);
		if (now != last)
			quiet = 0;
		last = now;
	}
	return false;
}

/* Return: true if it runs. */
static bool start(struct watched *w)
{
	int ends[2];

	w->text = NULL;
	w->size = 0;
	w->used = -1;
	w->quiet = w->error = 0;
	if (pipe2(ends, O_CLOEXEC)) {
		w->error = errno;
		return false;
	}
	w->pid = fork();
	if (!w->pid)
		child(w, ends[1]);
	if (w->pid < 0)
		w->error = errno;
	close(ends[1]);
	w->fd = ends[0];
	if (w->pid < 0)
		close(w->fd);
	return w->pid > 0;
}

static void end(struct watched *w, int error)
{
	int status = 0;

	close(w->fd);
	w->fd = -1;
	if (error == ETIMEDOUT)
		kill(w->pid, SIGKILL);	/* it dies when the device answers; not waited for */
	else if ((waitpid(w->pid, &status, 0) != w->pid || status) && !error)
		error = ECANCELED;
	w->error = error;
	if (error) {
		free(w->text);
		w->text = NULL;
		w->size = 0;
	} else if (w->text) {
		w->text = realloc(w->text, w->size + 1) ?: w->text;
	}
}

/* Return: as read(): 0 at the end. */
static ssize_t take(struct watched *w)
{
	char *more = realloc(w->text, w->size + 65536 + 1);
	ssize_t n;

	if (!more) {
		errno = ENOMEM;
		return -1;
	}
	w->text = more;
	n = read(w->fd, w->text + w->size, 65536);
	if (n > 0)
		w->size += (size_t)n;
	w->text[w->size] = 0;
	return n;
}

static void hear(struct watched *w)
{
	ssize_t n = take(w);

	w->quiet = 0;
	if (n <= 0)
		end(w, n ? errno : 0);
}

/* A second has passed. */
static void tick(struct watched *w, int patience)
{
	long long now = used(w->pid);

	w->quiet = now != w->used ? 0 : w->quiet + 1;
	w->used = now;
	if (w->quiet >= patience)
		end(w, ETIMEDOUT);
}

/* Waits for some of them, a second at most. */
static void hear_all(struct watched **run, unsigned int n)
{
	struct pollfd p[AT_ONCE];
	unsigned int i;

	for (i = 0; i < n; i++)
		p[i] = (struct pollfd){ .fd = run[i]->fd, .events = POLLIN };
	if (poll(p, n, TICK_MS) <= 0)
		return;
	for (i = 0; i < n; i++)
		if (p[i].revents)
			hear(run[i]);
}

/* Return: how many still run. */
static unsigned int leave_out_ended(struct watched **run, unsigned int n)
{
	unsigned int i, left = 0;

	for (i = 0; i < n; i++)
		if (run[i]->fd >= 0)
			run[left++] = run[i];
	return left;
}

static void do_here(struct watched *w)
{
	FILE *out = open_memstream(&w->text, &w->size);
	int ret;

	w->error = out ? 0 : ENOMEM;
	if (!out)
		return;
	ret = w->work(w->arg, out);
	if (fclose(out) || ret) {
		free(w->text);
		w->text = NULL;
		w->size = 0;
		w->error = ECANCELED;
	}
}

void watched_all(struct watched *jobs, unsigned int count, int patience)
{
	struct watched *run[AT_ONCE];
	unsigned int next = 0, n = 0, i;
	long long last = now_ms();

	for (; !patience && next < count; next++)
		do_here(&jobs[next]);
	fflush(NULL);
	while (n || next < count) {
		for (; n < AT_ONCE && next < count; next++)
			if (start(&jobs[next]))
				run[n++] = &jobs[next];
		hear_all(run, n);
		n = leave_out_ended(run, n);
		if (now_ms() - last < TICK_MS)
			continue;
		last = now_ms();
		for (i = 0; i < n; i++)
			tick(run[i], patience);
		n = leave_out_ended(run, n);
	}
}

int watched_run(int (*work)(void *arg, FILE *out), void *arg, int patience, const char *what,
		char **text, size_t *size, struct err *err)
{
	struct watched w = { .work = work, .arg = arg };

	watched_all(&w, 1, patience);
	*text = w.text;
	*size = w.size;
	if (!w.error)
		return 0;
	if (w.error == ETIMEDOUT)
		return err_set(err, ERR_IO, what, "see kvpoolctl status, and the kernel log",
			       "it has not answered for %d s", patience);
	return err_set(err, ERR_FAILED, what, "free some memory, then try again",
		       "what it holds cannot be looked up: %s",
		       w.error == ECANCELED ? "it failed" : strerror(w.error));
}
