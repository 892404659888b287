/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in: bytes of any value, also where char is signed. */
#ifndef SIM_LINUX_CTYPE_H
#define SIM_LINUX_CTYPE_H

#define isascii(c)	(((unsigned char)(c)) <= 0x7f)
#define isdigit(c)	((c) >= '0' && (c) <= '9')
#define isalpha(c)	(((c) >= 'a' && (c) <= 'z') || ((c) >= 'A' && (c) <= 'Z'))
#define isalnum(c)	(isalpha(c) || isdigit(c))

#endif
