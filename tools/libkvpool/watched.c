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

struct heard {
	char *text;
	size_t size;
};

static void __attribute__((noreturn))
child(int (*work)(void *arg, FILE *out), void *arg, int fd)
{
	FILE *out = fdopen(fd, "w");
	int ret;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!out)
		_exit(1);
	ret = work(arg, out);
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

/* Return: as read(): 0 at the end. */
static ssize_t take(int fd, struct heard *h)
{
	char *more = realloc(h->text, h->size + 65536 + 1);
	ssize_t n;

	if (!more) {
		errno = ENOMEM;
		return -1;
	}
	h->text = more;
	n = read(fd, h->text + h->size, 65536);
	if (n > 0)
		h->size += (size_t)n;
	h->text[h->size] = 0;
	return n;
}

/* Return: 0 when the process has ended its output, else an error number. */
static int hear(int fd, pid_t pid, int patience, struct heard *h)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	long long before = -1, now;
	int waited = 0, ret;
	ssize_t n;

	while (waited < patience) {
		ret = poll(&p, 1, 1000);
		n = ret > 0 ? take(fd, h) : 1;
		if (n <= 0)
			return n ? errno : 0;
		now = used(pid);
		waited = ret > 0 || now != before ? 0 : waited + 1;
		before = now;
	}
	return ETIMEDOUT;
}

static int end(int fd, pid_t pid, int patience, struct heard *h, const char *what,
	       struct err *err)
{
	int e = hear(fd, pid, patience, h), status = 0;

	close(fd);
	if (e == ETIMEDOUT) {
		kill(pid, SIGKILL);	/* it dies when the device answers; not waited for */
		return err_set(err, ERR_IO, what, "see kvpoolctl status, and the kernel log",
			       "it has not answered for %d s", patience);
	}
	if (waitpid(pid, &status, 0) == pid && !status && !e)
		return 0;
	return err_set(err, ERR_FAILED, what, "free some memory, then try again",
		       "what it holds cannot be looked up: %s", e ? strerror(e) : "it failed");
}

int watched_run(int (*work)(void *arg, FILE *out), void *arg, int patience, const char *what,
		char **text, size_t *size, struct err *err)
{
	struct heard h = { NULL, 0 };
	int ends[2], ret;
	pid_t pid;

	*text = NULL;
	if (pipe2(ends, O_CLOEXEC))
		return err_set(err, ERR_FAILED, what, "-", "no pipe: %s", strerror(errno));
	fflush(NULL);
	pid = fork();
	if (!pid)
		child(work, arg, ends[1]);
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return err_set(err, ERR_FAILED, what, "free some memory", "no process: %s",
			       strerror(errno));
	}
	ret = end(ends[0], pid, patience, &h, what, err);
	if (ret) {
		free(h.text);
		return ret;
	}
	*text = h.text;
	*size = h.size;
	return 0;
}
