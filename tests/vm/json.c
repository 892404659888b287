// SPDX-License-Identifier: GPL-2.0-only
/*
 * json PATH [FILE]: the value at PATH (names and numbers with dots between) in the object in FILE,
 * /tmp/out by default. It is printed as JSON; a text without quotes. Tests ask for values often,
 * and an interpreter takes a second to start under emulation.
 */
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_object *child(json_object *of, const char *name)
{
	json_object *v = NULL;
	char *end;
	size_t i;

	if (json_object_is_type(of, json_type_array)) {
		i = strtoul(name, &end, 10);
		if (*end || end == name || i >= json_object_array_length(of))
			return NULL;
		return json_object_array_get_idx(of, i);
	}
	return json_object_object_get_ex(of, name, &v) ? v : NULL;
}

/* Has the object a member @name, even a null? */
static int has(json_object *of, const char *name)
{
	return json_object_is_type(of, json_type_object) ? json_object_object_get_ex(of, name, NULL)
							 : child(of, name) != NULL;
}

int main(int argc, char **argv)
{
	const char *file = argc > 2 ? argv[2] : "/tmp/out";
	json_object *v = json_object_from_file(file);
	char *name;

	if (argc < 2 || !v) {
		fprintf(stderr, "json: %s\n", v ? "no path" : json_util_get_last_err());
		return 1;
	}
	for (name = strtok(argv[1], "."); name; name = strtok(NULL, ".")) {
		if (!has(v, name)) {
			fprintf(stderr, "json: %s has no '%s'\n", file, name);
			return 1;
		}
		v = child(v, name);
	}
	puts(json_object_is_type(v, json_type_string) ? json_object_get_string(v) :
	     json_object_to_json_string_ext(v, JSON_C_TO_STRING_PLAIN |
					    JSON_C_TO_STRING_NOSLASHESCAPE));
	return 0;
}
