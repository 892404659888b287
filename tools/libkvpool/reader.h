/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A process that reads a device for this one. A device may hang at any time, and a process that
 * waits for it cannot even be killed. So this process never waits in a request, but for an answer
 * of the reader, and gives that up (watched.h).
 */
#ifndef KVPOOLCTL_READER_H
#define KVPOOLCTL_READER_H

#include "device.h"

struct reader;

/**
 * reader_start() - open a device in a process of its own, and read its first and last block
 * @d: its properties, with @reader
 *
 * Return: 0; or -1 with @err. *@hangs: it has not answered in @device_patience.
 */
int reader_start(const char *path, bool allow_file, struct device *d, bool *hangs, struct err *err);

/**
 * reader_read() - as device_read()
 *
 * -ETIMEDOUT if the device hangs: then each further read ends with that, too, and at once.
 */
int reader_read(struct reader *r, u64 block, u32 count, void *buf);

/** reader_hangs() - has it been given up? */
bool reader_hangs(const struct reader *r);

/** reader_stop() - end it; one that hangs ends when its device answers */
void reader_stop(struct reader *r);

#endif
