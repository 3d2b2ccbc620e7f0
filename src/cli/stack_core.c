/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/stack_core.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/stack_text.h"
#include "core/core_code.h"
#include "core/core_file.h"
#include "core/core_stacks.h"
#include "naming/names.h"
#include "naming/recorded.h"
#include "obj/regular_file.h"
#include "parse/parser.h"
#include "recording/must_add.h"

static void cleanup_core(struct core_file **core)
{
	core_file_close(*core);
}

static void cleanup_code(struct core_code **code)
{
	core_code_close(*code);
}

static void cleanup_parser(struct parser **parser)
{
	parser_destroy(*parser);
}

static void cleanup_namer(struct namer **namer)
{
	namer_destroy(*namer);
}

static int open_core(const char *path, struct core_file **ret, struct fpl_err *err)
{
	struct stat st;
	int fd = -1;
	int code = regular_file_open(path, &fd, &st);

	if (code)
		return fpl_fail(err, code, "%s: %s", path,
				code == -ENOEXEC ? "no regular file" : strerror(-code));
	return core_file_open(fd, path, ret, err);
}

/* Name the frames of @profile, and print them. */
static int print(const struct profile *profile, struct namer *namer, int signal,
		 struct fpl_err *err)
{
	CLEANUP(names_fini) struct names names = { .namer = namer };
	CLEANUP(recording_fini) struct recording recording = { 0 };
	uint64_t shown;

	if (namer_add_profile(namer, profile, err))
		return CLI_EXIT_CANNOT_RUN;
	names_init(&names, profile, namer, &(struct names_options){ .by_function = true });
	must_recording_init(&recording);
	if (recorded_make(&names, NULL, &recording, NULL, err))
		return CLI_EXIT_CANNOT_RUN;
	return stack_text_write(&recording, signal, &shown);
}

/* Returns an enum cli_exit; *err says why unless it is empty. */
static int run(const char *path, const pid_t *tids, size_t nr_tids, struct fpl_err *err)
{
	CLEANUP(cleanup_parser) struct parser *parser = NULL;
	CLEANUP(cleanup_core) struct core_file *core = NULL;
	CLEANUP(cleanup_code) struct core_code *code = NULL;
	CLEANUP(profile_fini) struct profile profile = { .by = PROFILE_BY_TID };
	CLEANUP(cleanup_namer) struct namer *namer = NULL;
	struct namer_options options = { .lines = true, .inlined = true };
	bool has_culprit;

	if (open_core(path, &core, err) || parser_create(PARSER_EXEC, &parser, err))
		return CLI_EXIT_CANNOT_RUN;
	options.parser = parser;
	if (core_code_open(core, parser, &code, err) || namer_create(&options, &namer, err))
		return CLI_EXIT_CANNOT_RUN;
	if (core->lacking)
		fpl_log(FPL_LOG_WARN,
			"%s: cut: it lacks %.1f MiB of memory (ulimit -c, or a full disk): stacks may end early",
			path, (double)core->lacking / (1 << 20));
	core_stacks_make(core, code, tids, nr_tids, &profile);
	if (!profile.nr_stacks) {
		fpl_fail(err, -ESRCH, "%s: no such thread in it", path);
		return CLI_EXIT_NO_SAMPLES;
	}
	has_culprit = core->signal && profile.stacks[0].tid == core->threads.list[0].tid;
	return print(&profile, namer, has_culprit ? core->signal : 0, err);
}

int stack_core(const char *path, const pid_t *tids, size_t nr_tids)
{
	struct fpl_err err = { 0 };
	int status = run(path, tids, nr_tids, &err);

	if (err.code)
		fpl_log(FPL_LOG_ERROR, "%s", err.msg);
	return status;
}
