/* SPDX-License-Identifier: Apache-2.0 */
#include "format/pprof_read.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/cursor.h"
#include "pprof.pb-c.h"
#include "format/arena.h"
#include "format/pprof_fields.h"
#include "format/pprof_input.h"
#include "format/pprof_meta.h"
#include "format/pprof_samples.h"
#include "format/pprof_tables.h"
#include "format/pprof_values.h"

/* The purpose of a pass over the file. */
enum pass {
	PASS_TABLES, /* what samples refer to; of a file of fpless, which has it first, samples, too
		      */
	PASS_SAMPLES,
};

struct reader {
	const char *name;
	const struct pprof_read_options *options;
	struct recording *recording;
	uint64_t memory;
	struct pprof_tables tables;
	struct pprof_values values;
	struct pprof_samples samples;
	struct arena arena;
	struct pprof_meta meta;
	uint64_t text_bytes; /* of all texts, equal ones too */
	uint64_t rest_bytes; /* of all fields that are no texts: what refers to texts is there */
	uint64_t nr_samples; /* met in this pass */
	enum pass pass;
	bool adding; /* what samples mean is known: they are added as they come */
};

static void reader_fini(struct reader *reader)
{
	pprof_tables_fini(&reader->tables);
	pprof_samples_fini(&reader->samples);
	pprof_meta_fini(&reader->meta);
	arena_fini(&reader->arena);
}

/* Is there room for what was added? */
static int check_memory(const struct reader *reader, struct fpl_err *err)
{
	size_t bytes = recording_bytes(reader->recording) + pprof_tables_bytes(&reader->tables) +
		       pprof_samples_bytes(&reader->samples) + reader->arena.bytes;

	if (bytes <= reader->memory)
		return 0;
	return fpl_fail(err, -E2BIG,
			"%s: more distinct stacks and names than %" PRIu64
			" MiB have room for, after %" PRIu64 " samples",
			reader->name, reader->memory >> 20, reader->nr_samples);
}

/* Beyond so many a table has to make sense. */
#define NONSENSE_MIN ((size_t)1 << 20)
/* One in so many texts of a table must differ from all before it: writers keep each once. */
#define NONSENSE_TEXTS_ALIKE 16u
/* The same of bytes, beyond so many: long texts need not be a million. */
#define NONSENSE_TEXT_BYTES ((uint64_t)64 << 20)
/* To refer to a text behind the first million takes 3 bytes, or 4 where the number has a tag. */
#define NONSENSE_REFERENCE 3u

/*
 * Are there texts that are nearly all alike, or that nothing refers to? Writers put a text behind
 * what refers to it, or just before.
 */
static const char *texts_of_nothing(const struct reader *reader)
{
	const struct strings *distinct = &reader->recording->strings;
	size_t nr = reader->tables.texts.nr;

	if ((nr > NONSENSE_MIN && nr / NONSENSE_TEXTS_ALIKE > distinct->nr) ||
	    (reader->text_bytes > NONSENSE_TEXT_BYTES &&
	     reader->text_bytes / NONSENSE_TEXTS_ALIKE > distinct->bytes))
		return "a million texts and more, or 64 MiB of them, nearly all alike";
	if (nr > NONSENSE_MIN && nr - NONSENSE_MIN > reader->rest_bytes / NONSENSE_REFERENCE)
		return "a million texts and more that nothing before them refers to";
	return NULL;
}

/* Are there tables of nothing? They cost little to make, packed even less, and much to read. */
static int check_sense(const struct reader *reader, const struct pprof_input *input,
		       struct fpl_err *err)
{
	const struct pprof_tables *tables = &reader->tables;
	const char *texts = texts_of_nothing(reader);

	if (texts)
		return pprof_input_fail(input, texts, err);
	if (tables->duplicate > NONSENSE_MIN)
		return pprof_input_fail(
			input, "more than a million entries without an id of their own", err);
	if (reader->meta.comments.nr > NONSENSE_MIN)
		return pprof_input_fail(input, "more than a million comments", err);
	return 0;
}

/* libprotobuf-c takes no size of 0 with NULL. */
static ProtobufCMessage *unpack(struct reader *reader, const ProtobufCMessageDescriptor *what,
				const struct pprof_field *field)
{
	arena_reset(&reader->arena);
	return protobuf_c_message_unpack(what, &reader->arena.allocator, field->size,
					 field->size ? field->bytes : (const uint8_t *)"");
}

/* The description of the run is read first: the meaning of samples depends on it. */
static int begin_samples(struct reader *reader, struct fpl_err *err)
{
	int error;

	pprof_meta_apply(&reader->meta, &reader->tables);
	error = pprof_values_choose(&reader->values, &reader->tables, reader->options->sample_type,
				    err);
	if (error)
		return fpl_fail_in(err, error, "%s", reader->name);
	reader->adding = true;
	return 0;
}

