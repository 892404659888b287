/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KVP_IO_BIO_H
#define KVP_IO_BIO_H

int kvp_io_bio_init(void);
void kvp_io_bio_exit(void);

#endif /* KVP_IO_BIO_H */
