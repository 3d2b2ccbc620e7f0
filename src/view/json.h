/* SPDX-License-Identifier: Apache-2.0 */
/* Writing JSON: commas, escapes and nothing else. Write errors stay in the stream (ferror). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct json {
	FILE *to;
	bool comma;	/* the next value follows another one */
	bool in_markup; /* within a script element: no text holds a '<' as it is, which ends one */
};

/*
 * Each function that takes @key writes a member of the object that is open; NULL: an element of an
 * array, or the whole document.
 */
void json_open(struct json *json, const char *key, char bracket); /* '{' or '[' */
void json_close(struct json *json, char bracket);		  /* '}' or ']' */
void json_number(struct json *json, const char *key, uint64_t value);
/* @whole and @millionths of one, below 1000000. */
void json_decimal(struct json *json, const char *key, uint64_t whole, unsigned millionths);
/* Nine digits; what is no number is null. */
void json_real(struct json *json, const char *key, double value);
void json_true(struct json *json, const char *key);
void json_bool(struct json *json, const char *key, bool value);
void json_null(struct json *json, const char *key);

/* An array of @nr: @element is the call that writes the one numbered i. */
#define JSON_ARRAY(json, key, nr, element)        \
	do {                                      \
		json_open(json, key, '[');        \
		for (size_t i = 0; i < (nr); i++) \
			element;                  \
		json_close(json, ']');            \
	} while (0)

/* An array of @nr numbers: @value is the one numbered i. */
#define JSON_COLUMN(json, key, nr, value) JSON_ARRAY(json, key, nr, json_number(json, NULL, value))

/* The caller writes an element of the open array to json->to next. */
void json_next(struct json *json);

/* "0x..." in a string: a kernel address is beyond the integers many JSON readers keep exactly. */
void json_address(struct json *json, const char *key, uint64_t addr);

/*
 * A string: quotes, backslashes and unseen characters (text_is_unseen) as JSON escapes, so that the
 * value is the same. A byte of invalid UTF-8 has no place in JSON and becomes the four characters
 * \xHH.
 */
void json_string(struct json *json, const char *key, const char *text);
