// SPDX-License-Identifier: GPL-2.0-only
#include <linux/audit.h>
#include <linux/cred.h>
#include <linux/kernel.h>
#include <linux/sched.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>

#include "target/who.h"

const char *kvp_who(char buf[KVP_EVENT_BY])
{
	kuid_t login = audit_get_loginuid(current);
	int n = scnprintf(buf, KVP_EVENT_BY, " uid=%u", from_kuid(&init_user_ns, current_uid()));

	if (uid_valid(login))
		scnprintf(buf + n, KVP_EVENT_BY - n, " login=%u", from_kuid(&init_user_ns, login));
	return buf;
}
