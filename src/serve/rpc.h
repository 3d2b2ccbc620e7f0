/* SPDX-License-Identifier: Apache-2.0 */
/* JSON values of a message: as json-c makes them, but that a lack of memory ends the process. */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline void rpc_cleanup(json_object **object)
{
	json_object_put(*object);
}

json_object *rpc_object(void);
json_object *rpc_array(void);
json_object *rpc_text(const char *text);
json_object *rpc_bool(bool value);

/* Add @value, which is taken over, as @key of @object; @key is static. */
void rpc_add(json_object *object, const char *key, json_object *value);
void rpc_add_text(json_object *object, const char *key, const char *text);
void rpc_add_number(json_object *object, const char *key, int64_t value);

/* Append @value, which is taken over. */
void rpc_append(json_object *array, json_object *value);

/* The text of a string without a NUL, borrowed; NULL: @value is no such string. */
const char *rpc_get_text(json_object *value);

/* Read all of @text [@size] as one value in valid UTF-8, with at most @depth values in each other;
 * NULL: it is not. */
json_object *rpc_parse(const char *text, size_t size, int depth);

/* @value as JSON on one line, to be freed; *ret_size: its bytes. */
char *rpc_write(json_object *value, size_t *ret_size);
