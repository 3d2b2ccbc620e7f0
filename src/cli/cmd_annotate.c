/* SPDX-License-Identifier: Apache-2.0 */
/* fpless annotate: the code of a function with its samples. */
#include <inttypes.h>
#include <langinfo.h>
#include <stdlib.h>
#include <string.h>

#include "annotate/annotation_text.h"
#include "annotate/annotator.h"
#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/annotate_options.h"
#include "cli/cli.h"
#include "cli/file_guard.h"
#include "cli/inputs.h"
#include "cli/missing_names.h"
#include "cli/stdout_status.h"
#include "cli/verbs.h"
#include "recording/filter.h"
#include "recording/must_add.h"
#include "view/annotation_json.h"
#include "view/measure.h"

/* Functions of one name that are shown, and names that are offered for one that is unknown. */
enum { SHOWN_MAX = 16, OFFERED_MAX = 5 };

/* The functions that the asked name fits best. */
struct chosen {
	const void *list[SHOWN_MAX];
	size_t nr, nr_more;
	enum hot_match best;
};

/* A run of the verb. */
struct annotate {
	const struct annotate_options *options;
	struct inputs inputs;
	struct filter *filter; /* owned */
	struct recording recording;
	struct hot_code code;
	struct script_lines scripts;
	struct annotator *annotator;  /* owned */
	struct chosen code_chosen;    /* struct hot_function */
	struct chosen scripts_chosen; /* struct script_function; where no other has the name */
};

static void annotate_fini(struct annotate *annotate)
{
	annotator_close(annotate->annotator);
	hot_code_fini(&annotate->code);
	script_lines_fini(&annotate->scripts);
	recording_fini(&annotate->recording);
	if (annotate->filter)
		filter_destroy(annotate->filter);
	inputs_fini(&annotate->inputs);
}

static int read_recording(struct annotate *annotate, struct fpl_err *err)
{
	const struct input_options input = { .reading = &annotate->options->reading };
	struct merge_result result = { 0 };
	int code;

	must_recording_init(&annotate->recording);
	code = inputs_add(&annotate->inputs, 0, &input, annotate->filter, &annotate->recording,
			  &result, err);
	inputs_end(&annotate->inputs);
	return code;
}

static bool is_in_object(const struct annotate *annotate, const struct hot_function *function)
{
	const struct recording *recording = &annotate->recording;
	const char *wanted = annotate->options->object;
	const char *path = recording_string(recording, recording->objects[function->object].path);

	return !wanted || !strcmp(path, wanted) || !strcmp(text_path_name(path), wanted);
}

static void consider(struct chosen *chosen, enum hot_match match, const void *function)
{
	if (match == HOT_MATCH_NONE || match < chosen->best)
		return;
	if (match > chosen->best)
		*chosen = (struct chosen){ .best = match };
	if (chosen->nr < SHOWN_MAX)
		chosen->list[chosen->nr++] = function;
	else
		chosen->nr_more++;
}

static void choose(struct annotate *annotate)
{
	const struct recording *recording = &annotate->recording;
	const char *name = annotate->options->function;

	for (size_t i = 0; i < annotate->code.nr; i++) {
		const struct hot_function *function = &annotate->code.functions[i];

		if (is_in_object(annotate, function))
			consider(&annotate->code_chosen, hot_match(function->name, name), function);
	}
	if (annotate->code_chosen.nr || annotate->options->object)
		return;
	script_lines_find(recording, &annotate->scripts);
	for (size_t i = 0; i < annotate->scripts.nr; i++) {
		const struct script_function *function = &annotate->scripts.functions[i];
		uint32_t text = recording->functions[function->function].name;

		consider(&annotate->scripts_chosen,
			 script_match(recording_string(recording, text), name), function);
	}
}

/* The function of a frame, and what is inlined there. */
static bool frame_is_called(const struct recording *recording, const struct recording_frame *frame,
			    const char *name, uint32_t *ret_outer)
{
	for (uint32_t i = 0; i < frame->nr_lines; i++) {
		const struct recording_line *line = &recording->lines[frame->first_line + i];
		const char *text =
			recording_string(recording, recording->functions[line->function].name);

		if (hot_match(text, name) == HOT_MATCH_NONE)
			continue;
		*ret_outer = recording_function_of(recording, frame)->name;
		return true;
	}
	return false;
}

