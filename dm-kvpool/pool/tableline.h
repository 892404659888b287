/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Parses a table line: UUID, options, vdevs with their legs, as in docs/dm-interface.md. The line
 * may come from any caller of device-mapper, so it is not trusted. A number that does not fit is
 * refused, never wrapped. The parser does not read behind the last word. It does no I/O; the
 * caller's function opens devices.
 */
#ifndef KVP_TABLELINE_H
#define KVP_TABLELINE_H

#include "pool/pool.h"

struct kvp_refusal;

struct kvp_line {
	unsigned int argc;
	char **argv;			/* words left to parse; the parser changes them */
	const char *error;		/* the error, for ti->error; a constant text */
	struct kvp_refusal *refusal;	/* the same, with more detail if there is any */
	/* Open leg @leg of @s, which is not missing, or KVP_SHADOW. 0, or -errno with error set. */
	int (*open)(struct kvp_line *line, struct kvp_start *s, u32 leg, const char *path);
};

/**
 * kvp_line_parse() - parse @line into @s, which is all zeros except pool_blocks
 *
 * Return: 0, or -errno with @line->error. Context: process, and that of @line->open.
 */
int __must_check kvp_line_parse(struct kvp_line *line, struct kvp_start *s);

/**
 * kvp_name_valid() - true for a pool's name: a letter, then up to 63 letters, digits, '_', '.', '-'
 */
bool kvp_name_valid(const char *name);

#endif /* KVP_TABLELINE_H */
