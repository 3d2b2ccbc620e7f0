/* SPDX-License-Identifier: Apache-2.0 */
#include "format/otlp_write.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/strings.h"
#include "base/text.h"
#include "base/vector.h"
#include "format/gzip_members.h"
#include "otlp.pb-c.h"
#include "recording/sample_type.h"
#include "view/frame_texts.h"

/* The version of the names of attributes. */
#define SCHEMA "https://opentelemetry.io/schemas/1.37.0"

/* A list of messages of a table, and the pointers to them that protobuf-c wants. */
#define TABLE(type)           \
	struct {              \
		type *list;   \
		type **links; \
		size_t nr;    \
	}

struct writer {
	const struct recording *recording;
	struct strings words; /* string_table; its text 0 is "" */
	TABLE(Otlp__Mapping) mappings;
	TABLE(Otlp__Location) locations; /* 1 + the frame of the recording */
	TABLE(Otlp__Function) functions;
	TABLE(Otlp__Stack) stacks;
	TABLE(Otlp__Sample) samples;
	Otlp__Line *lines;	 /* owned: of all locations */
	Otlp__Line **line_links; /* owned */
	int32_t *frames;	 /* owned: of all stacks */
	int64_t *values;	 /* owned: of all samples */
	char **texts;		 /* owned; its texts are borrowed of words */
};

#define table_init(table, size)                                                    \
	do {                                                                       \
		(table)->nr = (size);                                              \
		(table)->list = must_calloc((size) + 1, sizeof(*(table)->list));   \
		(table)->links = must_calloc((size) + 1, sizeof(*(table)->links)); \
		for (size_t t = 0; t < (size); t++)                                \
			(table)->links[t] = &(table)->list[t];                     \
	} while (0)

#define table_fini(table)             \
	do {                          \
		free((table)->list);  \
		free((table)->links); \
	} while (0)

static void writer_fini(struct writer *writer)
{
	strings_fini(&writer->words);
	table_fini(&writer->mappings);
	table_fini(&writer->locations);
	table_fini(&writer->functions);
	table_fini(&writer->stacks);
	table_fini(&writer->samples);
	free(writer->lines);
	free(writer->line_links);
	free(writer->frames);
	free(writer->values);
	free(writer->texts);
}

/* @from as UTF-8, to be freed. */
static char *escaped(const char *from)
{
	size_t size = text_escape(NULL, 0, from, "") + 1;
	char *ret = must_malloc(size);

	text_escape(ret, size, from, "");
	return ret;
}

/* The index of @text in string_table. */
static int32_t word(struct writer *writer, const char *text)
{
	AUTO_FREE char *utf8 = escaped(text);

	return (int32_t)must_strings_intern(&writer->words, utf8);
}

static int32_t text(struct writer *writer, uint32_t id)
{
	return word(writer, recording_string(writer->recording, id));
}

/* Mapping i is object i of the recording. */
static void make_mappings(struct writer *writer)
{
	table_init(&writer->mappings, writer->recording->nr_objects);
	for (size_t i = 0; i < writer->mappings.nr; i++) {
		otlp__mapping__init(&writer->mappings.list[i]);
		writer->mappings.list[i].filename_strindex =
			text(writer, writer->recording->objects[i].path);
	}
}

/* Function i is that of the recording; behind those are the ones of frames without a name. */
static void make_functions(struct writer *writer)
{
	const struct recording *recording = writer->recording;

	table_init(&writer->functions, recording->nr_functions + recording->nr_frames);
	writer->functions.nr = recording->nr_functions;
	for (size_t i = 0; i < recording->nr_functions; i++) {
		const struct recording_function *from = &recording->functions[i];
		Otlp__Function *to = &writer->functions.list[i];

		otlp__function__init(to);
		to->name_strindex = text(writer, from->name);
		to->filename_strindex = text(writer, from->file);
		to->start_line = from->start_line;
	}
}

static int32_t unnamed_function(struct writer *writer, const struct recording_frame *frame)
{
	AUTO_FREE char *name = frame_unnamed_text(writer->recording, frame, false);
	Otlp__Function *to = &writer->functions.list[writer->functions.nr];

	alloc_check(!name);
	otlp__function__init(to);
	to->name_strindex = word(writer, name);
	return (int32_t)writer->functions.nr++;
}

