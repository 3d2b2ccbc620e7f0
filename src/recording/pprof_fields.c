/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/pprof_fields.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "pprof.pb-c.h"

/* A tag of 32 bits and a length of 64, as varints. */
#define HEADER_MAX 15u

/* Protocol buffers, "wire types": bytes with their length before them. */
#define WIRE_LENGTH_DELIMITED 2u

int pprof_fields_init(struct pprof_fields *fields, FILE *to, const struct recording *recording,
		      struct fpl_err *err)
{
	*fields = (struct pprof_fields){ .recording = recording };
	strings_init(&fields->words);

	int error = gzip_members_init(&fields->members, to, err);

	if (error)
		return error;
	fields->texts = calloc(recording->strings.nr + 1, sizeof(*fields->texts));
	return fields->texts ? 0 : fpl_fail(err, -ENOMEM, "out of memory");
}

void pprof_fields_fini(struct pprof_fields *fields)
{
	gzip_members_fini(&fields->members);
	strings_fini(&fields->words);
	free(fields->texts);
	free(fields->word_ids);
	*fields = (struct pprof_fields){ 0 };
}

static size_t put_varint(unsigned char *to, uint64_t value)
{
	size_t size = 0;

	for (; value > 0x7f; value >>= 7)
		to[size++] = (unsigned char)(value | 0x80);
	to[size++] = (unsigned char)value;
	return size;
}

static size_t put_header(unsigned char *to, unsigned number, size_t size)
{
	size_t used = put_varint(to, number << 3 | WIRE_LENGTH_DELIMITED);

	return used + put_varint(to + used, size);
}

int pprof_fields_message(struct pprof_fields *fields, unsigned number,
			 const ProtobufCMessage *message, struct fpl_err *err)
{
	size_t size = protobuf_c_message_get_packed_size(message), header = 0;
	unsigned char *to = gzip_members_reserve(&fields->members, HEADER_MAX + size);

	if (!to)
		return fpl_fail(err, -ENOMEM, "out of memory");
	if (number)
		header = put_header(to, number, size);
	return gzip_members_commit(&fields->members,
				   header + protobuf_c_message_pack(message, to + header), err);
}

static int put_string(struct pprof_fields *fields, const char *text, struct fpl_err *err)
{
	size_t size = strlen(text);
	unsigned char *to = gzip_members_reserve(&fields->members, HEADER_MAX + size);

	if (!to)
		return fpl_fail(err, -ENOMEM, "out of memory");

	size_t header = put_header(to, PPROF_FIELD_STRING, size);

	memcpy(to + header, text, size);
	return gzip_members_commit(&fields->members, header + size, err);
}

static bool is_utf8(const char *text)
{
	size_t length = 1;

	for (; *text && length; text += length)
		length = text_utf8_length(text);
	return length;
}

/* What is no UTF-8 may not be a string: it is shown escaped, and kept as bytes. */
static int put_raw(struct pprof_fields *fields, const char *text, struct fpl_err *err)
{
	size_t size = text_escape(NULL, 0, text, "") + 1;
	AUTO_FREE char *escaped = malloc(size);
	Pprof__RawText raw = PPROF__RAW_TEXT__INIT;

	if (!escaped)
		return fpl_fail(err, -ENOMEM, "out of memory");
	text_escape(escaped, size, text, "");
	raw.index = fields->nr;
	raw.bytes.data = (unsigned char *)(uintptr_t)text;
	raw.bytes.len = strlen(text);

	int error = put_string(fields, escaped, err);

	return error ? error : pprof_fields_message(fields, PPROF_FIELD_RAW_TEXT, &raw.base, err);
}

static int put_text(struct pprof_fields *fields, const char *text, int64_t *ret,
		    struct fpl_err *err)
{
	int error = is_utf8(text) ? put_string(fields, text, err) : put_raw(fields, text, err);

	if (!error)
		*ret = fields->nr++;
	return error;
}

/* string_table[0] has to be the empty one. */
static int put_empty(struct pprof_fields *fields, struct fpl_err *err)
{
	int64_t none;

	return fields->nr ? 0 : put_text(fields, "", &none, err);
}

int pprof_fields_text(struct pprof_fields *fields, uint32_t text, int64_t *ret, struct fpl_err *err)
{
	int error = put_empty(fields, err);

	if (!error && text && !fields->texts[text])
		error = put_text(fields, recording_string(fields->recording, text),
				 &fields->texts[text], err);
	if (!error)
		*ret = fields->texts[text];
	return error;
}

int pprof_fields_word(struct pprof_fields *fields, const char *word, int64_t *ret,
		      struct fpl_err *err)
{
	int error = put_empty(fields, err);
	uint32_t id;

	if (error)
		return error;
	if (strings_intern(&fields->words, word, &id))
		return fpl_fail(err, -ENOMEM, "out of memory");
	if (id == fields->nr_words) {
		if (id == fields->room_words) {
			size_t room = 2 * fields->room_words + 64;
			int64_t *bigger = reallocarray(fields->word_ids, room, sizeof(*bigger));

			if (!bigger)
				return fpl_fail(err, -ENOMEM, "out of memory");
			fields->word_ids = bigger;
			fields->room_words = room;
		}
		error = put_text(fields, word, &fields->word_ids[id], err);
		if (error)
			return error;
		fields->nr_words++;
	}
	*ret = fields->word_ids[id];
	return 0;
}