/* Why does no function of that name have samples? False: no frame has that name. */
static bool tell_frame(const struct annotate *annotate)
{
	const struct recording *recording = &annotate->recording;
	const char *name = annotate->options->function;

	for (size_t i = 0; i < recording->nr_frames; i++) {
		const struct recording_frame *frame = &recording->frames[i];
		uint32_t outer;
		char shown[256];

		if (!frame_is_called(recording, frame, name, &outer))
			continue;
		text_escape(shown, sizeof(shown), recording_string(recording, outer), "");
		if (frame->kind == RECORDING_KERNEL)
			fpl_log(FPL_LOG_ERROR,
				"%s is code of the kernel, whose bytes are in no file that fpless reads: perf annotate -k VMLINUX shows it",
				name);
		else if (hot_match(recording_string(recording, outer), name) == HOT_MATCH_NONE)
			fpl_log(FPL_LOG_ERROR, "%s is inlined: fpless annotate '%s' shows it", name,
				shown);
		else if (frame->address == RECORDING_NO_ADDRESS &&
			 frame->origin != FPL_ORIGIN_SCRIPT)
			fpl_log(FPL_LOG_ERROR,
				"%s: %s keeps no addresses: a .jsonl or a pprof does", name,
				annotate->options->file);
		else
			fpl_log(FPL_LOG_ERROR,
				"%s has no samples of its own%s: what it calls has them", name,
				annotate->options->object ? " there" : "");
		return true;
	}
	return false;
}

static void tell_unknown(const struct annotate *annotate)
{
	const char *name = annotate->options->function;
	struct measure measure;
	char said[192];
	size_t nr = 0;

	measure_init(&annotate->recording, &measure);
	if (tell_frame(annotate))
		return;
	fpl_log(FPL_LOG_ERROR, "no function '%s' in %s: fpless report lists the hottest", name,
		annotate->options->file);
	for (size_t i = 0; i < annotate->code.nr && nr < OFFERED_MAX; i++) {
		const struct hot_function *function = &annotate->code.functions[i];
		char shown[256];

		if (!strcasestr(function->name, name))
			continue;
		text_escape(shown, sizeof(shown), function->name, "");
		fpl_log(FPL_LOG_ERROR, "%s '%s', %s", nr++ ? "          or" : "did you mean", shown,
			measure_reported(&measure, function->samples, said, sizeof(said)));
	}
}

/* Adds what to install for what is missing on this machine. */
static void add_package(const struct annotate *annotate, struct annotation *annotation,
			enum annotation_lack lack)
{
	const char *root = annotate->options->reading.symfs;
	char hint[MISSING_NAMES_HINT] = "";

	if ((lack != ANNOTATION_NO_LINES && lack != ANNOTATION_NO_FILE) ||
	    (root && strcmp(root, "/") != 0))
		return;
	missing_names_package(annotation->object, annotation->build_id, lack == ANNOTATION_NO_LINES,
			      hint);
	if (*hint)
		annotation_add_note(annotation, hint);
}

/* Samples that none of the instructions has. */
static void add_elsewhere(const struct measure *measure, struct annotation *annotation)
{
	char number[MEASURE_NUMBER_SIZE];
	AUTO_FREE char *note =
		must_asprintf("%s of its samples are at addresses that this code has not",
			      measure_plain(measure, annotation->elsewhere, number));

	annotation_add_note(annotation, note);
}

/* Annotate a function of the program. */
static void make_code(struct annotate *annotate, const struct measure *measure,
		      const struct hot_function *function, struct annotation *ret)
{
	enum annotation_lack lack = annotator_make(annotate->annotator, &annotate->recording,
						   &annotate->code, function, ret);

	if (ret->elsewhere)
		add_elsewhere(measure, ret);
	add_package(annotate, ret, lack);
}

/* A run's output, and how much of it there is. */
struct writing {
	FILE *to;
	struct json *json; /* NULL: text */
	struct annotation_text_options text;
	size_t nr, nr_whole; /* annotations; those with code, or lines of a script */
};

static void write_one(struct writing *writing, struct annotation *annotation)
{
	writing->nr_whole += annotation->nr_insns || annotation->nr_lines;
	if (writing->json) {
		annotation_json_write(writing->json, annotation);
	} else {
		if (writing->nr)
			putc('\n', writing->to);
		annotation_text_write(writing->to, annotation, &writing->text);
	}
	writing->nr++;
	annotation_fini(annotation);
}

