// SPDX-License-Identifier: GPL-2.0-only
#include <stdarg.h>
#include <stdio.h>

#include "format/format.h"
#include "order_plan.h"

json_object *order_plan(const struct dm_entry *e, const char *action, json_object **root)
{
	json_object *plan;

	*root = json_root();
	plan = json_child(*root, "plan");
	json_text(plan, "action", action);
	json_text(plan, "pool", e->name);
	json_text(plan, "uuid", e->uuid);
	return plan;
}

int order_plan_print(struct ctl *ctl, json_object *root, const char *format, ...)
{
	va_list ap;

	if (ctl->json) {
		ctl_json(root);
		return EXIT_DONE;
	}
	va_start(ap, format);
	vprintf(format, ap);
	va_end(ap);
	json_object_put(root);
	return EXIT_DONE;
}

int order_writable(const struct dm_entry *e, struct err *err)
{
	return !e->readonly ? 0 :
	       err_set(err, ERR_READ_ONLY, e->name, "export it and import it without --readonly",
		       "it was imported read-only");
}

const char *order_state(const struct stats *s, const char *work)
{
	return stats_text(s, "%s.state", work) ?: "none";
}

const char *order_bytes(const struct ctl *ctl, u64 blocks, char buf[SIZE_BUF])
{
	return ctl_size(ctl, blocks << KVP_BLOCK_SHIFT, buf);
}
