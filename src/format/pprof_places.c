/* SPDX-License-Identifier: Apache-2.0 */
#include "format/pprof_places.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "pprof.pb-c.h"
#include "format/pprof_rules.h"
#include "view/frame_texts.h"

/* The address of the first object: a lower one could be taken for no address. */
#define FIRST_ADDRESS UINT64_C(0x1000000)
#define PAGE	      UINT64_C(0x1000)
/* Between two objects, so that no address is next to another's. */
#define GAP (UINT64_C(16) * PAGE)

static bool has_address(const struct recording_frame *frame)
{
	return frame->address != RECORDING_NO_ADDRESS;
}

static uint64_t lookup_address(const struct recording_frame *frame)
{
	return has_address(frame) ? frame_lookup_pc(frame->address, frame->exact) : 0;
}

static size_t mapping_index(const struct recording_frame *frame)
{
	return 2u * (size_t)frame->object + (frame->kind == RECORDING_KERNEL);
}

/* Note what @frame says of the mapping it is in. */
static void note_frame(struct pprof_places *places, const struct recording_frame *frame)
{
	const struct recording *recording = places->recording;
	struct pprof_mapping *mapping = &places->mappings[mapping_index(frame)];
	uint64_t address = lookup_address(frame);

	mapping->used = true;
	mapping->inlined |= frame->nr_lines > 1;
	for (size_t i = 0; i < frame->nr_lines; i++) {
		const struct recording_line *line = &recording->lines[frame->first_line + i];

		mapping->named = true;
		mapping->files |= recording->functions[line->function].file;
		mapping->numbers |= line->line;
	}
	if (!has_address(frame))
		return;
	if (!mapping->known || address < mapping->first)
		mapping->first = address;
	if (!mapping->known || address > mapping->last)
		mapping->last = address;
	mapping->known = true;
}

/*
 * Give every object of user frames a range of its own. All sums are modulo 2^64: addresses of an
 * untrusted file may be too large for ranges of their own, and are still read back.
 */
static void place_objects(struct pprof_places *places)
{
	uint64_t next = FIRST_ADDRESS;

	for (size_t i = 1; i < places->recording->nr_objects; i++) {
		struct pprof_mapping *mapping = &places->mappings[2 * i];
		uint64_t first = mapping->first & ~(PAGE - 1);

		if (!mapping->known)
			continue;
		mapping->base = next - first;
		next += (mapping->last - first) / PAGE * PAGE + PAGE + GAP;
	}
}

void pprof_places_init(struct pprof_places *places, const struct recording *recording)
{
	*places = (struct pprof_places){ .recording = recording };
	places->mappings = must_calloc(2 * recording->nr_objects, sizeof(*places->mappings));
	places->functions = must_calloc(recording->nr_functions, sizeof(*places->functions));
	places->of_frame = must_calloc(recording->nr_frames, sizeof(*places->of_frame));
	for (size_t i = 0; i < recording->nr_frames; i++)
		note_frame(places, &recording->frames[i]);
	place_objects(places);
}

void pprof_places_fini(struct pprof_places *places)
{
	free(places->mappings);
	free(places->functions);
	free(places->of_frame);
	vector_fini(&places->unnamed);
	id_table_fini(&places->table);
}

static void put_mapping(struct pprof_places *places, struct pprof_fields *fields, size_t i)
{
	struct pprof_mapping *mapping = &places->mappings[i];
	const struct recording_object *object = &places->recording->objects[i / 2];
	Pprof__Mapping message = PPROF__MAPPING__INIT;

	message.filename = pprof_fields_text(fields, object->path);
	message.build_id = pprof_fields_text(fields, object->build_id);
	message.id = mapping->id = ++places->nr_mappings;
	message.has_bias = true;
	message.bias = mapping->base;
	message.offsets = object->offsets != 0;
	message.has_functions = mapping->named;
	message.has_filenames = mapping->files;
	message.has_line_numbers = mapping->numbers;
	message.has_inline_frames = mapping->inlined;
	message.file_offset = i % 2 ? 0 : object->file_bias;
	if (mapping->known) {
		uint64_t first = mapping->first & ~(PAGE - 1);

		/* what is needed to find the code in the file by its address here */
		message.file_offset += first;
		message.memory_start = mapping->base + first;
		message.memory_limit = mapping->base + (mapping->last | (PAGE - 1)) + 1;
	}
	pprof_fields_message(fields, PPROF_FIELD_MAPPING, &message.base);
}

void pprof_places_start(struct pprof_places *places, struct pprof_fields *fields)
{
	/* index 0 and 1 are no object */
	for (size_t i = 2; i < 2 * places->recording->nr_objects; i++)
		if (places->mappings[i].used)
			put_mapping(places, fields, i);
}

/* Two frames are the same location. */
static bool location_equals(const struct recording *recording, const struct recording_frame *a,
			    const struct recording_frame *b)
{
	return lookup_address(a) == lookup_address(b) && has_address(a) == has_address(b) &&
	       a->start == b->start && mapping_index(a) == mapping_index(b) &&
	       a->nr_lines == b->nr_lines &&
	       (!a->nr_lines ||
		!memcmp(&recording->lines[a->first_line], &recording->lines[b->first_line],
			a->nr_lines * sizeof(*recording->lines)));
}

