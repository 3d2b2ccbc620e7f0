/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/pprof_frames.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

/* Make @function one of the recording. False: its texts are not there yet. */
static int make_function(struct pprof_tables *tables, struct pprof_function *function, bool last,
			 bool *ret_ready)
{
	int64_t name = function->name ? function->name : function->system_name;
	const bool missing = !pprof_tables_has_text(tables, name) ||
			     !pprof_tables_has_text(tables, function->file);
	struct recording_function made = {
		.name = pprof_tables_text(tables, name),
		.file = pprof_tables_text(tables, function->file),
		.start_line = function->start_line,
	};
	uint32_t index;

	*ret_ready = !missing || last;
	if (function->function || !*ret_ready)
		return 0;
	tables->dangling += missing;
	if (recording_add_function(tables->recording, &made, &index))
		return -ENOMEM;
	function->function = index + 1;
	return 0;
}

/* Find the functions of all lines; those without one are dropped, with @last. */
static int resolve_lines(struct pprof_tables *tables, struct pprof_location *location, bool last,
			 bool *ret_ready)
{
	struct pprof_line *lines = location->nr_lines ? tables->lines + location->first_line : NULL;
	uint8_t kept = 0;

	/* twice: no line is changed before all functions are there */
	for (size_t i = 0; i < location->nr_lines; i++) {
		struct pprof_function *function = pprof_tables_function(tables, lines[i].function);

		*ret_ready = function || last;
		if (function && make_function(tables, function, last, ret_ready))
			return -ENOMEM;
		if (!*ret_ready)
			return 0;
	}
	for (size_t i = 0; i < location->nr_lines; i++) {
		const struct pprof_function *function =
			pprof_tables_function(tables, lines[i].function);

		if (!function) {
			tables->dangling++;
			continue;
		}
		lines[kept] = lines[i];
		lines[kept++].function = function->function - 1;
	}
	location->nr_lines = kept;
	return 0;
}

int pprof_frames_location(struct pprof_tables *tables, uint64_t id, bool last,
			  struct pprof_location **ret)
{
	struct pprof_location *location = pprof_tables_location(tables, id);
	struct pprof_object *object = NULL;
	bool ready = true;

	*ret = NULL;
	if (!location) {
		tables->dangling += last;
		return 0;
	}
	if (location->known) {
		*ret = location;
		return 0;
	}
	if (location->mapping) {
		object = pprof_tables_object(tables, location->mapping);
		ready = last || (object && pprof_tables_has_text(tables, object->file) &&
				 pprof_tables_has_text(tables, object->build_id));
		tables->dangling += last && !object;
	}
	if (ready && resolve_lines(tables, location, last, &ready))
		return -ENOMEM;
	if (!ready)
		return 0;
	if (object)
		location->object =
			(uint32_t)(object - (struct pprof_object *)tables->objects.entries) + 1;
	location->kernel =
		pprof_is_kernel(object ? recording_string(tables->recording,
							  pprof_tables_text(tables, object->file))
				       : NULL,
				location->address);
	location->known = true;
	*ret = location;
	return 0;
}

/* What the recording calls kernel code that others say is in @file: see recording_object. */
static void name_kernel(const char *file, char *buf, size_t size)
{
	const char *slash = strrchr(file, '/');
	const char *base = slash ? slash + 1 : file;
	const char *ko = strstr(base, ".ko");
	size_t length = strlen(file);

	if (file[0] == '[' && length > 2 && file[length - 1] == ']' &&
	    strncmp(file, "[kernel", 7) != 0 && strncmp(file, "[guest.", 7) != 0) {
		snprintf(buf, size, "%s", file);
	} else if (ko && (!ko[3] || ko[3] == '.')) {
		snprintf(buf, size, "[%.*s]", (int)(ko - base), base);
		/* the kernel knows its modules by underscores */
		for (char *at = buf; (at = strchr(at, '-'));)
			*at = '_';
	} else {
		snprintf(buf, size, "[kernel.kallsyms]");
	}
}

