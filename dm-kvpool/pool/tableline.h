/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Parse a table line: UUID, options, vdevs with their legs, as in docs/dm-interface.md. Any caller
 * of device-mapper may have written it. A number that does not fit is refused, never wrapped.
 * Nothing is read behind the last word. No I/O; devices are opened by the caller's function.
 */
#ifndef KVP_TABLELINE_H
#define KVP_TABLELINE_H

#include "pool/pool.h"

struct kvp_line {
	unsigned int argc;
	char **argv;			/* the words that are left to parse; they are changed */
	const char *error;		/* the error, for ti->error; lives on */
	struct kvp_refusal *refusal;	/* the same, with more detail if there is any */
	/* Open leg @leg of @s, which is not missing, or KVP_SHADOW. 0 or -errno, with error set. */
	int (*open)(struct kvp_line *line, struct kvp_start *s, u32 leg, const char *path);
};

/**
 * kvp_line_parse() - parse @line into @s, which is all zeros but for pool_blocks
 *
 * Return: 0, or -errno with @line->error. Context: process, and that of @line->open.
 */
int __must_check kvp_line_parse(struct kvp_line *line, struct kvp_start *s);

/** kvp_name_valid() - a letter, then up to 63 letters, digits, '_', '.', '-': a pool's name */
bool kvp_name_valid(const char *name);

#endif /* KVP_TABLELINE_H */
