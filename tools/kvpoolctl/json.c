// SPDX-License-Identifier: GPL-2.0-only
/* Small helpers around json-c. */
#include <stdlib.h>
#include <string.h>

#include "ctl.h"

json_object *json_root(void)
{
	json_object *o = json_object_new_object();

	json_number(o, "version", JSON_VERSION);
	return o;
}

void ctl_json(json_object *obj)
{
	puts(json_object_to_json_string_ext(obj, JSON_C_TO_STRING_PLAIN |
					    JSON_C_TO_STRING_NOSLASHESCAPE));
	fflush(stdout);
	json_object_put(obj);
}

/* json-c escapes quotes and controls, and takes the text for UTF-8. */
json_object *json_string(const char *text)
{
	char *copy = strdup(text);
	json_object *o;

	if (!copy)
		abort();
	o = json_object_new_string(text_clean(copy, "\n\t"));
	free(copy);
	return o;
}

void json_text(json_object *o, const char *key, const char *value)
{
	json_object_object_add(o, key, value ? json_string(value) : NULL);
}

void json_number(json_object *o, const char *key, u64 value)
{
	json_object_object_add(o, key, json_object_new_uint64(value));
}

void json_flag(json_object *o, const char *key, bool value)
{
	json_object_object_add(o, key, json_object_new_boolean(value));
}

void json_time(json_object *o, const char *key, u64 seconds)
{
	char buf[TIME_BUF];

	json_text(o, key, seconds ? time_print(seconds, buf) : NULL);
}

json_object *json_child(json_object *o, const char *key)
{
	json_object *child = json_object_new_object();

	json_object_object_add(o, key, child);
	return child;
}

json_object *json_list(json_object *o, const char *key)
{
	json_object *list = json_object_new_array();

	json_object_object_add(o, key, list);
	return list;
}

json_object *json_item(json_object *list)
{
	json_object *o = json_object_new_object();

	json_object_array_add(list, o);
	return o;
}

json_object *json_at(json_object *o, const char *path)
{
	char key[64];
	size_t n;

	while (o && *path) {
		n = strcspn(path, ".");
		snprintf(key, sizeof(key), "%.*s", (int)n, path);
		if (!json_object_object_get_ex(o, key, &o))
			return NULL;
		path += n + (path[n] == '.');
	}
	return o;
}

const char *json_text_at(json_object *o, const char *path)
{
	o = json_at(o, path);
	return o ? json_object_get_string(o) : "-";
}

u64 json_number_at(json_object *o, const char *path)
{
	o = json_at(o, path);
	return o ? json_object_get_uint64(o) : 0;
}

bool json_flag_at(json_object *o, const char *path)
{
	o = json_at(o, path);
	return o && json_object_get_boolean(o);
}

void json_redundancy(json_object *plan, int before, int after)
{
	json_object *o = json_child(plan, "redundancy");

	json_object_object_add(o, "before", before < 0 ? NULL : json_object_new_int(before));
	json_object_object_add(o, "after", after < 0 ? NULL : json_object_new_int(after));
}

void json_error(json_object *o, const struct err *err)
{
	json_text(o, "code", err_word(err->code));
	json_text(o, "what", err->what);
	json_text(o, "why", err->why);
	json_text(o, "mend", err->mend);
}