/* Annotate what was chosen. Returns how many of them have code. */
static size_t write_all(struct annotate *annotate, FILE *to, struct json *json)
{
	const struct chosen *code = &annotate->code_chosen, *scripts = &annotate->scripts_chosen;
	struct annotation annotation;
	struct measure measure;
	struct writing writing = {
		.to = to,
		.json = json,
		.text = { .measure = &measure,
			  .ascii = strcmp(nl_langinfo(CODESET), "UTF-8") != 0 },
	};

	measure_init(&annotate->recording, &measure);
	for (size_t i = 0; i < code->nr; i++) {
		make_code(annotate, &measure, code->list[i], &annotation);
		write_one(&writing, &annotation);
	}
	for (size_t i = 0; i < scripts->nr; i++) {
		annotator_make_script(annotate->annotator, &annotate->recording, &annotate->scripts,
				      scripts->list[i], annotate->code.samples, &annotation);
		write_one(&writing, &annotation);
	}
	return writing.nr_whole;
}

static size_t write_json(struct annotate *annotate)
{
	struct json json = { .to = stdout };
	size_t nr;

	json_open(&json, NULL, '{');
	json_number(&json, "format", 1);
	json_number(&json, "samples", annotate->code.samples);
	json_open(&json, "functions", '[');
	nr = write_all(annotate, stdout, &json);
	json_close(&json, ']');
	json_close(&json, '}');
	putchar('\n');
	return nr;
}

static size_t write_text(struct annotate *annotate)
{
	const struct terminal_text terminal = output_options_terminal(&annotate->options->output);
	AUTO_FREE char *text = NULL;
	size_t size, nr;
	FILE *to = must_memstream(&text, &size);

	nr = write_all(annotate, to, NULL);
	must_memstream_close(to);
	terminal_text_write(stdout, &terminal, text);
	return nr;
}

static int present(struct annotate *annotate)
{
	size_t nr;
	int status;

	hot_code_find(&annotate->recording, &annotate->code);
	if (!annotate->code.samples) {
		fpl_log(FPL_LOG_ERROR, "no samples");
		return CLI_EXIT_NO_SAMPLES;
	}
	choose(annotate);
	if (!annotate->code_chosen.nr && !annotate->scripts_chosen.nr) {
		tell_unknown(annotate);
		return CLI_EXIT_NO_SAMPLES;
	}
	nr = annotate->options->json ? write_json(annotate) : write_text(annotate);
	status = stdout_status();
	if (status)
		return status;
	if (annotate->code_chosen.nr_more + annotate->scripts_chosen.nr_more)
		fpl_log(FPL_LOG_WARN, "%zu more functions have that name: --object chooses",
			annotate->code_chosen.nr_more + annotate->scripts_chosen.nr_more);
	return nr ? CLI_EXIT_OK : CLI_EXIT_CANNOT_RUN;
}

static int run(const struct annotate_options *options, struct privileged_helper *helper)
{
	CLEANUP(annotate_fini) struct annotate annotate = { .options = options };
	const struct reading_options *reading = &options->reading;
	const struct annotator_options annotator = {
		.root = reading->symfs ? reading->symfs : "/",
		.folder = options->source_folder,
		.no_sources = options->no_source,
		.debuginfod = reading->debuginfod,
		.intel = options->intel,
		.no_demangle = options->output.no_demangle,
	};
	struct sinks sinks = { 0 };
	char *file = options->file;
	struct fpl_err err = { 0 };

	if (filter_create(&reading->filter, &annotate.filter, &err)) {
		fpl_log(FPL_LOG_ERROR, "%s", err.msg);
		return CLI_EXIT_USAGE;
	}
	if (annotator_open(&annotator, &annotate.annotator, &err)) {
		fpl_log(FPL_LOG_ERROR, "%s", err.msg);
		return CLI_EXIT_CANNOT_RUN;
	}
	if (inputs_open(&file, 1, &options->output, &annotate.inputs, &err) ||
	    inputs_give_up_rights(&sinks, helper,
				  reading->debuginfod ? INPUT_NEEDS_NETWORK : INPUT_NEEDS_FILES,
				  reading->memory, &err) ||
	    read_recording(&annotate, &err))
		return inputs_fail(&err);
	return present(&annotate);
}

int cmd_annotate(int argc, char **argv)
{
	CLEANUP(annotate_options_fini) struct annotate_options options;
	struct privileged_helper helper = HELPER_NONE;
	int status;

	if (annotate_options_parse(argc, argv, &options))
		return CLI_EXIT_USAGE;
	output_options_set_log(&options.output);
	file_guard((const char *const *)&options.file, 1);
	if (options.is_usual_file && !options.output.quiet)
		fpl_log(FPL_LOG_INFO, "%s: read, since no FILE was given", options.file);
	status = run(&options, &helper);
	helper_fini(&helper);
	return status;
}
