/* SPDX-License-Identifier: Apache-2.0 */
#include "format/pprof_frames.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "recording/must_add.h"

/* The function of the recording that @function is. */
static uint32_t make_function(struct pprof_tables *tables, struct pprof_function *function)
{
	int64_t name = function->name ? function->name : function->system_name;
	const struct recording_function made = {
		.name = pprof_tables_text(tables, name),
		.file = pprof_tables_text(tables, function->file),
		.start_line = function->start_line,
	};

	if (!function->function) {
		tables->dangling += !pprof_tables_has_text(tables, name) ||
				    !pprof_tables_has_text(tables, function->file);
		function->function = must_add_function(tables->recording, &made) + 1;
	}
	return function->function - 1;
}

/* Find the functions of all lines; those without one are dropped. */
static void resolve_lines(struct pprof_tables *tables, struct pprof_location *location)
{
	struct pprof_line *lines = tables->lines.list + location->first_line;
	uint8_t kept = 0;

	for (size_t i = 0; i < location->nr_lines; i++) {
		struct pprof_function *function = pprof_tables_function(tables, lines[i].function);

		if (!function) {
			tables->dangling++;
			continue;
		}
		lines[kept] = lines[i];
		lines[kept++].function = make_function(tables, function);
	}
	location->nr_lines = kept;
}

struct pprof_location *pprof_frames_location(struct pprof_tables *tables, uint64_t id)
{
	struct pprof_location *location = pprof_tables_location(tables, id);
	const struct pprof_object *object;
	const char *file = NULL;

	tables->dangling += !location;
	if (!location || location->known)
		return location;
	object = pprof_tables_object(tables, location->mapping);
	tables->dangling += location->mapping && !object;
	if (location->nr_lines)
		resolve_lines(tables, location);
	if (object) {
		location->object = (uint32_t)(object - tables->objects.list) + 1;
		file = recording_string(tables->recording, pprof_tables_text(tables, object->file));
	}
	location->kernel = pprof_is_kernel(file, location->address);
	location->known = true;
	return location;
}

/*
 * The name in the recording of kernel code that other tools say is in @file: see recording_object.
 */
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
static uint32_t make_object(struct pprof_tables *tables, struct pprof_object *from,
			    enum recording_kind kind)
{
	struct recording_object object = { 0 };
	char name[256] = "";
	int64_t file = from ? from->file : 0;
	uint32_t made;

	if (from && from->objects[kind])
		return from->objects[kind] - 1;
	object.path = pprof_tables_text(tables, file);
	if (kind == RECORDING_KERNEL && !tables->own) {
		name_kernel(recording_string(tables->recording, object.path), name, sizeof(name));
		object.path = must_add_text(tables->recording, name);
	}
	if (from)
		object.build_id = pprof_tables_text(tables, from->build_id);
	if (from && kind == RECORDING_USER) {
		object.offsets = from->has_bias ? from->offsets : from->has_range;
		if (from->has_bias)
			object.file_bias = from->offset - (from->start - from->bias);
	}
	made = must_add_object(tables->recording, &object);
	if (from)
		from->objects[kind] = made + 1;
	return made;
}

/* The address that a pprof has for code of @kind in @object, less that in the file. */
static uint64_t bias_of(const struct pprof_object *object, enum recording_kind kind)
{
	if (!object)
		return 0;
	if (object->has_bias)
		return object->bias;
	return kind == RECORDING_USER && object->has_range ? object->start - object->offset : 0;
}

static uint32_t make_frame(struct pprof_tables *tables, const struct pprof_location *location,
			   const struct pprof_run *run)
{
	struct pprof_object *object =
		location->object ? &tables->objects.list[location->object - 1] : NULL;
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
		const struct pprof_line *line = &tables->lines.list[location->first_line + i];

		lines[i] = (struct recording_line){
			.function = (uint32_t)line->function,
			.line = line->line,
			.column = line->column,
		};
	}
	frame.object = make_object(tables, object, frame.kind);
	return must_add_frame(tables->recording, &frame, lines);
}

uint32_t pprof_frames_frame(struct pprof_tables *tables, struct pprof_location *location,
			    const struct pprof_run *run)
{
	const struct recording_frame unknown = {
		.address = RECORDING_NO_ADDRESS,
		.start = RECORDING_NO_ADDRESS,
		.kind = run->kernel ? RECORDING_KERNEL : RECORDING_USER,
		.origin = run->origin,
		.exact = run->exact,
	};

	if (!location)
		return must_add_frame(tables->recording, &unknown, &(struct recording_line){ 0 });
	if (!location->frame || !pprof_runs_equal(run, &location->frame_run)) {
		location->frame = make_frame(tables, location, run) + 1;
		location->frame_run = *run;
	}
	return location->frame - 1;
}
