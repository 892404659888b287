// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes to a block device, remembers what was acknowledged, and judges what
 * is read back. It shares no code and no header with the module.
 *
 * Every 512-byte sector says where it belongs, which version it is and which
 * test wrote it, and is filled from those three; so a sector that is torn,
 * lost, old, misplaced or foreign is seen for what it is.
 *
 *	oracle new STATE BLOCKS REGIONS STRIDE SEED
 *		An empty memory of BLOCKS 4 KiB blocks in REGIONS pieces, each
 *		STRIDE blocks after the one before. STATE is a file in RAM.
 *	oracle run STATE DEV SEED THREADS OPS [PROFILE]
 *		Concurrent writes (buffered by the device, flushed, O_DSYNC),
 *		discards, write-zeroes and reads, OPS for each thread. Ends at
 *		the first I/O error with status 3. Every read is compared.
 *	oracle check STATE DEV [eio-ok] [old-ok] [keep]
 *		Every sector holds the last version known durable or a later
 *		one. What it holds is from then on the only right content.
 *		eio-ok: unreadable blocks are allowed; old-ok: any version ever
 *		written; keep: STATE stays as it is.
 *	oracle write DEV FIRST COUNT VERSION [fsync|dsync] [bs=BLOCKS] [shift=BYTES] [go-on|nowait]
 * 		nowait: by RWF_NOWAIT, up to the first that ends with EAGAIN; prints how many blocks
 * 		were taken.
 *	oracle show DEV FIRST COUNT [bs=BLOCKS] [shift=BYTES] [nowait]
 * 		What blocks hold: lines "FIRST COUNT vN|zero|EIO|bad", with nowait (by RWF_NOWAIT)
 * 		EAGAIN, too.
 *	oracle sectors DEV FIRST COUNT
 *		How many sectors of those blocks hold what: lines "WHAT SECTORS".
 *	oracle scribble-write DEV FIRST COUNT SECONDS [BLOCKS]
 *	oracle scribble-read DEV FIRST COUNT SECONDS [BLOCKS]
 *		Direct I/O whose buffer another thread changes all the while.
 *	oracle hog MIB PASSES [FILE PROGRAMS]
 * 		Touches that much memory and checks it, over and over. With FILE, it goes on after
 * 		the
 *		first pass only when so many programs with the same FILE have their memory.
 *	oracle sync DEV
 *		fdatasync, status 3 if it fails.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define BLOCK 4096
#define SECTOR 512
#define SECTORS (BLOCK / SECTOR)
#define WORDS (SECTOR / 8)
#define MAX_IO 256		/* blocks */
#define MAGIC 0x4f7261636c653121ull
#define TEST_SEED 0x7e57		/* of write and show */
#define STOPPED 3

static void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fprintf(stderr, "oracle: ");
	vfprintf(stderr, fmt, ap);
	fprintf(stderr, "\n");
	va_end(ap);
	exit(1);
}

static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

static uint64_t number(const char *s)
{
	char *end;
	uint64_t v = strtoull(s, &end, 0);

	if (*end || end == s)
		die("not a number: %s", s);
	return v;
}

static int open_dev(const char *dev, int flags)
{
	int fd = open(dev, flags | O_DIRECT | O_CLOEXEC);

	if (fd < 0)
		die("%s: %s", dev, strerror(errno));
	return fd;
}

static void *buffer(size_t blocks)
{
	void *p;

	if (posix_memalign(&p, BLOCK, blocks * BLOCK))
		die("out of memory");
	memset(p, 0, blocks * BLOCK);
	return p;
}

/* --- sectors ----------------------------------------------------------- */

static void sector_fill(uint64_t *w, uint64_t sector, uint32_t version, uint64_t seed)
{
	uint64_t x = mix(sector ^ mix(version ^ mix(seed)));
	int i;

	w[0] = MAGIC;
	w[1] = sector;
	w[2] = version;
	w[3] = seed;
	for (i = 4; i < WORDS; i++) {
		x = x * 6364136223846793005ull + 1442695040888963407ull;
		w[i] = x;
	}
}