static void make_locations(struct writer *writer)
{
	const struct recording *recording = writer->recording;
	size_t used = 0;

	table_init(&writer->locations, recording->nr_frames + 1);
	writer->lines =
		must_calloc(recording->nr_lines + recording->nr_frames + 1, sizeof(*writer->lines));
	writer->line_links = must_calloc(recording->nr_lines + recording->nr_frames + 1,
					 sizeof(*writer->line_links));
	otlp__location__init(&writer->locations.list[0]);
	for (size_t i = 0; i < recording->nr_frames; i++) {
		const struct recording_frame *frame = &recording->frames[i];
		Otlp__Location *to = &writer->locations.list[i + 1];

		otlp__location__init(to);
		to->mapping_index = (int32_t)frame->object;
		to->lines = &writer->line_links[used];
		to->n_lines = frame->nr_lines ? frame->nr_lines : 1;
		for (size_t j = 0; j < to->n_lines; j++, used++) {
			const struct recording_line *line =
				frame->nr_lines ? &recording->lines[frame->first_line + j] : NULL;

			writer->line_links[used] = &writer->lines[used];
			otlp__line__init(&writer->lines[used]);
			writer->lines[used].function_index =
				line ? (int32_t)line->function : unnamed_function(writer, frame);
			writer->lines[used].line = line ? line->line : 0;
			writer->lines[used].column = line ? line->column : 0;
		}
	}
}

/* The frames of a stack, leaf first: those of the kernel, then the others. */
static size_t put_frames(const struct recording *recording, const struct recording_stack *stack,
			 int32_t *to)
{
	const uint32_t *from = &recording->frame_ids[stack->first_frame];
	size_t nr = 0;

	for (size_t i = 0; i < stack->nr_kernel; i++)
		to[nr++] = (int32_t)from[stack->nr_user + i] + 1;
	for (size_t i = 0; i < stack->nr_user; i++)
		to[nr++] = (int32_t)from[i] + 1;
	return nr;
}

/* Sample i is of stack i + 1. */
static void make_samples(struct writer *writer)
{
	const struct recording *recording = writer->recording;
	bool weighed = sample_type_is_weighed(recording);
	size_t used = 0;

	table_init(&writer->stacks, recording->nr_stacks + 1);
	table_init(&writer->samples, recording->nr_stacks);
	writer->frames = must_calloc(recording->nr_frame_ids + 1, sizeof(*writer->frames));
	writer->values = must_calloc(recording->nr_stacks + 1, sizeof(*writer->values));
	otlp__stack__init(&writer->stacks.list[0]);
	for (size_t i = 0; i < recording->nr_stacks; i++) {
		const struct recording_stack *from = &recording->stacks[i];
		Otlp__Stack *stack = &writer->stacks.list[i + 1];
		Otlp__Sample *sample = &writer->samples.list[i];

		otlp__stack__init(stack);
		stack->location_indices = &writer->frames[used];
		stack->n_location_indices = put_frames(recording, from, &writer->frames[used]);
		used += stack->n_location_indices;
		otlp__sample__init(sample);
		sample->stack_index = (int32_t)i + 1;
		writer->values[i] = (int64_t)(weighed ? from->weight : from->count);
		sample->values = &writer->values[i];
		sample->n_values = 1;
	}
}

static void set_type(struct writer *writer, Otlp__ValueType *ret)
{
	const struct recording *recording = writer->recording;
	bool weighed = sample_type_is_weighed(recording);
	uint32_t unit = weighed ? recording->weight_unit : recording->sample_unit;

	otlp__value_type__init(ret);
	ret->type_strindex = weighed ? word(writer, sample_type_weight(recording))
				     : text(writer, recording->sample_type);
	ret->unit_strindex = weighed && !unit ? word(writer, "nanoseconds") : text(writer, unit);
}

/* The texts of all, after the last was added. */
static void set_dictionary(struct writer *writer, Otlp__Dictionary *ret, Otlp__Empty **empty)
{
	writer->texts = must_calloc(writer->words.nr + 1, sizeof(*writer->texts));
	for (uint32_t i = 0; i < writer->words.nr; i++)
		writer->texts[i] = (char *)strings_text(&writer->words, i);
	otlp__dictionary__init(ret);
	ret->string_table = writer->texts;
	ret->n_string_table = writer->words.nr;
	ret->mapping_table = writer->mappings.links;
	ret->n_mapping_table = writer->mappings.nr;
	ret->location_table = writer->locations.links;
	ret->n_location_table = writer->locations.nr;
	ret->function_table = writer->functions.links;
	ret->n_function_table = writer->functions.nr;
	ret->stack_table = writer->stacks.links;
	ret->n_stack_table = writer->stacks.nr;
	ret->link_table = ret->attribute_table = empty;
	ret->n_link_table = ret->n_attribute_table = 1;
}

