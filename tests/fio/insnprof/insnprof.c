// SPDX-License-Identifier: GPL-2.0-only
/*
 * Instructions per function of a running guest: a TCG plugin for qemu.
 *
 * qemu -icount shift=0,sleep=off -plugin insnprof.so,out=DIR
 *
 * It counts how often every translated block is executed. The program mark in the guest ends a
 * count: the counts since the mark before are written to DIR/prof.N, as lines "address instructions
 * executions", and cleared. The first mark only clears. The program report adds names.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The used part of the plugin interface of qemu 7 and 8; Debian packages no header. */
typedef uint64_t qemu_plugin_id_t;
typedef struct qemu_info_t qemu_info_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;

typedef void (*translate_fn)(qemu_plugin_id_t id, struct qemu_plugin_tb *tb);
typedef void (*execute_fn)(unsigned int cpu, void *data);

enum { INLINE_ADD_U64 = 0, CB_NO_REGS = 0 };

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, translate_fn fn);
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *tb, int op, void *counter,
					      uint64_t add);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, execute_fn fn, int flags,
					    void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t n);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);

#define EXPORT __attribute__((visibility("default")))
EXPORT int qemu_plugin_version = 1;
EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv);

/* Has no effect; only mark executes it. */
static const unsigned char marker[] = { 0x0f, 0x18, 0x80, 0x78, 0x56, 0x34, 0x12 };

struct block {
	uint64_t address;
	uint64_t executions;	/* translated code adds to it: blocks never move */
	uint32_t instructions;
};

#define CHUNK 65536
#define CHUNKS 4096

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct block *chunk[CHUNKS];
static size_t blocks;
static const char *out = ".";
static unsigned int marks;

static struct block *block_at(size_t i)
{
	return &chunk[i / CHUNK][i % CHUNK];
}

static struct block *new_block(void)
{
	if (blocks == (size_t)CHUNK * CHUNKS) {
		fprintf(stderr, "insnprof: too many blocks\n");
		abort();
	}
	if (blocks % CHUNK == 0) {
		chunk[blocks / CHUNK] = calloc(CHUNK, sizeof(struct block));
		if (!chunk[blocks / CHUNK])
			abort();
	}
	return block_at(blocks++);
}

static void write_counts(void)
{
	char name[4096];
	FILE *f;
	size_t i;

	snprintf(name, sizeof(name), "%s/prof.%u", out, marks);
	f = fopen(name, "w");
	if (!f) {
		perror(name);
		return;
	}
	for (i = 0; i < blocks; i++) {
		const struct block *b = block_at(i);

		if (b->executions)
			fprintf(f, "%" PRIx64 " %u %" PRIu64 "\n", b->address, b->instructions,
				b->executions);
	}
	fclose(f);
}

static void on_mark(unsigned int cpu, void *data)
{
	size_t i;

	(void)cpu, (void)data;
	pthread_mutex_lock(&lock);
	if (marks)
		write_counts();
	marks++;
	for (i = 0; i < blocks; i++)
		block_at(i)->executions = 0;
	pthread_mutex_unlock(&lock);
}

static int is_marker(struct qemu_plugin_insn *insn)
{
	return qemu_plugin_insn_size(insn) == sizeof(marker) &&
	       !memcmp(qemu_plugin_insn_data(insn), marker, sizeof(marker));
}

static void on_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb), i;
	struct block *b;

	(void)id;
	pthread_mutex_lock(&lock);
	b = new_block();
	b->address = qemu_plugin_tb_vaddr(tb);
	b->instructions = n;
	pthread_mutex_unlock(&lock);

	qemu_plugin_register_vcpu_tb_exec_inline(tb, INLINE_ADD_U64, &b->executions, 1);
	if (b->address >> 47)
		return;	/* in the kernel; mark runs in user space */
	for (i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

		if (is_marker(insn))
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_mark, CB_NO_REGS, NULL);
	}
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	int i;

	(void)info;
	for (i = 0; i < argc; i++)
		if (!strncmp(argv[i], "out=", 4))
			out = strdup(argv[i] + 4);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
	return 0;
}