static int add_sample(struct reader *reader, const struct pprof_input *input,
		      const struct pprof_field *field, struct fpl_err *err)
{
	const Pprof__Sample *sample;
	int error = 0;

	reader->nr_samples++;
	if (!reader->adding && reader->nr_samples == 1 &&
	    pprof_meta_is_own(&reader->meta, &reader->tables))
		error = begin_samples(reader, err);
	if (error || !reader->adding)
		return error;
	sample = (const Pprof__Sample *)unpack(reader, &pprof__sample__descriptor, field);
	if (!sample)
		return pprof_input_fail(input, "a sample that is no message", err);
	error = pprof_samples_add(&reader->samples, sample, err);
	return error ? fpl_fail_in(err, error, "%s", reader->name) : 0;
}

static struct pprof_type type_of(const Pprof__ValueType *type)
{
	return (struct pprof_type){ .type = type->type, .unit = type->unit };
}

static int add_type(struct reader *reader, const Pprof__ValueType *type,
		    const struct pprof_input *input, struct fpl_err *err)
{
	struct pprof_values *values = &reader->values;

	if (values->nr == PPROF_TYPES_MAX)
		return pprof_input_fail(input, "more than 64 sample types", err);
	values->types[values->nr++] = type_of(type);
	return 0;
}

/* A field that is a message of its own, but no sample. */
static int add_message(struct reader *reader, const struct pprof_input *input,
		       const struct pprof_field *field, struct fpl_err *err)
{
	static const struct {
		unsigned number;
		const ProtobufCMessageDescriptor *what;
	} kinds[] = {
		{ PPROF_FIELD_SAMPLE_TYPE, &pprof__value_type__descriptor },
		{ PPROF_FIELD_MAPPING, &pprof__mapping__descriptor },
		{ PPROF_FIELD_LOCATION, &pprof__location__descriptor },
		{ PPROF_FIELD_FUNCTION, &pprof__function__descriptor },
		{ PPROF_FIELD_PERIOD_TYPE, &pprof__value_type__descriptor },
		{ PPROF_FIELD_RAW_TEXT, &pprof__raw_text__descriptor },
	};
	size_t i = 0;

	while (i < ARRAY_SIZE(kinds) && kinds[i].number != field->number)
		i++;
	if (i == ARRAY_SIZE(kinds))
		return 0;

	const ProtobufCMessage *message = unpack(reader, kinds[i].what, field);
	struct pprof_tables *tables = &reader->tables;
	const Pprof__RawText *raw;

	if (!message)
		return pprof_input_fail(input, "a part of a profile that is no message", err);
	switch (field->number) {
	case PPROF_FIELD_SAMPLE_TYPE:
		return add_type(reader, (const Pprof__ValueType *)message, input, err);
	case PPROF_FIELD_PERIOD_TYPE:
		reader->values.period_type = type_of((const Pprof__ValueType *)message);
		break;
	case PPROF_FIELD_MAPPING:
		pprof_tables_add_mapping(tables, (const Pprof__Mapping *)message);
		break;
	case PPROF_FIELD_LOCATION:
		pprof_tables_add_location(tables, (const Pprof__Location *)message);
		break;
	case PPROF_FIELD_FUNCTION:
		pprof_tables_add_function(tables, (const Pprof__Function *)message);
		break;
	default:
		raw = (const Pprof__RawText *)message;
		pprof_tables_set_text(tables, raw->index, raw->bytes.data, raw->bytes.len);
	}
	return 0;
}

static void add_number(struct reader *reader, const struct pprof_field *field)
{
	switch (field->number) {
	case PPROF_FIELD_TIME:
		reader->meta.start_unix_ns = field->value;
		break;
	case PPROF_FIELD_DURATION:
		reader->meta.duration_ns = field->value;
		break;
	case PPROF_FIELD_PERIOD:
		reader->values.period = (int64_t)field->value;
		break;
	case PPROF_FIELD_DEFAULT_TYPE:
		reader->values.default_type = (int64_t)field->value;
		break;
	default:
		break;
	}
}

static int add_field(struct reader *reader, const struct pprof_input *input,
		     const struct pprof_field *field, struct fpl_err *err)
{
	bool is_text = field->number == PPROF_FIELD_STRING && field->is_bytes;

	if (field->number == PPROF_FIELD_SAMPLE && field->is_bytes)
		return add_sample(reader, input, field, err);
	if (reader->pass != PASS_TABLES)
		return 0;
	*(is_text ? &reader->text_bytes : &reader->rest_bytes) += field->size;
	if (is_text)
		pprof_tables_add_text(&reader->tables, field->bytes, field->size);
	else if (field->number == PPROF_FIELD_COMMENT)
		pprof_meta_add_comment(&reader->meta, field);
	else if (field->is_bytes)
		return add_message(reader, input, field, err);
	else
		add_number(reader, field);
	return 0;
}