static void block_fill(void *buf, uint64_t block, uint32_t version, uint64_t seed)
{
	int s;

	for (s = 0; s < SECTORS; s++)
		sector_fill((uint64_t *)((char *)buf + s * SECTOR), block * SECTORS + s, version,
			    seed);
}

enum { BAD = -1, EIO_BLOCK = -2, EAGAIN_BLOCK = -3 };

/* The version, 0 for zeros, or BAD. */
static int64_t sector_version(const uint64_t *w, uint64_t sector, uint64_t seed)
{
	uint64_t want[WORDS];
	int i;

	if (w[0] == MAGIC) {
		if (w[1] != sector || w[3] != seed || !w[2] || w[2] > UINT32_MAX)
			return BAD;
		sector_fill(want, sector, w[2], seed);
		return memcmp(want, w, SECTOR) ? BAD : (int64_t)w[2];
	}
	for (i = 0; i < WORDS; i++)
		if (w[i])
			return BAD;
	return 0;
}

static void describe(const uint64_t *w, uint64_t sector, uint64_t seed)
{
	if (w[0] != MAGIC)
		fprintf(stderr, "  foreign bytes %016llx %016llx\n", (unsigned long long)w[0],
			(unsigned long long)w[1]);
	else
		fprintf(stderr, "  says sector %llu (wanted %llu) version %llu seed %#llx (wanted %#llx)\n",
			(unsigned long long)w[1], (unsigned long long)sector,
			(unsigned long long)w[2], (unsigned long long)w[3],
			(unsigned long long)seed);
}

/* --- memory ------------------------------------------------------------ */

/*
 * Versions of a block count up for ever. Versions above base were issued since the last check. Of
 * these, versions below durable are gone for good. While durable is 0, the contents seen at the
 * last check are allowed too.
 */
struct block {
	uint32_t base;		/* newest version issued before the last check */
	uint32_t durable;	/* newest known durable since then, or 0 */
	uint32_t latest;	/* newest issued */
	uint32_t busy;
	uint64_t zero_mask;	/* bit (version % 64): that version is zeros */
	uint32_t seen[SECTORS];	/* at the last check: version, or 0 for zeros */
};

struct state {
	uint64_t blocks, per_region, stride, seed;
	struct block b[];
};

