/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KVP_CACHE_CLIENT_TABLE_H
#define KVP_CACHE_CLIENT_TABLE_H

#include "core/cache_client.h"

/** kvp_cache_client_calls - the SSD cache as a client of the floors below it */
extern const struct kvp_cache_client kvp_cache_client_calls;

#endif /* KVP_CACHE_CLIENT_TABLE_H */
