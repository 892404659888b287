// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "reader.h"
#include "watched.h"

#define AT_ONCE		64u	/* blocks */

/* What both processes see. */
struct shared {
	u8 data[AT_ONCE << KVP_BLOCK_SHIFT];	/* aligned, as the mapping is */
	struct device d;
	struct err err;
};

struct reader {
	struct reader *next;
	pid_t pid;
	int fd;
	bool hangs;
	struct shared *shared;
};

struct question {
	u64 block;
	u32 count;
};

static struct reader *readers;

/* --- the process that reads ----------------------------------------------------------- */

static int open_it(struct shared *s, const char *path, bool allow_file)
{
	if (device_open_now(path, allow_file, &s->d, &s->err))
		return -1;
	/* errors of these reads are found again by those that need the blocks */
	device_read(&s->d, 0, 1, s->data);
	device_read(&s->d, s->d.blocks - 1, 1, s->data);
	return 0;
}

static void __attribute__((noreturn)) serve(struct shared *s, int fd, const char *path,
					    bool allow_file)
{
	struct question q;
	int ret;

	/* not one of the standard ones, if the caller has closed those */
	fd = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	watched_begin();
	ret = open_it(s, path, allow_file);
	while (send(fd, &ret, sizeof(ret), MSG_NOSIGNAL) == sizeof(ret) &&
	       recv(fd, &q, sizeof(q), 0) == sizeof(q))
		ret = device_read(&s->d, q.block, q.count, s->data);
	_exit(0);
}

/* --- the process that asks ------------------------------------------------------------ */

/* Return: the answer; -ETIMEDOUT, and the reader is given up; or -EIO, if it has died. */
static int answer(struct reader *r)
{
	int ret;

	if (!watched_wait(r->pid, r->fd, (int)device_patience)) {
		r->hangs = true;
		return -ETIMEDOUT;
	}
	return recv(r->fd, &ret, sizeof(ret), 0) == sizeof(ret) ? ret : -EIO;
}

static int begin(struct reader *r, const char *path, bool allow_file)
{
	int ends[2];

	r->shared = mmap(NULL, sizeof(*r->shared), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (r->shared == MAP_FAILED) {
		r->shared = NULL;
		return -1;
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -1;
	r->fd = ends[0];
	r->pid = fork();
	if (!r->pid) {
		close(ends[0]);
		serve(r->shared, ends[1], path, allow_file);
	}
	close(ends[1]);
	return r->pid < 0 ? -1 : 0;
}

/* Wait until it has closed the device, as others may want it now; five seconds at most. */
static void reap(pid_t pid)
{
	struct timespec pause = { .tv_nsec = 50000 };
	unsigned int i;

	for (i = 0; i < 200 && !waitpid(pid, NULL, WNOHANG); i++) {
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < 25000000)
			pause.tv_nsec *= 2;
	}
}

static void stop_all(void)
{
	while (readers)
		reader_stop(readers);
}

static void note(struct reader *r)
{
	static bool noted;

	if (!noted)
		noted = !atexit(stop_all);
	r->next = readers;
	readers = r;
}

static void forget(const struct reader *r)
{
	struct reader **p = &readers;

	while (*p && *p != r)
		p = &(*p)->next;
	if (*p)
		*p = r->next;
}

void reader_stop(struct reader *r)
{
	forget(r);
	if (r->pid > 0 && r->hangs)
		kill(r->pid, SIGKILL);
	/* not by close(): a process that was started since may have the descriptor, too */
	if (r->fd >= 0) {
		shutdown(r->fd, SHUT_RDWR);
		close(r->fd);
	}
	if (r->pid > 0 && !r->hangs)
		reap(r->pid);
	if (r->shared)
		munmap(r->shared, sizeof(*r->shared));
	free(r);
}

int reader_start(const char *path, bool allow_file, struct device *d, bool *hangs, struct err *err)
{
	struct reader *r = calloc(1, sizeof(*r));
	int ret = -1;

	*hangs = false;
	if (!r)
		return err_set(err, ERR_FAILED, path, "free some memory", "out of memory");
	r->fd = -1;
	if (begin(r, path, allow_file)) {
		err_set(err, ERR_FAILED, path, "free some memory", "cannot be read: %s",
			strerror(errno));
	} else {
		ret = answer(r);
		*hangs = r->hangs;
		if (ret == -EIO)
			err_set(err, ERR_FAILED, path, "try again", "cannot be read");
		else if (ret && err && !r->hangs)
			*err = r->shared->err;
	}
	if (!ret) {
		*d = r->shared->d;
		d->fd = -1;	/* it is the other process's */
		d->reader = r;
		note(r);
		return 0;
	}
	reader_stop(r);
	return -1;
}

bool reader_hangs(const struct reader *r)
{
	return r->hangs;
}

int reader_read(struct reader *r, u64 block, u32 count, void *buf)
{
	struct question q = { .block = block };
	u8 *to = buf;
	int ret = 0;

	for (; !ret && count; count -= q.count, q.block += q.count) {
		if (r->hangs)
			return -ETIMEDOUT;
		q.count = count < AT_ONCE ? count : AT_ONCE;
		if (send(r->fd, &q, sizeof(q), MSG_NOSIGNAL) != sizeof(q))
			return -EIO;
		ret = answer(r);
		if (!ret)
			memcpy(to, r->shared->data, (size_t)q.count << KVP_BLOCK_SHIFT);
		to += (size_t)q.count << KVP_BLOCK_SHIFT;
	}
	return ret;
}