static struct state *state_open(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDWR);
	struct state *m;

	if (fd < 0 || fstat(fd, &st))
		die("%s: %s", path, strerror(errno));
	m = mmap(NULL, st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (m == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	return m;
}

static uint64_t where(const struct state *m, uint64_t i)
{
	return i / m->per_region * m->stride + i % m->per_region;
}

static uint32_t code(const struct block *b, uint32_t version)
{
	return b->zero_mask >> (version % 64) & 1 ? 0 : version;
}

static bool allowed(const struct block *b, int s, int64_t got)
{
	uint32_t v;

	if (!b->durable && got == b->seen[s])
		return true;
	for (v = b->base + 1 > b->durable ? b->base + 1 : b->durable; v <= b->latest; v++)
		if (got == code(b, v))
			return true;
	return false;
}

static int cmd_new(int argc, char **argv)
{
	struct state head;
	int fd;

	if (argc != 5)
		die("new STATE BLOCKS REGIONS STRIDE SEED");
	head.blocks = number(argv[1]);
	head.per_region = head.blocks / number(argv[2]);
	head.stride = number(argv[3]);
	head.seed = mix(number(argv[4]));
	fd = open(argv[0], O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || write(fd, &head, sizeof(head)) != sizeof(head) ||
	    ftruncate(fd, sizeof(head) + head.blocks * sizeof(struct block)))
		die("%s: %s", argv[0], strerror(errno));
	return 0;
}

/* --- run --------------------------------------------------------------- */

enum op { OP_WRITE, OP_DSYNC, OP_FLUSH, OP_DISCARD, OP_ZEROOUT, OP_ZEROS, OP_READ, OPS };

/*
 * Shares of 100 operations. The last two columns: shares of 100 writes above 128 KiB and above 16
 * KiB.
 */
static const struct profile {
	int weight[OPS];
	int large, medium;
} profiles[] = {
	{ { 52, 12, 12, 5, 3, 4, 12 }, 8, 25 },	/* all kinds */
	{ { 40, 30, 20, 2, 1, 2, 5 }, 0, 5 },	/* a database's log */
	{ { 70, 2, 10, 4, 2, 2, 10 }, 40, 30 },	/* streams */
	{ { 40, 8, 12, 16, 9, 5, 10 }, 10, 30 },	/* many discards */
	{ { 64, 10, 16, 0, 0, 0, 10 }, 15, 20 },	/* writes only */
};

static struct {
	struct state *m;
	const char *dev;
	const struct profile *profile;
	uint64_t ops;
	pthread_mutex_t lock;
	/* Completions in their order, for flushes to look up; under lock. */
	struct done { uint32_t block, version; } *done;
	size_t done_count, done_size, done_durable;
	atomic_bool stop;
	atomic_int errors;
	atomic_ulong count[OPS], blocks;
} run = { .lock = PTHREAD_MUTEX_INITIALIZER };

struct worker {
	pthread_t thread;
	uint64_t rng;
	int fd, fd_dsync;
	char *buf;
};

static uint64_t rnd(struct worker *w, uint64_t below)
{
	w->rng = mix(w->rng);
	return w->rng % below;
}

static void io_failed(const char *what, uint64_t block)
{
	if (!atomic_exchange(&run.stop, true))
		fprintf(stderr, "stopped: %s at block %llu: %s\n", what,
			(unsigned long long)block, strerror(errno));
}

/* Takes a free range of at most *n blocks within one region. */
static bool take(struct worker *w, uint64_t *first, unsigned int *n, bool write)
{
	struct state *m = run.m;
	int tries;

	for (tries = 0; tries < 30; tries++) {
		uint64_t i, at = rnd(w, m->blocks);
		uint64_t end = (at / m->per_region + 1) * m->per_region;
		bool free = true, full = false;

		/* Half of all I/O goes to a small hot part. */
		if (rnd(w, 2))
			at = at / m->per_region * m->per_region + rnd(w, m->per_region) % 64;
		if (end > at + *n)
			end = at + *n;
		pthread_mutex_lock(&run.lock);
		for (i = at; i < end && free; i++) {
			struct block *b = &m->b[i];

			free = !b->busy;
			full |= b->latest - (b->durable ? b->durable : b->base) >= 60;
		}
		if (free && !(write && full))
			for (i = at; i < end; i++)
				m->b[i].busy = 1;
		pthread_mutex_unlock(&run.lock);
		if (!free)
			continue;
		if (write && full)
			return false;
		*first = at;
		*n = end - at;
		return true;
	}
	return false;
}

static void give_back(uint64_t first, unsigned int n)
{
	uint64_t i;

	pthread_mutex_lock(&run.lock);
	for (i = first; i < first + n; i++)
		run.m->b[i].busy = 0;
	pthread_mutex_unlock(&run.lock);
}

static void issue(uint64_t first, unsigned int n, bool zeros)
{
	uint64_t i;

	for (i = first; i < first + n; i++) {
		struct block *b = &run.m->b[i];
		uint32_t v = b->latest + 1;

		b->zero_mask = (b->zero_mask & ~(1ull << v % 64)) | (uint64_t)zeros << v % 64;
		__atomic_store_n(&b->latest, v, __ATOMIC_SEQ_CST);
	}
}

static void completed(uint64_t first, unsigned int n, bool durable)
{
	uint64_t i;

	pthread_mutex_lock(&run.lock);
	if (run.done_count + n > run.done_size) {
		run.done_size = (run.done_count + n) * 2;
		run.done = realloc(run.done, run.done_size * sizeof(*run.done));
		if (!run.done)
			die("out of memory");
	}
	for (i = first; i < first + n; i++) {
		struct block *b = &run.m->b[i];

		if (durable)
			b->durable = b->latest;
		run.done[run.done_count++] = (struct done){ i, b->latest };
	}
	pthread_mutex_unlock(&run.lock);
	atomic_fetch_add(&run.blocks, n);
}

static void do_flush(struct worker *w)
{
	size_t before;

	pthread_mutex_lock(&run.lock);
	before = run.done_count;
	pthread_mutex_unlock(&run.lock);
	if (fdatasync(w->fd)) {
		io_failed("flush", 0);
		return;
	}
	pthread_mutex_lock(&run.lock);
	for (; run.done_durable < before; run.done_durable++) {
		struct done *d = &run.done[run.done_durable];
		struct block *b = &run.m->b[d->block];

		if (b->durable < d->version)
			b->durable = d->version;
	}
	pthread_mutex_unlock(&run.lock);
}

static void do_read(struct worker *w, uint64_t first, unsigned int n)
{
	uint64_t at = where(run.m, first);
	unsigned int i, s;

	if (pread(w->fd, w->buf, n * BLOCK, at * BLOCK) != (ssize_t)n * BLOCK) {
		io_failed("read", at);
		return;
	}
	for (i = 0; i < n; i++) {
		struct block *b = &run.m->b[first + i];

		for (s = 0; s < SECTORS; s++) {
			uint64_t *data = (uint64_t *)(w->buf + i * BLOCK + s * SECTOR);
			uint64_t sector = (at + i) * SECTORS + s;
			int64_t got = sector_version(data, sector, run.m->seed);
			uint32_t want = b->latest == b->base ? b->seen[s] : code(b, b->latest);

			if (got == want)
				continue;
			if (atomic_fetch_add(&run.errors, 1) < 10) {
				fprintf(stderr, "WRONG while running: block %llu sector %u: got %lld, wanted %u\n",
					(unsigned long long)at + i, s, (long long)got, want);
				describe(data, sector, run.m->seed);
			}
			atomic_store(&run.stop, true);
		}
	}
}

static bool range_ioctl(struct worker *w, enum op op, uint64_t at, unsigned int n)
{
	uint64_t range[2] = { at * BLOCK, (uint64_t)n * BLOCK };

	return !ioctl(w->fd, op == OP_DISCARD ? BLKDISCARD : BLKZEROOUT, range);
}

static void do_write(struct worker *w, enum op op, uint64_t first, unsigned int n)
{
	uint64_t at = where(run.m, first);
	bool zeros = op == OP_DISCARD || op == OP_ZEROOUT || op == OP_ZEROS;
	unsigned int i;
	bool ok;

	issue(first, n, zeros);
	if (op == OP_DISCARD || op == OP_ZEROOUT) {
		ok = range_ioctl(w, op, at, n);
	} else {
		if (zeros)
			memset(w->buf, 0, n * BLOCK);
		else
			for (i = 0; i < n; i++)
				block_fill(w->buf + i * BLOCK, at + i, run.m->b[first + i].latest,
					   run.m->seed);
		ok = pwrite(op == OP_DSYNC ? w->fd_dsync : w->fd, w->buf, n * BLOCK,
			    at * BLOCK) == (ssize_t)n * BLOCK;
	}
	if (ok)
		completed(first, n, op == OP_DSYNC);
	else
		io_failed(op == OP_DISCARD ? "discard" : op == OP_ZEROOUT ? "zeroout" : "write", at);
}

static unsigned int pick_size(struct worker *w, enum op op)
{
	unsigned int r = rnd(w, 100);

	if (op == OP_DSYNC)
		return 1 + rnd(w, r < 80 ? 2 : 32);
	if (op == OP_READ)
		return 1 + rnd(w, 64);
	if (r < (unsigned int)run.profile->large)
		return rnd(w, 3) ? 32 + rnd(w, MAX_IO - 31) : MAX_IO;
	if (r < (unsigned int)(run.profile->large + run.profile->medium))
		return 4 + rnd(w, 28);
	return 1 + rnd(w, 4);
}

static void one_op(struct worker *w)
{
	unsigned int r = rnd(w, 100), n;
	uint64_t first;
	int op = 0;

	while (op < OPS - 1 && r >= (unsigned int)run.profile->weight[op])
		r -= run.profile->weight[op++];
	n = pick_size(w, op);
	if (op != OP_FLUSH && !take(w, &first, &n, op != OP_READ))
		op = OP_FLUSH;
	atomic_fetch_add(&run.count[op], 1);
	if (op == OP_FLUSH) {
		do_flush(w);
		return;
	}
	if (op == OP_READ)
		do_read(w, first, n);
	else
		do_write(w, op, first, n);
	give_back(first, n);
}

static void *work(void *arg)
{
	struct worker *w = arg;
	uint64_t i;

	for (i = 0; i < run.ops && !atomic_load(&run.stop); i++)
		one_op(w);
	return NULL;
}

static int cmd_run(int argc, char **argv)
{
	struct worker *w;
	uint64_t seed, i, threads, profile;

	if (argc < 5)
		die("run STATE DEV SEED THREADS OPS [PROFILE]");
	run.m = state_open(argv[0]);
	run.dev = argv[1];
	seed = number(argv[2]);
	threads = number(argv[3]);
	run.ops = number(argv[4]);
	profile = argc > 5 ? number(argv[5]) : seed;
	run.profile = &profiles[profile % (sizeof(profiles) / sizeof(*profiles))];
	w = calloc(threads, sizeof(*w));
	for (i = 0; i < threads; i++) {
		w[i].rng = mix(seed * 1000 + i);
		w[i].fd = open_dev(run.dev, O_RDWR);
		w[i].fd_dsync = open_dev(run.dev, O_RDWR | O_DSYNC);
		w[i].buf = buffer(MAX_IO);
	}
	for (i = 0; i < threads; i++)
		if (pthread_create(&w[i].thread, NULL, work, &w[i]))
			die("pthread_create");
	for (i = 0; i < threads; i++)
		pthread_join(w[i].thread, NULL);
	printf("run: seed %llu, %lu blocks written, writes %lu dsync %lu flush %lu discard %lu zeroout %lu zeros %lu read %lu%s\n",
	       (unsigned long long)seed, run.blocks, run.count[0], run.count[1], run.count[2],
	       run.count[3], run.count[4], run.count[5], run.count[6],
	       run.stop ? ", stopped" : "");
	for (i = 0; i < run.m->blocks; i++)
		run.m->b[i].busy = 0;
	return run.errors ? 1 : run.stop ? STOPPED : 0;
}

/* --- check ------------------------------------------------------------- */

static struct {
	unsigned long eio, wrong, newer, base, old;
} found;

static bool judge_sector(struct block *b, uint64_t at, unsigned int s, const uint64_t *data,
			 const struct state *m, bool old_ok, int64_t *got)
{
	uint64_t sector = at * SECTORS + s;

	*got = sector_version(data, sector, m->seed);
	if (*got != BAD && allowed(b, s, *got)) {
		if (*got == b->seen[s])
			found.base++;
		else
			found.newer++;
		return true;
	}
	if (old_ok && *got != BAD && *got <= b->latest) {
		found.old++;
		return true;
	}
	if (found.wrong++ < 10) {
		fprintf(stderr, "WRONG: block %llu sector %u: got %lld; seen %u base %u durable %u latest %u zeros %016llx\n",
			(unsigned long long)at, s, (long long)*got, b->seen[s], b->base,
			b->durable, b->latest, (unsigned long long)b->zero_mask);
		if (*got == BAD)
			describe(data, sector, m->seed);
	}
	return false;
}

static void judge_block(struct state *m, uint64_t i, const char *data, bool old_ok, bool keep)
{
	struct block *b = &m->b[i];
	uint32_t seen[SECTORS];
	unsigned int s;
	bool ok = true;

	for (s = 0; s < SECTORS; s++) {
		int64_t got;

		ok &= judge_sector(b, where(m, i), s, (const uint64_t *)(data + s * SECTOR), m,
				   old_ok, &got);
		seen[s] = got;
	}
	if (!ok || keep)
		return;
	memcpy(b->seen, seen, sizeof(seen));
	b->base = b->latest;
	b->durable = 0;
}

static int cmd_check(int argc, char **argv)
{
	bool eio_ok = false, old_ok = false, keep = false;
	char *buf = buffer(MAX_IO);
	struct state *m;
	uint64_t i, j, n;
	int fd, a;

	if (argc < 2)
		die("check STATE DEV [eio-ok] [old-ok] [keep]");
	for (a = 2; a < argc; a++) {
		eio_ok |= !strcmp(argv[a], "eio-ok");
		old_ok |= !strcmp(argv[a], "old-ok");
		keep |= !strcmp(argv[a], "keep");
	}
	m = state_open(argv[0]);
	fd = open_dev(argv[1], O_RDONLY);
	for (i = 0; i < m->blocks; i += n) {
		n = m->per_region - i % m->per_region;
		if (n > MAX_IO)
			n = MAX_IO;
		if (pread(fd, buf, n * BLOCK, where(m, i) * BLOCK) == (ssize_t)(n * BLOCK)) {
			for (j = 0; j < n; j++)
				judge_block(m, i + j, buf + j * BLOCK, old_ok, keep);
			continue;
		}
		for (j = 0; j < n; j++) {
			uint64_t at = where(m, i + j);

			if (pread(fd, buf, BLOCK, at * BLOCK) == BLOCK)
				judge_block(m, i + j, buf, old_ok, keep);
			else if (found.eio++ < 5 || !eio_ok)
				fprintf(stderr, "EIO: block %llu\n", (unsigned long long)at);
		}
	}
	printf("check: %lu sectors as before, %lu newer, %lu old, %lu wrong, %lu blocks unreadable\n",
	       found.base, found.newer, found.old, found.wrong, found.eio);
	return found.wrong || (found.eio && !eio_ok);
}

/* --- write and show ---------------------------------------------------- */

/* The buffer begins @shift bytes after a page's start, so that no block lies in one segment. */
static char *shifted_buffer(uint64_t blocks, uint64_t shift)
{
	if (shift >= BLOCK || shift % SECTOR)
		die("shift: sectors, less than a block");
	return (char *)buffer(blocks + 1) + shift;
}

static int cmd_write(int argc, char **argv)
{
	uint64_t first, count, bs = 1, shift = 0, i, j;
	bool fsync = false, dsync = false, go_on = false, nowait = false;
	uint32_t version;
	int fd, a, status = 0;
	char *buf;

	if (argc < 4)
		die("write DEV FIRST COUNT VERSION [fsync|dsync] [bs=BLOCKS] [shift=BYTES] [go-on|nowait]");
	first = number(argv[1]);
	count = number(argv[2]);
	version = number(argv[3]);
	for (a = 4; a < argc; a++) {
		fsync |= !strcmp(argv[a], "fsync");
		dsync |= !strcmp(argv[a], "dsync");
		go_on |= !strcmp(argv[a], "go-on");
		nowait |= !strcmp(argv[a], "nowait");
		if (!strncmp(argv[a], "bs=", 3))
			bs = number(argv[a] + 3);
		if (!strncmp(argv[a], "shift=", 6))
			shift = number(argv[a] + 6);
	}
	buf = shifted_buffer(bs, shift);
	fd = open_dev(argv[0], O_RDWR | (dsync ? O_DSYNC : 0));
	for (i = 0; i < count; i += bs) {
		uint64_t n = count - i < bs ? count - i : bs;

		for (j = 0; j < n; j++) {
			if (version)
				block_fill(buf + j * BLOCK, first + i + j, version, TEST_SEED);
		}
		struct iovec v = { buf, n * BLOCK };

		if (pwritev2(fd, &v, 1, (first + i) * BLOCK, nowait ? RWF_NOWAIT :
			     0) != (ssize_t)(n * BLOCK)) {
			if (nowait && errno == EAGAIN)
				break;
			fprintf(stderr, "write at block %llu: %s\n",
				(unsigned long long)(first + i), strerror(errno));
			status = STOPPED;
			if (!go_on)
				return status;
		}
	}
	if (nowait)
		printf("%llu\n", (unsigned long long)(i < count ? i : count));
	if (fsync && fdatasync(fd)) {
		fprintf(stderr, "fdatasync: %s\n", strerror(errno));
		status = STOPPED;
	}
	return status;
}

static int64_t block_version(const char *data, uint64_t block)
{
	int64_t v = sector_version((const uint64_t *)data, block * SECTORS, TEST_SEED);
	int s;

	for (s = 1; s < SECTORS; s++)
		if (sector_version((const uint64_t *)(data + s * SECTOR), block * SECTORS + s,
				   TEST_SEED) != v)
			return BAD;
	return v;
}

static void show_run(uint64_t first, uint64_t n, int64_t v)
{
	if (!n)
		return;
	printf("%llu %llu ", (unsigned long long)first, (unsigned long long)n);
	if (v == BAD)
		printf("bad\n");
	else if (v == EIO_BLOCK)
		printf("EIO\n");
	else if (v == EAGAIN_BLOCK)
		printf("EAGAIN\n");
	else if (!v)
		printf("zero\n");
	else
		printf("v%lld\n", (long long)v);
}

static int cmd_show(int argc, char **argv)
{
	uint64_t first, count, bs = 64, shift = 0, i, j, run_first, run_n = 0;
	bool nowait = false;
	int64_t run_v = 0;
	int fd, a;
	char *buf;

	if (argc < 3)
		die("show DEV FIRST COUNT [bs=BLOCKS] [shift=BYTES] [nowait]");
	first = run_first = number(argv[1]);
	count = number(argv[2]);
	for (a = 3; a < argc; a++) {
		nowait |= !strcmp(argv[a], "nowait");
		if (!strncmp(argv[a], "bs=", 3))
			bs = number(argv[a] + 3);
		if (!strncmp(argv[a], "shift=", 6))
			shift = number(argv[a] + 6);
	}
	buf = shifted_buffer(bs, shift);
	fd = open_dev(argv[0], O_RDONLY);
	for (i = 0; i < count; i += bs) {
		uint64_t n = count - i < bs ? count - i : bs;
		struct iovec iov = { buf, n * BLOCK };
		bool whole = preadv2(fd, &iov, 1, (first + i) * BLOCK, nowait ? RWF_NOWAIT : 0) ==
			(ssize_t)(n * BLOCK);
		bool again = !whole && nowait && errno == EAGAIN;

		for (j = 0; j < n; j++) {
			uint64_t at = first + i + j;
			int64_t v = EIO_BLOCK;

			if (whole)
				v = block_version(buf + j * BLOCK, at);
			else if (again)
				v = EAGAIN_BLOCK;
			else if (!nowait && bs > 1 && pread(fd, buf, BLOCK, at * BLOCK) == BLOCK)
				v = block_version(buf, at);
			if (v != run_v) {
				show_run(run_first, run_n, run_v);
				run_first = at;
				run_n = 0;
				run_v = v;
			}
			run_n++;
		}
	}
	show_run(run_first, run_n, run_v);
	return 0;
}

static int cmd_sectors(int argc, char **argv)
{
	struct { int64_t v; unsigned long n; } seen[64];
	unsigned int kinds = 0, k;
	uint64_t first, i, s;
	char *buf = buffer(1);
	int fd;

	if (argc < 3)
		die("sectors DEV FIRST COUNT");
	first = number(argv[1]);
	fd = open_dev(argv[0], O_RDONLY);
	for (i = first; i < first + number(argv[2]); i++) {
		bool readable = pread(fd, buf, BLOCK, i * BLOCK) == BLOCK;

		for (s = 0; s < SECTORS; s++) {
			int64_t v = !readable ? EIO_BLOCK :
				    sector_version((uint64_t *)(buf + s * SECTOR), i * SECTORS + s,
						   TEST_SEED);

			for (k = 0; k < kinds && seen[k].v != v; k++)
				;
			if (k == 64)
				die("too many versions");
			if (k == kinds) {
				seen[kinds].v = v;
				seen[kinds++].n = 0;
			}
			seen[k].n++;
		}
	}
	for (k = 0; k < kinds; k++)
		if (seen[k].v > 0)
			printf("v%lld %lu\n", (long long)seen[k].v, seen[k].n);
		else
			printf("%s %lu\n", seen[k].v == BAD ? "bad" : seen[k].v ? "EIO" : "zero",
			       seen[k].n);
	return 0;
}

/* --- buffers that change in flight ------------------------------------- */

static struct {
	volatile uint64_t *buf;
	size_t words;
	atomic_bool stop;
} scribble;

static void *scribbler(void *arg)
{
	uint64_t x = (uintptr_t)arg;

	while (!atomic_load(&scribble.stop)) {
		x = mix(x);
		scribble.buf[x % scribble.words] = x;
	}
	return NULL;
}

static int cmd_scribble(int argc, char **argv, bool write)
{
	uint64_t first, count, bs = 8, at;
	struct timespec now, end;
	unsigned long ios = 0;
	pthread_t t;
	char *buf;
	int fd;

	if (argc < 4)
		die("scribble-* DEV FIRST COUNT SECONDS");
	first = number(argv[1]);
	count = number(argv[2]);
	if (argc > 4)
		bs = number(argv[4]);
	fd = open_dev(argv[0], O_RDWR);
	buf = buffer(bs);
	scribble.buf = (uint64_t *)buf;
	scribble.words = bs * BLOCK / 8;
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += number(argv[3]);
	if (pthread_create(&t, NULL, scribbler, (void *)1))
		die("pthread_create");
	do {
		at = first + mix(ios) % (count / bs) * bs;
		ios++;
		if ((write ? pwrite(fd, buf, bs * BLOCK, at * BLOCK) :
			     pread(fd, buf, bs * BLOCK, at * BLOCK)) != (ssize_t)(bs * BLOCK))
			die("scribble at block %llu: %s", (unsigned long long)at, strerror(errno));
		if (write && ios % 16 == 0 && fdatasync(fd))
			die("fdatasync: %s", strerror(errno));
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec < end.tv_sec || ios < 64);
	atomic_store(&scribble.stop, true);
	pthread_join(t, NULL);
	printf("scribble: %lu requests\n", ios);
	return 0;
}

/* --- memory ------------------------------------------------------------ */

/* Wait until @programs of them have come so far. */
static void meet(const char *file, uint64_t programs)
{
	int fd = open(file, O_WRONLY | O_CREAT | O_APPEND, 0600);
	struct stat st;

	if (fd < 0 || write(fd, "+", 1) != 1)
		die("%s: %s", file, strerror(errno));
	do {
		usleep(10000);
		if (fstat(fd, &st))
			die("%s: %s", file, strerror(errno));
	} while ((uint64_t)st.st_size < programs);
	close(fd);
}

static int cmd_hog(int argc, char **argv)
{
	size_t pages, i;
	uint64_t pass, passes;
	char *p;

	if (argc < 2)
		die("hog MIB PASSES [FILE PROGRAMS]");
	pages = number(argv[0]) << 20 >> 12;
	passes = number(argv[1]);
	p = mmap(NULL, pages * BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	for (pass = 1; pass <= passes; pass++) {
		for (i = 0; i < pages; i++) {
			uint64_t *w = (uint64_t *)(p + i * BLOCK);

			if (pass > 1 && (w[0] != mix(i + pass - 1) || w[511] != ~w[0]))
				die("page %zu is wrong in pass %llu", i, (unsigned long long)pass);
			w[0] = mix(i + pass);
			w[511] = ~w[0];
			w[100] = w[0] * 3;
		}
		if (pass == 1 && argc > 3)
			meet(argv[2], number(argv[3]));
	}
	printf("hog: %zu pages, %llu passes\n", pages, (unsigned long long)passes);
	return 0;
}

static int cmd_sync(int argc, char **argv)
{
	if (argc < 1)
		die("sync DEV");
	if (!fdatasync(open_dev(argv[0], O_RDWR)))
		return 0;
	fprintf(stderr, "fdatasync: %s\n", strerror(errno));
	return STOPPED;
}

int main(int argc, char **argv)
{
	const char *cmd = argc > 1 ? argv[1] : "";

	argc -= 2;
	argv += 2;
	if (!strcmp(cmd, "new"))
		return cmd_new(argc, argv);
	if (!strcmp(cmd, "run"))
		return cmd_run(argc, argv);
	if (!strcmp(cmd, "check"))
		return cmd_check(argc, argv);
	if (!strcmp(cmd, "write"))
		return cmd_write(argc, argv);
	if (!strcmp(cmd, "show"))
		return cmd_show(argc, argv);
	if (!strcmp(cmd, "sectors"))
		return cmd_sectors(argc, argv);
	if (!strcmp(cmd, "scribble-write"))
		return cmd_scribble(argc, argv, true);
	if (!strcmp(cmd, "scribble-read"))
		return cmd_scribble(argc, argv, false);
	if (!strcmp(cmd, "hog"))
		return cmd_hog(argc, argv);
	if (!strcmp(cmd, "sync"))
		return cmd_sync(argc, argv);
	die("unknown command '%s'", cmd);
}