/* The object that @location is in, as code of @kind. */
static int make_object(struct pprof_tables *tables, struct pprof_object *from,
		       enum recording_kind kind, uint32_t *ret)
{
	struct recording_object object = { 0 };
	char name[256] = "";
	int64_t file = from ? from->file : 0;

	if (from && from->objects[kind]) {
		*ret = from->objects[kind] - 1;
		return 0;
	}
	object.path = pprof_tables_text(tables, file);
	if (kind == RECORDING_KERNEL && !tables->own) {
		name_kernel(recording_string(tables->recording, object.path), name, sizeof(name));
		if (recording_add_text(tables->recording, name, &object.path))
			return -ENOMEM;
	}
	if (from)
		object.build_id = pprof_tables_text(tables, from->build_id);
	if (from && kind == RECORDING_USER) {
		object.offsets = from->has_bias ? from->offsets : from->has_range;
		if (from->has_bias)
			object.file_bias = from->offset - (from->start - from->bias);
	}
	if (recording_add_object(tables->recording, &object, ret))
		return -ENOMEM;
	if (from)
		from->objects[kind] = *ret + 1;
	return 0;
}

/* Where the addresses of a frame of @kind in @object are, less where they are in the file. */
static uint64_t bias_of(const struct pprof_object *object, enum recording_kind kind)
{
	if (!object)
		return 0;
	if (object->has_bias)
		return object->bias;
	return kind == RECORDING_USER && object->has_range ? object->start - object->offset : 0;
}

static int make_frame(struct pprof_tables *tables, const struct pprof_location *location,
		      const struct pprof_run *run, uint32_t *ret)
{
	struct pprof_object *objects = tables->objects.entries;
	struct pprof_object *object = location->object ? &objects[location->object - 1] : NULL;
	struct recording_line lines[RECORDING_LINES_MAX];
	struct recording_frame frame = {
		.address = RECORDING_NO_ADDRESS,
		.start = RECORDING_NO_ADDRESS,
		.nr_lines = location->nr_lines,
		.kind = run->kernel ? RECORDING_KERNEL : RECORDING_USER,
		.origin = run->origin,
		.exact = run->exact,
	};
	uint64_t lookup = location->address - bias_of(object, frame.kind);

	if (location->has_address)
		frame.address = lookup + !run->exact; /* frame_lookup_pc() gives it back */
	if (location->has_start)
		frame.start =
			(location->has_address ? lookup : 0) - (uint64_t)location->start_distance;
	for (size_t i = 0; i < location->nr_lines; i++) {
		const struct pprof_line *line = &tables->lines[location->first_line + i];

		lines[i] = (struct recording_line){
			.function = (uint32_t)line->function,
			.line = line->line,
			.column = line->column,
		};
	}
	if (make_object(tables, object, frame.kind, &frame.object))
		return -ENOMEM;
	return recording_add_frame(tables->recording, &frame, lines, ret);
}

int pprof_frames_frame(struct pprof_tables *tables, struct pprof_location *location,
		       const struct pprof_run *run, uint32_t *ret)
{
	const struct recording_frame unknown = {
		.address = RECORDING_NO_ADDRESS,
		.start = RECORDING_NO_ADDRESS,
		.kind = run->kernel ? RECORDING_KERNEL : RECORDING_USER,
		.origin = run->origin,
		.exact = run->exact,
	};
	int error;

	if (!location)
		return recording_add_frame(tables->recording, &unknown,
					   &(struct recording_line){ 0 }, ret);
	if (location->frame && pprof_runs_equal(run, &location->frame_run)) {
		*ret = location->frame - 1;
		return 0;
	}
	error = make_frame(tables, location, run, ret);
	if (!error) {
		location->frame = *ret + 1;
		location->frame_run = *run;
	}
	return error;
}
