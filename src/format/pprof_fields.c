/* SPDX-License-Identifier: Apache-2.0 */
#include "format/pprof_fields.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "pprof.pb-c.h"

/* A tag of 32 bits and a length of 64, as varints. */
#define HEADER_MAX 15u

/* Protocol buffers, "wire types": bytes with their length before them. */
#define WIRE_LENGTH_DELIMITED 2u

void pprof_fields_init(struct pprof_fields *fields, FILE *to, const struct recording *recording)
{
	*fields = (struct pprof_fields){ .recording = recording };
	strings_init(&fields->words);
	gzip_members_init(&fields->members, to);
	fields->texts = must_calloc(recording->strings.nr, sizeof(*fields->texts));
}

void pprof_fields_fini(struct pprof_fields *fields)
{
	gzip_members_fini(&fields->members);
	strings_fini(&fields->words);
	free(fields->texts);
	vector_fini(&fields->word_ids);
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

static void commit(struct pprof_fields *fields, size_t size)
{
	gzip_members_commit(&fields->members, size);
	fields->bytes += size;
}

void pprof_fields_message(struct pprof_fields *fields, unsigned number,
			  const ProtobufCMessage *message)
{
	size_t size = protobuf_c_message_get_packed_size(message), header = 0;
	unsigned char *to = gzip_members_reserve(&fields->members, HEADER_MAX + size);

	if (number)
		header = put_header(to, number, size);
	commit(fields, header + protobuf_c_message_pack(message, to + header));
}

static void put_string(struct pprof_fields *fields, const char *text)
{
	size_t size = strlen(text);
	unsigned char *to = gzip_members_reserve(&fields->members, HEADER_MAX + size);
	size_t header = put_header(to, PPROF_FIELD_STRING, size);

	memcpy(to + header, text, size);
	commit(fields, header + size);
}

static bool is_utf8(const char *text)
{
	size_t length = 1;

	for (; *text && length; text += length)
		length = text_utf8_length(text);
	return length;
}

/* A string must be UTF-8. Other bytes are shown escaped, and kept as bytes. */
static void put_raw(struct pprof_fields *fields, const char *text)
{
	size_t size = text_escape(NULL, 0, text, "") + 1;
	AUTO_FREE char *escaped = must_malloc(size);
	Pprof__RawText raw = PPROF__RAW_TEXT__INIT;

	text_escape(escaped, size, text, "");
	raw.index = fields->nr;
	raw.bytes.data = (unsigned char *)(uintptr_t)text;
	raw.bytes.len = strlen(text);
	put_string(fields, escaped);
	pprof_fields_message(fields, PPROF_FIELD_RAW_TEXT, &raw.base);
}

static int64_t put_text(struct pprof_fields *fields, const char *text)
{
	if (is_utf8(text))
		put_string(fields, text);
	else
		put_raw(fields, text);
	return fields->nr++;
}

/* string_table[0] has to be the empty one. */
static void put_empty(struct pprof_fields *fields)
{
	if (!fields->nr)
		put_text(fields, "");
}

int64_t pprof_fields_text(struct pprof_fields *fields, uint32_t text)
{
	put_empty(fields);
	if (text && !fields->texts[text])
		fields->texts[text] = put_text(fields, recording_string(fields->recording, text));
	return fields->texts[text];
}

int64_t pprof_fields_word(struct pprof_fields *fields, const char *word)
{
	uint32_t id = must_strings_intern(&fields->words, word);

	put_empty(fields);
	if (id == fields->word_ids.nr)
		must_push(&fields->word_ids, put_text(fields, word));
	return fields->word_ids.list[id];
}