static void put_function(struct pprof_places *places, struct pprof_fields *fields, uint32_t index)
{
	const struct recording_function *function = &places->recording->functions[index];
	Pprof__Function message = PPROF__FUNCTION__INIT;

	message.name = pprof_fields_text(fields, function->name);
	message.filename = pprof_fields_text(fields, function->file);
	message.id = places->functions[index] = ++places->nr_functions;
	message.start_line = function->start_line;
	pprof_fields_message(fields, PPROF_FIELD_FUNCTION, &message.base);
}

/* The id of a function called as code without a name at @frame is; 0: nothing is known of it. */
static uint64_t put_unnamed(struct pprof_places *places, struct pprof_fields *fields,
			    const struct recording_frame *frame)
{
	Pprof__Function message = PPROF__FUNCTION__INIT;
	AUTO_FREE char *text = NULL;

	if (!places->all_named && !has_address(frame) && frame->start == RECORDING_NO_ADDRESS)
		return 0;
	text = frame_unnamed_text(places->recording, frame, false);
	alloc_check(!text);
	message.name = pprof_fields_word(fields, text);
	while (places->unnamed.nr <= (size_t)message.name)
		must_push(&places->unnamed, 0);

	uint64_t *id = &places->unnamed.list[message.name];

	if (!*id) {
		message.id = *id = ++places->nr_functions;
		pprof_fields_message(fields, PPROF_FIELD_FUNCTION, &message.base);
	}
	return *id;
}

static void put_location(struct pprof_places *places, struct pprof_fields *fields,
			 const struct recording_frame *frame, uint64_t id)
{
	const struct recording *recording = places->recording;
	const struct pprof_mapping *mapping = &places->mappings[mapping_index(frame)];
	Pprof__Line lines[RECORDING_LINES_MAX], *links[RECORDING_LINES_MAX];
	Pprof__Location message = PPROF__LOCATION__INIT;
	uint64_t address = lookup_address(frame);

	for (size_t i = 0; i < frame->nr_lines; i++) {
		const struct recording_line *line = &recording->lines[frame->first_line + i];

		pprof__line__init(&lines[i]);
		links[i] = &lines[i];
		lines[i].line = line->line;
		lines[i].column = line->column;
		if (!places->functions[line->function])
			put_function(places, fields, line->function);
		lines[i].function_id = places->functions[line->function];
	}
	message.id = id;
	message.mapping_id = mapping->id;
	if (has_address(frame)) {
		message.address = mapping->base + address;
		message.at_zero = !message.address;
	}
	if (frame->start != RECORDING_NO_ADDRESS) {
		message.has_start = true;
		message.start_distance = (int64_t)(address - frame->start);
	}
	message.n_line = frame->nr_lines;
	if (!frame->nr_lines) {
		pprof__line__init(&lines[0]);
		links[0] = &lines[0];
		lines[0].function_id = put_unnamed(places, fields, frame);
		message.unnamed = lines[0].function_id != 0;
		message.n_line = message.unnamed ? 1 : 0;
	}
	message.line = links;
	pprof_fields_message(fields, PPROF_FIELD_LOCATION, &message.base);
}

uint64_t pprof_places_location(struct pprof_places *places, struct pprof_fields *fields,
			       const struct recording_frame *frame)
{
	const struct recording *recording = places->recording;
	uint32_t index = (uint32_t)(frame - recording->frames), like;
	const uint64_t key[] = { lookup_address(frame), mapping_index(frame) };
	uint64_t hash;

	if (places->of_frame[index])
		return places->of_frame[index];
	/* what has a name but no address, as of folded stacks, is told apart by its lines alone */
	hash = id_table_hash(id_table_hash(4, key, sizeof(key)),
			     frame->nr_lines ? &recording->lines[frame->first_line] : NULL,
			     frame->nr_lines * sizeof(*recording->lines));
	like = ID_TABLE_FIND(&places->table, hash, i,
			     location_equals(recording, &recording->frames[i], frame));
	if (like == ID_TABLE_NONE) {
		must_id_table_add(&places->table, hash, index);
		put_location(places, fields, frame, ++places->nr_locations);
		places->of_frame[index] = places->nr_locations;
	} else {
		places->of_frame[index] = places->of_frame[like];
	}
	return places->of_frame[index];
}

bool pprof_places_is_kernel(const struct pprof_places *places, const struct recording_frame *frame)
{
	const struct recording *recording = places->recording;
	const struct pprof_mapping *mapping = &places->mappings[mapping_index(frame)];
	uint64_t address = has_address(frame) ? mapping->base + lookup_address(frame) : 0;
	const char *name =
		frame->object ? recording_string(recording, recording->objects[frame->object].path)
			      : NULL;

	return pprof_is_kernel(name, address);
}
