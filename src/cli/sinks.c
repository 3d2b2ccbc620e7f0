/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sinks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/memory_limit.h"
#include "cli/cli.h"
#include "format/packed_stream.h"
#include "format/stats.h"
#include "view/measure.h"

void sinks_fini(struct sinks *sinks)
{
	for (size_t i = 0; i < sinks->nr; i++)
		output_file_abort(&sinks->list[i].file);
	free(sinks->list);
	output_file_abort(&sinks->stats);
	if (sinks->serves)
		page_server_stop(&sinks->server);
	sinks->serves = false;
}

/* The page of --open: an output whose file is the server's. */
static int open_page(struct sinks *sinks, const struct format_list *list, struct fpl_err *err)
{
	struct sink *sink = &sinks->list[sinks->nr];
	int error = page_server_start(&sinks->server, err);

	if (error)
		return error;
	sinks->serves = true;
	*sink = (struct sink){ .format = format_find(list, "html"), .is_page = true };
	sink->file.stream = fdopen(TAKE_FD(sinks->server.page_fd), "w");
	if (!sink->file.stream)
		return fpl_fail(err, -errno, "--open: %s", strerror(errno));
	sink->file.path = must_strdup("--open");
	sinks->nr++;
	return 0;
}

void sinks_show_page(struct sinks *sinks)
{
	if (sinks->serves && sinks->has_page)
		page_server_show(&sinks->server);
	sinks->serves = false;
}

static int open_sink(struct sinks *sinks, const char *path, const struct format *format,
		     enum packing packing, struct fpl_err *err)
{
	struct sink *sink = &sinks->list[sinks->nr];
	int error = output_file_open(path, &sink->file, err);

	if (error)
		return error;
	sink->format = format;
	sink->packing = packing;
	sinks->nr++;
	return 0;
}

int sinks_open(struct sinks *ret, const struct output_options *options, bool text,
	       struct fpl_err *err)
{
	const struct format_list *list = output_options_formats(options);
	int error = 0;

	*ret = (struct sinks){ .list = must_calloc(options->nr + 2, sizeof(*ret->list)) };
	ret->terminal = output_options_terminal(options);
	if (options->folded_stdout)
		error = open_sink(ret, "-", format_find(list, "folded"), PACKING_NONE, err);
	else if (text && output_options_use_text(options))
		error = open_sink(ret, "-", format_find(list, "text"), PACKING_NONE, err);
	for (size_t i = 0; !error && i < options->nr; i++)
		error = open_sink(ret, options->list[i].path, options->list[i].format,
				  options->list[i].packing, err);
	if (!error && options->open)
		error = open_page(ret, list, err);
	if (!error && options->stats_path)
		error = output_file_open(options->stats_path, &ret->stats, err);
	return error;
}

int sinks_delegate(struct sinks *sinks, struct privileged_helper *helper, struct fpl_err *err)
{
	int error = 0;

	for (size_t i = 0; !error && i < sinks->nr; i++)
		error = output_file_delegate(&sinks->list[i].file, helper, err);
	return error ? error : output_file_delegate(&sinks->stats, helper, err);
}

/* Drop the output of a failed writer, unless it is a whole file of fewer samples. */
static void keep_or_drop(const struct sink *sink, struct output_file *file, uint64_t shown)
{
	struct fpl_err err;

	if (!sink->format->parts || !shown)
		output_file_abort(file);
	else if (output_file_commit(file, &err))
		fpl_log(FPL_LOG_ERROR, "%s", err.msg);
}

/* Call @writer for @sink. Errors: as its; of a packed file those of writing it, too. */
static int call_writer(const struct sink *sink, const struct sink_writer *writer,
		       uint64_t *ret_shown, struct fpl_err *err)
{
	FILE *to = sink->file.stream;

	if (sink->packing == PACKING_NONE)
		return writer->write(writer->ctx, sink->format, to, ret_shown, err);

	struct packed_stream *stream =
		packed_stream_open(to, sink->packing, sink->format->zstd_level, &to);
	int error = writer->write(writer->ctx, sink->format, to, ret_shown, err);
	int packing_error = packed_stream_close(stream);

	if (error || !packing_error)
		return error;
	return fpl_fail(err, packing_error, "%s", strerror(-packing_error));
}

