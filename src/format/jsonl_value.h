/* SPDX-License-Identifier: Apache-2.0 */
/* Members of JSON objects as the readers want them: of the right type and range, or an error. */
#pragma once

#include <json-c/json.h>
#include <stdint.h>

#include "format/reading.h"

/* An unexpected value is an error of @reading; then 0 or NULL is returned. */

/* The whole number @value (of @key, for messages) of at most @max. */
uint64_t jsonl_whole(struct reading *reading, const char *key, json_object *value, uint64_t max);

/* A whole number of at most @max; 0 where @key is absent or null. */
uint64_t jsonl_number(struct reading *reading, json_object *object, const char *key, uint64_t max);
uint32_t jsonl_number32(struct reading *reading, json_object *object, const char *key);

/* A number that is written as the text "0x..."; RECORDING_NO_ADDRESS where it is absent or null. */
uint64_t jsonl_address(struct reading *reading, json_object *object, const char *key);

/*
 * A text (of @key, for messages) with the bytes that JSON has no place for; NULL where it is absent
 * or null. To be freed.
 */
char *jsonl_text_of(struct reading *reading, const char *key, json_object *value);
char *jsonl_text(struct reading *reading, json_object *object, const char *key);

/* The text at @key as one of the recording; 0 where it is absent or null. */
uint32_t jsonl_interned(struct reading *reading, json_object *object, const char *key);
