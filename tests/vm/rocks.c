// SPDX-License-Identifier: GPL-2.0-only
/*
 * RocksDB on a file system on a pool: what it acknowledged must be there.
 *
 *	rocks put DIR FIRST	puts of one key after another, each synced to its
 *				log; prints "done N" when N has returned. Ends when
 *				a put fails.
 *	rocks verify DIR LAST	0 if every key below or at LAST is there and every key
 *				has its value; prints the greatest key
 *
 * A key's value follows from the key. Memtables are small, so that tables are
 * written and compacted all the time.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rocksdb/c.h>

#define VALUE_WORDS	128

static void fill_value(uint64_t key, uint64_t *value)
{
	uint64_t x = key * 0x9e3779b97f4a7c15u + 1;

	for (int i = 0; i < VALUE_WORDS; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		value[i] = x;
	}
}

static void check(char *error)
{
	if (!error)
		return;
	fprintf(stderr, "rocks: %s\n", error);
	exit(1);
}

static rocksdb_t *open_db(const char *dir)
{
	rocksdb_options_t *options = rocksdb_options_create();
	char *error = NULL;
	rocksdb_t *db;

	rocksdb_options_set_create_if_missing(options, 1);
	rocksdb_options_set_paranoid_checks(options, 1);
	rocksdb_options_set_write_buffer_size(options, 256 << 10);
	rocksdb_options_set_level0_file_num_compaction_trigger(options, 2);
	rocksdb_options_set_use_direct_io_for_flush_and_compaction(options, 1);
	db = rocksdb_open(options, dir, &error);
	check(error);
	return db;
}

static void put(const char *dir, uint64_t key)
{
	rocksdb_writeoptions_t *options = rocksdb_writeoptions_create();
	rocksdb_t *db = open_db(dir);
	uint64_t value[VALUE_WORDS];
	char text[24];

	rocksdb_writeoptions_set_sync(options, 1);
	for (;; key++) {
		char *error = NULL;

		fill_value(key, value);
		snprintf(text, sizeof(text), "%016" PRIx64, key);
		rocksdb_put(db, options, text, 16, (char *)value, sizeof(value), &error);
		check(error);
		printf("done %" PRIu64 "\n", key);
		fflush(stdout);
	}
}

/* Keys are in numeric order, and there is no other key. */
static int verify(const char *dir, uint64_t last)
{
	rocksdb_readoptions_t *options = rocksdb_readoptions_create();
	uint64_t value[VALUE_WORDS], next = 0;
	rocksdb_iterator_t *it;
	char *error = NULL;

	rocksdb_readoptions_set_verify_checksums(options, 1);
	it = rocksdb_create_iterator(open_db(dir), options);
	for (rocksdb_iter_seek_to_first(it); rocksdb_iter_valid(it);
	     rocksdb_iter_next(it), next++) {
		size_t length;
		uint64_t key = strtoull(rocksdb_iter_key(it, &length), NULL, 16);
		const char *got = rocksdb_iter_value(it, &length);

		if (key != next) {
			fprintf(stderr, "rocks: key %" PRIu64 " is lost\n", next);
			return 1;
		}
		fill_value(key, value);
		if (length != sizeof(value) || memcmp(got, value, length)) {
			fprintf(stderr, "rocks: key %" PRIu64 " has a wrong value\n", key);
			return 1;
		}
	}
	rocksdb_iter_get_error(it, &error);
	check(error);
	if (next <= last) {
		fprintf(stderr, "rocks: %" PRIu64 " keys, %" PRIu64 " were acknowledged\n", next, last + 1);
		return 1;
	}
	printf("%" PRIu64 "\n", next - 1);
	/* not closed: the database is left as after a crash */
	fflush(stdout);
	_Exit(0);
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "put"))
		put(argv[2], strtoull(argv[3], NULL, 10));
	if (argc == 4 && !strcmp(argv[1], "verify"))
		return verify(argv[2], strtoull(argv[3], NULL, 10));
	fprintf(stderr, "usage: rocks put DIR FIRST | verify DIR LAST\n");
	return 2;
}