/* Write one output, of *shown samples so far. Returns an enum cli_exit. */
static int write_sink(struct sink *sink, const struct sink_writer *writer, uint64_t *shown)
{
	struct output_file *file = &sink->file;
	struct fpl_err err = { 0 };
	uint64_t written = 0;
	int error;

	alloc_set_name(output_file_name(file));
	error = call_writer(sink, writer, &written, &err);
	alloc_set_name(NULL);
	if (error) {
		fpl_log(FPL_LOG_ERROR, "%s: %s%s", output_file_name(file), err.msg,
			memory_limit_advice(err.code));
		keep_or_drop(sink, file, written);
		return CLI_EXIT_OUTPUT;
	}
	if (written != *shown)
		fpl_log(FPL_LOG_ERROR,
			"%s: shows %" PRIu64 " samples where the profile holds %" PRIu64
			": please report this",
			output_file_name(file), written, *shown);
	*shown = written;
	if (!output_file_commit(file, &err))
		return CLI_EXIT_OK;
	fpl_log(FPL_LOG_ERROR, "%s", err.msg);
	return CLI_EXIT_OUTPUT;
}

int sinks_write_by(struct sinks *sinks, const struct sink_writer *writer, uint64_t holds,
		   uint64_t *ret_shown)
{
	int status = CLI_EXIT_OK;

	*ret_shown = holds;
	/* pictures last: where there is no memory for one the process ends, the others are there */
	for (unsigned pictures = 0; pictures < 2; pictures++) {
		for (size_t i = 0; i < sinks->nr; i++) {
			struct sink *sink = &sinks->list[i];
			int failed = sink->format->picture == pictures
					     ? write_sink(sink, writer, ret_shown)
					     : CLI_EXIT_OK;

			status = failed ? failed : status;
			sinks->has_page |= sink->is_page && !failed && *ret_shown;
		}
	}
	return status;
}

int sinks_write_report(FILE *to, const struct terminal_text *terminal,
		       int (*write)(FILE *to, void *ctx), void *ctx)
{
	AUTO_FREE char *text = NULL;
	size_t size;
	FILE *memory;

	if (to != stdout || !(terminal->columns || terminal->colour))
		return write(to, ctx);
	memory = must_memstream(&text, &size);

	int code = write(memory, ctx);

	must_memstream_close(memory);
	if (code)
		return code;
	terminal_text_write(to, terminal, text);
	return 0;
}

/* A recording, and how it is to be written. */
struct written {
	const struct recording *recording;
	const struct format_options *options;
	const struct terminal_text *terminal;
};

/* The same to one output. */
struct writing {
	const struct written *written;
	const struct format *format;
	struct format_options options;
	uint64_t *shown;
	struct fpl_err *err;
};

static int write_format(FILE *to, void *ctx)
{
	const struct writing *writing = ctx;

	return writing->format->write(to, writing->written->recording, &writing->options,
				      writing->shown, writing->err);
}

static int write_recording(void *ctx, const struct format *format, FILE *to, uint64_t *ret_shown,
			   struct fpl_err *err)
{
	const struct written *written = ctx;
	struct writing writing = { written, format, *written->options, ret_shown, err };

	if (strcmp(format->name, "text") != 0 || to != stdout)
		return write_format(to, &writing);
	writing.options.columns = written->terminal->columns;
	return sinks_write_report(to, written->terminal, write_format, &writing);
}

int sinks_write(struct sinks *sinks, const struct recording *recording,
		const struct format_options *options, uint64_t *ret_shown)
{
	struct written written = { recording, options, &sinks->terminal };
	const struct sink_writer writer = { .ctx = &written, .write = write_recording };
	uint64_t holds = measure_sum(recording);
	int status = sinks_write_by(sinks, &writer, holds, ret_shown);

	/* the books are about samples, whatever is shown of them */
	if (*ret_shown == holds)
		*ret_shown = recording_shown(recording);
	return status;
}

int sinks_write_stats(struct sinks *sinks, const struct recording *recording, uint64_t shown)
{
	struct fpl_err err;

	if (!sinks->stats.stream)
		return CLI_EXIT_OK;
	stats_write(sinks->stats.stream, recording, shown);
	if (!output_file_commit(&sinks->stats, &err))
		return CLI_EXIT_OK;
	fpl_log(FPL_LOG_ERROR, "%s", err.msg);
	return CLI_EXIT_OUTPUT;
}