/* Read the file once. */
static int read_pass(struct reader *reader, int fd, enum pass pass, struct fpl_err *err)
{
	CLEANUP(pprof_input_fini) struct pprof_input input = { .buffer = NULL };
	struct pprof_field field;
	bool end = false;
	int error = 0;

	pprof_input_init(&input, reader->name, fd);
	reader->pass = pass;
	reader->nr_samples = 0;
	for (uint64_t i = 0; !error && !end; i++) {
		error = pprof_input_next(&input, &field, &end, err);
		if (!error && !end)
			error = add_field(reader, &input, &field, err);
		if (!error && i % 64 == 0)
			error = check_memory(reader, err);
		if (!error && i % 64 == 0)
			error = check_sense(reader, &input, err);
	}
	return error ? error : check_memory(reader, err);
}

static int read_all(struct reader *reader, int fd, struct fpl_err *err)
{
	struct recording *recording = reader->recording;
	off_t start = lseek(fd, 0, SEEK_CUR);
	int error = read_pass(reader, fd, PASS_TABLES, err);

	if (!error && !reader->adding) {
		error = begin_samples(reader, err);
		if (!error && lseek(fd, start, SEEK_SET) < 0)
			error = fpl_fail(err, -errno, "%s: %s", reader->name, strerror(errno));
		if (!error)
			error = read_pass(reader, fd, PASS_SAMPLES, err);
	}
	if (error)
		return error;
	/* the books are about samples */
	if (reader->tables.own && reader->values.count != 0)
		recording->nr_numbers = 0;
	if (!recording->nr_sources)
		recording->period = reader->values.weight_period;
	/* what fpless wrote has none where the source is no clock */
	if (!recording->hz && recording_period_ns(recording) &&
	    !(reader->tables.own && recording->weight_type))
		recording->hz = (1000000000 + recording->period / 2) / recording->period;
	if (!recording->event && !reader->tables.own)
		recording->event =
			pprof_tables_text(&reader->tables, reader->values.period_type.type);
	recording_sort_events(recording);
	return 0;
}

int pprof_read(const char *name, int fd, const struct pprof_read_options *options,
	       struct recording *ret, struct pprof_remarks *remarks, struct fpl_err *err)
{
	CLEANUP(reader_fini)
	struct reader reader = {
		.name = name,
		.options = options,
		.recording = ret,
		.memory = options->memory ? options->memory : PPROF_READ_MEMORY,
	};
	int error;

	arena_init(&reader.arena);
	pprof_tables_init(&reader.tables, ret);
	pprof_samples_init(&reader.samples, &reader.tables, &reader.values, options->events);
	error = read_all(&reader, fd, err);
	if (remarks)
		*remarks = (struct pprof_remarks){
			.own = reader.tables.own,
			.negative = reader.samples.negative,
			.cut = reader.samples.cut,
			.dangling = reader.tables.dangling,
			.duplicate = reader.tables.duplicate,
		};
	return error;
}

/* Behind the numbers of the run, which Go has first. */
static struct cursor behind_numbers(const unsigned char *bytes, size_t size)
{
	struct cursor at = cursor_make(bytes, size);

	for (struct cursor next = at; !next.bad; at = next) {
		uint64_t tag = cursor_uleb(&next);

		if (tag != PPROF_FIELD_TIME << 3 && tag != PPROF_FIELD_DURATION << 3 &&
		    tag != PPROF_FIELD_PERIOD << 3)
			break;
		(void)cursor_uleb(&next);
	}
	return at;
}

bool pprof_looks_like(const unsigned char *bytes, size_t size)
{
	if (size >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b)
		return true; /* gzip */

	struct cursor at = behind_numbers(bytes, size);
	uint64_t tag = cursor_uleb(&at), length = cursor_uleb(&at);

	/* field 6, the empty text, as fpless has it first */
	if (tag == (PPROF_FIELD_STRING << 3 | 2) && !length)
		return !at.bad;
	/* a type, as others do: field 1 or 2 of it is a number */
	if (tag != (PPROF_FIELD_SAMPLE_TYPE << 3 | 2) && tag != (PPROF_FIELD_PERIOD_TYPE << 3 | 2))
		return false;
	tag = cursor_uleb(&at);
	return !at.bad && length <= 24 && (tag == 1 << 3 || tag == 2 << 3);
}
