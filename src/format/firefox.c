/* SPDX-License-Identifier: Apache-2.0 */
#include "format/firefox.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "format/firefox_tables.h"
#include "view/measure.h"
#include "view/viewer.h"

/* Hex digits of a build-id that go into the identifier of a library. */
enum { BREAKPAD_DIGITS = 32 };

struct writer {
	struct json json;
	struct viewer viewer;
	struct measure measure;
	struct firefox_tables tables;
};

static void writer_fini(struct writer *writer)
{
	viewer_fini(&writer->viewer);
	firefox_tables_fini(&writer->tables);
}

static void write_milliseconds(struct json *json, const char *key, uint64_t ns)
{
	json_decimal(json, key, ns / 1000000, (unsigned)(ns % 1000000));
}

static void write_categories(struct json *json)
{
	static const struct {
		const char *name, *color;
	} categories[] = {
		[FIREFOX_USER] = { "User", "yellow" },
		[FIREFOX_KERNEL] = { "Kernel", "orange" },
		[FIREFOX_OTHER] = { "Other", "grey" },
	};

	json_open(json, "categories", '[');
	for (size_t i = 0; i < ARRAY_SIZE(categories); i++) {
		json_open(json, NULL, '{');
		json_string(json, "name", categories[i].name);
		json_string(json, "color", categories[i].color);
		json_open(json, "subcategories", '[');
		json_string(json, NULL, "Other");
		json_close(json, ']');
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void write_arguments(struct json *json, const struct recording *recording)
{
	AUTO_FREE char *text = NULL;
	size_t size;
	FILE *to;

	if (!recording->nr_args)
		return;
	to = must_memstream(&text, &size);
	for (size_t i = 0; i < recording->nr_args; i++)
		fprintf(to, i ? " %s" : "%s", recording_string(recording, recording->args[i]));
	must_memstream_close(to);
	json_string(json, "arguments", text);
}

static void write_meta(struct json *json, const struct recording *recording)
{
	json_open(json, "meta", '{');
	json_number(json, "version", 24);
	json_number(json, "preprocessedProfileVersion", 48);
	json_string(json, "product", "fpless");
	json_string(json, "appBuildID", FPL_VERSION);
	write_arguments(json, recording);
	write_milliseconds(json, "interval",
			   recording_period_ns(recording) ? recording_period_ns(recording)
							  : 1000000);
	write_milliseconds(json, "startTime", recording->start_unix_ns);
	write_milliseconds(json, "profilingStartTime", 0);
	/* the end of the range that is shown, which a sample at the very end is part of */
	write_milliseconds(json, "profilingEndTime",
			   recording->duration_ns + recording_period_ns(recording));
	json_number(json, "processType", 0);
	json_number(json, "stackwalk", 1);
	json_bool(json, "debug", false);
	json_bool(json, "symbolicated", true);
	json_bool(json, "usesOnlyOneStackType", true);
	json_bool(json, "doesNotUseFrameImplementation", true);
	json_bool(json, "sourceCodeIsNotOnSearchfox", true);
	json_string(json, "platform", "Linux");
	json_string(json, "oscpu", recording_string(recording, recording->kernel));
	if (recording->nr_cpus)
		json_number(json, "logicalCPUs", recording->nr_cpus);
	json_open(json, "sampleUnits", '{');
	json_string(json, "time", "ms");
	json_string(json, "eventDelay", "ms");
	json_string(json, "threadCPUDelta", "\u00b5s");
	json_close(json, '}');
	write_categories(json);
	json_open(json, "markerSchema", '[');
	json_close(json, ']');
	json_close(json, '}');
}

/* The first half of a build-id as a GUID with an age of 0, as Breakpad names libraries. */
static void breakpad_id(const char *build_id, char ret[static BREAKPAD_DIGITS + 2])
{
	/* where each byte of the GUID is in the build-id: its first three numbers are swapped */
	static const uint8_t order[] = { 3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15 };
	char padded[BREAKPAD_DIGITS + 1];

	memset(padded, '0', sizeof(padded));
	memcpy(padded, build_id, strnlen(build_id, BREAKPAD_DIGITS));
	for (size_t i = 0; i < BREAKPAD_DIGITS; i++) {
		char digit = padded[2 * order[i / 2] + i % 2];

		ret[i] = (char)(digit >= 'a' && digit <= 'f' ? digit - 'a' + 'A' : digit);
	}
	ret[BREAKPAD_DIGITS] = '0';
	ret[BREAKPAD_DIGITS + 1] = '\0';
}

static void write_libraries(struct json *json, const struct recording *recording)
{
	json_open(json, "libs", '[');
	for (size_t i = 1; i < recording->nr_objects; i++) {
		const struct recording_object *object = &recording->objects[i];
		const char *path = recording_string(recording, object->path);
		const char *build_id = recording_string(recording, object->build_id);
		const char *name = text_path_name(path);
		char id[BREAKPAD_DIGITS + 2];

		breakpad_id(build_id, id);
		json_open(json, NULL, '{');
		json_string(json, "arch", "");
		json_string(json, "name", name);
		json_string(json, "path", path);
		json_string(json, "debugName", name);
		json_string(json, "debugPath", path);
		json_string(json, "breakpadId", id);
		if (*build_id)
			json_string(json, "codeId", build_id);
		else
			json_null(json, "codeId");
		json_close(json, '}');
	}
	json_close(json, ']');
}

static uint64_t shown_of(const struct measure *measure, const struct thread_sample *sample)
{
	return measure_of(measure, sample->count, sample->weight);
}

static void write_samples(struct writer *writer, const struct thread *thread)
{
	const struct thread_sample *samples = &writer->viewer.threads.samples[thread->first];
	const struct recording_stack *stacks = writer->viewer.recording->stacks;
	const struct measure *measure = &writer->measure;
	/* of times the viewer knows milliseconds alone */
	bool in_ms = measure->kind == MEASURE_TIME && measure->unit_ns == 1;
	struct json *json = &writer->json;

	json_open(json, "samples", '{');
	json_number(json, "length", thread->nr);
	json_string(json, "weightType",
		    in_ms			     ? "tracing-ms"
		    : measure->kind == MEASURE_BYTES ? "bytes"
						     : "samples");
	JSON_COLUMN(json, "stack", thread->nr,
		    firefox_tables_add(&writer->tables, &stacks[samples[i].stack]));
	JSON_ARRAY(json, "time", thread->nr, write_milliseconds(json, NULL, samples[i].time_ns));
	if (in_ms)
		JSON_ARRAY(json, "weight", thread->nr,
			   write_milliseconds(json, NULL, shown_of(measure, &samples[i])));
	else
		JSON_COLUMN(json, "weight", thread->nr, shown_of(measure, &samples[i]));
	/* other weights are no time on a CPU */
	if (writer->viewer.recording->nr_events && measure->clock)
		JSON_COLUMN(json, "threadCPUDelta", thread->nr, samples[i].weight / 1000);
	json_close(json, '}');
}

static void write_no_markers(struct json *json)
{
	static const char *const columns[] = { "data",	  "name",  "startTime",
					       "endTime", "phase", "category" };

	json_open(json, "markers", '{');
	json_number(json, "length", 0);
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		json_open(json, columns[i], '[');
		json_close(json, ']');
	}
	json_close(json, '}');
}

static void write_thread(struct writer *writer, const struct thread *thread)
{
	const char *comm = recording_string(writer->viewer.recording, thread->comm);
	struct json *json = &writer->json;
	char pid[16];

	snprintf(pid, sizeof(pid), "%u", thread->pid);
	json_open(json, NULL, '{');
	json_string(json, "name", comm);
	json_string(json, "processName", comm);
	json_string(json, "processType", "default");
	json_bool(json, "isMainThread", thread->pid == thread->tid);
	json_string(json, "pid", pid);
	json_number(json, "tid", thread->tid);
	json_number(json, "processStartupTime", 0);
	json_null(json, "processShutdownTime");
	json_number(json, "registerTime", 0);
	json_null(json, "unregisterTime");
	json_open(json, "pausedRanges", '[');
	json_close(json, ']');
	write_no_markers(json);
	write_samples(writer, thread);
	firefox_tables_write(&writer->tables, json);
	firefox_tables_clear(&writer->tables);
	json_close(json, '}');
}

int firefox_write(FILE *to, const struct recording *recording, const struct format_options *options,
		  uint64_t *ret_shown, struct fpl_err *err)
{
	CLEANUP(writer_fini)
	struct writer writer = { .json = { .to = to } };
	struct json *json = &writer.json;

	(void)err;
	measure_init(recording, &writer.measure);
	viewer_init(recording, options, &writer.viewer);
	firefox_tables_init(&writer.viewer.texts, &writer.viewer.index, &writer.tables);
	json_open(json, NULL, '{');
	write_meta(json, recording);
	write_libraries(json, recording);
	json_open(json, "threads", '[');
	*ret_shown = 0;
	for (size_t i = 0; i < writer.viewer.threads.nr; i++) {
		write_thread(&writer, &writer.viewer.threads.list[i]);
		*ret_shown += writer.viewer.threads.list[i].shown;
	}
	json_close(json, ']');
	json_close(json, '}');
	putc('\n', to);
	return 0;
}
