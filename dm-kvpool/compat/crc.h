/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KVP_CRC_H
#define KVP_CRC_H

int kvp_crc_init(void);
void kvp_crc_exit(void);

#endif /* KVP_CRC_H */
