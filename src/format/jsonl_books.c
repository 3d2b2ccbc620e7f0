/* SPDX-License-Identifier: Apache-2.0 */
#include "format/jsonl_books.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

/* Numbers are found by walking their list: more than ours has a reader pay for their square. */
enum { NUMBERS_MAX = 4096, KEY_MAX = 512, NAME_LENGTH_MAX = 120, DEPTH_MAX = 8 };

/* A container that is open. */
struct level {
	json_object *list;		     /* NULL: an object */
	struct json_object_iterator at, end; /* of an object */
	size_t idx;			     /* of a list */
	size_t key_length;		     /* of the key that leads to it */
};

struct books {
	struct reading *reading;
	char key[KEY_MAX];
	struct level levels[DEPTH_MAX];
	size_t depth;
};

/* Is it a field of the recording itself? Only at the top. */
static bool is_field(const char *key)
{
	static const char *const fields[] = { "type",	     "format", "event",	      "hz",
					      "period_ns",   "period", "weight_type", "weight_unit",
					      "duration_ms", "cpus",   "sources" };

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (!strcmp(key, fields[i]))
			return true;
	return false;
}

/* The key of a member called @name behind the first @length bytes of the key at hand. */
static void set_key(struct books *books, size_t length, const char *name)
{
	int size = snprintf(books->key + length, sizeof(books->key) - length, "%s%s",
			    length ? "." : "", name);

	if (size < 0 || length + (size_t)size + 3 > sizeof(books->key) || strchr(name, '.') ||
	    strchr(name, '[') || !*name || strlen(name) > NAME_LENGTH_MAX)
		reading_fail(books->reading, "the books hold an empty, dotted or too long name");
}

static void add_value(struct books *books, json_object *value)
{
	struct reading *reading = books->reading;
	struct recording *recording = reading->recording;
	AUTO_FREE char *text = NULL;

	if (recording->nr_numbers >= NUMBERS_MAX) {
		reading_fail(reading, "the books hold more than %d numbers", NUMBERS_MAX);
	} else if (!value || json_object_is_type(value, json_type_string)) {
		text = jsonl_text_of(reading, books->key, value);
		if (text && !*text)
			reading_fail(reading, "the books hold an empty text");
		must_set_note(recording, books->key, text);
	} else {
		must_add_number(recording, books->key,
				jsonl_whole(reading, books->key, value, UINT64_MAX));
	}
}

static void open_level(struct books *books, json_object *value)
{
	struct level *level;

	if (books->depth == DEPTH_MAX) {
		reading_fail(books->reading, "the books are too deep");
		return;
	}
	level = &books->levels[books->depth++];
	*level = (struct level){ 0 };
	if (json_object_is_type(value, json_type_array)) {
		level->list = value;
		memcpy(books->key + strlen(books->key), "[]", 3); /* set_key leaves room */
		must_add_number(books->reading->recording, books->key, 0);
	} else {
		level->at = json_object_iter_begin(value);
		level->end = json_object_iter_end(value);
	}
	level->key_length = strlen(books->key);
}

/* The next member of the innermost container; false: it has no more. */
static bool next_member(struct level *level, char name[static 24], const char **ret_name,
			json_object **ret)
{
	if (level->list) {
		if (level->idx == json_object_array_length(level->list))
			return false;
		snprintf(name, 24, "%zu", level->idx);
		*ret_name = name;
		*ret = json_object_array_get_idx(level->list, level->idx++);
		return true;
	}
	if (json_object_iter_equal(&level->at, &level->end))
		return false;
	*ret_name = json_object_iter_peek_name(&level->at);
	*ret = json_object_iter_peek_value(&level->at);
	json_object_iter_next(&level->at);
	return true;
}

void jsonl_books_read(struct reading *reading, json_object *object)
{
	struct books books = { .reading = reading };

	open_level(&books, object);
	while (!reading->error && books.depth) {
		struct level *level = &books.levels[books.depth - 1];
		char buf[24];
		const char *name;
		json_object *value;

		if (!next_member(level, buf, &name, &value)) {
			books.depth--;
			continue;
		}
		if (books.depth == 1 && is_field(name))
			continue;
		set_key(&books, level->key_length, name);
		if (reading->error)
			break;
		if (json_object_is_type(value, json_type_object) ||
		    json_object_is_type(value, json_type_array))
			open_level(&books, value);
		else
			add_value(&books, value);
	}
}