/* One gzip member. */
static int put(FILE *to, const Otlp__Request *request, uint64_t *ret_bytes, struct fpl_err *err)
{
	size_t size = otlp__request__get_packed_size(request);
	struct gzip_members members;
	int error;

	gzip_members_init(&members, to);
	otlp__request__pack(request, gzip_members_reserve(&members, size));
	gzip_members_commit(&members, size);
	gzip_members_flush(&members);
	error = members.error;
	gzip_members_fini(&members);
	*ret_bytes = size;
	return error ? fpl_fail(err, error, "%s", strerror(-error)) : 0;
}

/* The attributes of a resource, as protobuf-c wants them. */
struct resource {
	TABLE(Otlp__KeyValue) attributes;
	Otlp__Value *values; /* owned */
	char **texts;	     /* owned, each */
};

static void resource_fini(struct resource *resource)
{
	for (size_t i = 0; i < 2 * resource->attributes.nr; i++)
		free(resource->texts[i]);
	free(resource->texts);
	free(resource->values);
	table_fini(&resource->attributes);
}

static void make_resource(const struct otlp_options *options, struct resource *ret)
{
	size_t nr = options->nr_attributes;

	table_init(&ret->attributes, nr);
	ret->values = must_calloc(nr + 1, sizeof(*ret->values));
	ret->texts = must_calloc(2 * nr + 1, sizeof(*ret->texts));
	for (size_t i = 0; i < nr; i++) {
		Otlp__KeyValue *to = &ret->attributes.list[i];

		ret->texts[2 * i] = escaped(options->attributes[i].name);
		ret->texts[2 * i + 1] = escaped(options->attributes[i].value);
		otlp__key_value__init(to);
		otlp__value__init(&ret->values[i]);
		to->key = ret->texts[2 * i];
		to->value = &ret->values[i];
		to->value->string_value = ret->texts[2 * i + 1];
	}
}

/* Put what surrounds @profile around it, and write all. */
static int write_request(FILE *to, struct writer *writer, Otlp__Profile *profile,
			 const struct otlp_options *options, uint64_t *ret_bytes,
			 struct fpl_err *err)
{
	CLEANUP(resource_fini) struct resource resource = { .values = NULL };
	Otlp__Request request = OTLP__REQUEST__INIT;
	Otlp__ResourceProfiles profiles = OTLP__RESOURCE_PROFILES__INIT, *one = &profiles;
	Otlp__Resource of = OTLP__RESOURCE__INIT;
	Otlp__ScopeProfiles scoped = OTLP__SCOPE_PROFILES__INIT, *one_scoped = &scoped;
	Otlp__Scope scope = OTLP__SCOPE__INIT;
	Otlp__Empty nothing = OTLP__EMPTY__INIT, *empty = &nothing;
	Otlp__Dictionary dictionary;

	make_resource(options, &resource);
	of.attributes = resource.attributes.links;
	of.n_attributes = resource.attributes.nr;
	scope.name = (char *)"fpless";
	scope.version = (char *)FPL_VERSION;
	scoped.scope = &scope;
	scoped.profiles = &profile;
	scoped.n_profiles = 1;
	scoped.schema_url = profiles.schema_url = (char *)SCHEMA;
	profiles.resource = &of;
	profiles.scope_profiles = &one_scoped;
	profiles.n_scope_profiles = 1;
	set_dictionary(writer, &dictionary, &empty);
	request.resource_profiles = &one;
	request.n_resource_profiles = 1;
	request.dictionary = &dictionary;
	return put(to, &request, ret_bytes, err);
}

int otlp_write(FILE *to, const struct recording *recording, const struct otlp_options *options,
	       uint64_t *ret_bytes, struct fpl_err *err)
{
	CLEANUP(writer_fini) struct writer writer = { .recording = recording };
	Otlp__Profile profile = OTLP__PROFILE__INIT;
	uint8_t id[OTLP_ID_BYTES];
	Otlp__ValueType type;

	strings_init(&writer.words);
	(void)word(&writer, "");
	make_mappings(&writer);
	make_functions(&writer);
	make_locations(&writer);
	make_samples(&writer);
	set_type(&writer, &type);
	memcpy(id, options->id, sizeof(id));
	profile.sample_type = profile.period_type = &type;
	profile.samples = writer.samples.links;
	profile.n_samples = writer.samples.nr;
	profile.time_unix_nano = recording->start_unix_ns;
	profile.duration_nano = recording->duration_ns;
	profile.period = (int64_t)recording->period;
	profile.profile_id = (ProtobufCBinaryData){ sizeof(id), id };
	return write_request(to, &writer, &profile, options, ret_bytes, err);
}
