/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/rpc.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"

static json_object *must(json_object *object)
{
	alloc_check(!object);
	return object;
}

json_object *rpc_object(void)
{
	return must(json_object_new_object());
}

json_object *rpc_array(void)
{
	return must(json_object_new_array());
}

json_object *rpc_text(const char *text)
{
	return must(json_object_new_string(text));
}

json_object *rpc_bool(bool value)
{
	return must(json_object_new_boolean(value));
}

void rpc_add(json_object *object, const char *key, json_object *value)
{
	alloc_check(json_object_object_add_ex(object, key, value, JSON_C_OBJECT_ADD_CONSTANT_KEY));
}

void rpc_add_text(json_object *object, const char *key, const char *text)
{
	rpc_add(object, key, rpc_text(text));
}

void rpc_add_number(json_object *object, const char *key, int64_t value)
{
	rpc_add(object, key, must(json_object_new_int64(value)));
}

void rpc_append(json_object *array, json_object *value)
{
	alloc_check(json_object_array_add(array, value));
}

const char *rpc_get_text(json_object *value)
{
	const char *text;

	if (!json_object_is_type(value, json_type_string))
		return NULL;
	text = json_object_get_string(value);
	return strlen(text) == (size_t)json_object_get_string_len(value) ? text : NULL;
}

/* json-c takes surrogates and overlong forms as UTF-8. @text has no NUL but that behind it. */
static bool is_utf8(const char *text, size_t size)
{
	const char *end = text + size;
	size_t length;

	for (; text < end; text += length) {
		length = text_utf8_length(text);
		if (!length)
			return false;
	}
	return true;
}

json_object *rpc_parse(const char *text, size_t size, int depth)
{
	struct json_tokener *tokener = json_tokener_new_ex(depth);
	AUTO_FREE char *copy = must_malloc(size + 1);
	json_object *ret;

	alloc_check(!tokener);
	memcpy(copy, text, size);
	copy[size] = '\0';
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
	/* with the NUL: a number ends there */
	ret = strlen(copy) == size && is_utf8(copy, size)
		      ? json_tokener_parse_ex(tokener, copy, (int)size + 1)
		      : NULL;
	if (ret && (json_tokener_get_error(tokener) != json_tokener_success ||
		    json_tokener_get_parse_end(tokener) < size)) {
		json_object_put(ret);
		ret = NULL;
	}
	json_tokener_free(tokener);
	return ret;
}

char *rpc_write(json_object *value, size_t *ret_size)
{
	const char *json = json_object_to_json_string_length(
		value, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, ret_size);

	alloc_check(!json);
	return memcpy(must_malloc(*ret_size + 1), json, *ret_size + 1);
}
