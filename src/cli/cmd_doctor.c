/* SPDX-License-Identifier: Apache-2.0 */
#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/style.h"
#include "cli/cli.h"
#include "cli/file_guard.h"
#include "cli/parse.h"
#include "cli/verbs.h"
#include "doctor/checkup.h"
#include "doctor/doctor_report.h"
#include "doctor/object_report.h"
#include "doctor/process_report.h"
#include "obj/regular_file.h"
#include "parse/client.h"
#include "parse/sandbox.h"
#include "proc/rights.h"

enum { KEY_JSON = 0x100, KEY_COLOR };

static const struct argp_option options_list[] = {
	{ "json", KEY_JSON, NULL, 0, "Write one JSON object", 0 },
	{ "color", KEY_COLOR, "auto|always|never", 0,
	  "Colours on stdout (default auto: on a terminal, unless $NO_COLOR is set)", 0 },
	{ "verbose", 'v', NULL, 0, "Log more", 0 },
	{ 0 },
};

struct doctor_options {
	bool json;
	bool verbose;
	enum style_mode colour;
	const char *target; /* NULL: the system */
	uint64_t pid;	    /* 0: target is a file */
};

/* All digits mean a process; a file of such a name is written with a slash. */
static bool is_pid(const char *target)
{
	return target[0] && target[strspn(target, "0123456789")] == '\0';
}

static error_t take_target(struct doctor_options *options, char *arg, struct argp_state *state)
{
	if (options->target)
		argp_failure(state, CLI_EXIT_USAGE, 0,
			     "'%s': unexpected: expected one file or process", arg);
	options->target = arg;
	if (is_pid(arg) && !parse_number(arg, 1, INT_MAX, &options->pid))
		argp_failure(state, CLI_EXIT_USAGE, 0,
			     "'%s': not a process id (a file of this name is './%s')", arg, arg);
	return 0;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct doctor_options *options = state->input;

	switch (key) {
	case KEY_JSON:
		options->json = true;
		return 0;
	case KEY_COLOR:
		options->colour = style_mode_of(arg);
		if (options->colour == STYLE_MODE_COUNT)
			argp_failure(state, CLI_EXIT_USAGE, 0,
				     "--color %s: expected auto, always or never", arg);
		return 0;
	case 'v':
		options->verbose = true;
		return 0;
	case ARGP_KEY_ARG:
		return take_target(options, arg, state);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp doctor_argp = {
	.options = options_list,
	.parser = parse_option,
	.args_doc = "[PID|FILE]",
	.doc = "Check whether fpless can run on this machine with the rights of this process, and how to improve that; or report the contents of an ELF FILE, or of all files that the process PID has mapped: unwind tables, code without CFI, symbols, debug information.\vExit status: 0 ok, 1 usage, 2 fpless cannot run, or the file or process cannot be "
	       "read, 3 no such process, 6 output could not be written.",
};

static int examine_system(const struct doctor_options *options)
{
	struct host host;
	struct probes probes;
	struct trial trial;
	struct checkup checkup;

	host_read("", &host);
	checkup_probe(&probes);
	checkup_try(&host, &trial);
	checkup_judge(&host, &probes, &trial, &checkup);
	if (options->json)
		doctor_json_checkup(stdout, &checkup, &trial);
	else
		doctor_report_checkup(stdout, &checkup,
				      style_is_wanted(options->colour, STDOUT_FILENO));
	return checkup.can_run ? CLI_EXIT_OK : CLI_EXIT_CANNOT_RUN;
}

static int examine_file(const struct doctor_options *options, struct parse_client *client,
			const struct host *host, struct fpl_err *err)
{
	CLEANUP(object_report_fini) struct object_report report = { .path = NULL };
	AUTO_FD int fd = -1;
	struct stat st;
	int code = regular_file_open(options->target, &fd, &st);

	if (code)
		return fpl_fail(err, code, "%s: %s", options->target,
				code == -ENOEXEC ? "not a regular file" : strerror(-code));
	/* workers read the files; this process only finds files that all users may read */
	code = rights_drop_all(err);
	if (!code)
		code = sandbox_enter_reader(true, err);
	if (!code)
		code = object_report_make(client, fd, options->target, &report, err);
	if (code)
		return code;
	object_reports_packages("", host, &report, 1);
	if (options->json)
		doctor_json_object(stdout, &report);
	else
		doctor_report_object(stdout, &report,
				     style_is_wanted(options->colour, STDOUT_FILENO));
	return 0;
}

static int examine_process(const struct doctor_options *options, struct parse_client *client,
			   const struct host *host, struct fpl_err *err)
{
	CLEANUP(process_report_fini) struct process_report report = { .pid = 0 };
	struct check remarks[PROCESS_REMARKS_MAX];
	int code = process_report_make((pid_t)options->pid, client, &report, err);

	if (code)
		return code;
	/* what its paths name here may be other files */
	if (!report.other_mnt_ns)
		object_reports_packages("", host, report.objects, report.nr);

	size_t nr = process_remarks(&report, host, remarks);

	if (options->json)
		doctor_json_process(stdout, &report, remarks, nr);
	else
		doctor_report_process(stdout, &report, remarks, nr,
				      style_is_wanted(options->colour, STDOUT_FILENO));
	return 0;
}

/* Have workers without rights read the target. */
static int examine_target_with(const struct doctor_options *options, struct parser *parser,
			       const struct host *host, struct fpl_err *err)
{
	struct parse_client *client;
	int code = client_open(parser, &client, err);

	if (code)
		return code;
	code = options->pid ? examine_process(options, client, host, err)
			    : examine_file(options, client, host, err);
	client_close(client);
	return code;
}

/* Returns an enum cli_exit. */
static int examine_target(const struct doctor_options *options)
{
	struct parser *parser;
	struct fpl_err err = { 0 };
	struct host host;
	int code;

	host_read("", &host);
	code = parser_create(options->pid ? PARSER_EXEC : PARSER_EXEC_BARE, &parser, &err);
	if (!code) {
		code = examine_target_with(options, parser, &host, &err);
		parser_destroy(parser);
	}
	if (!code)
		return CLI_EXIT_OK;
	fpl_log(FPL_LOG_ERROR, "%s", err.msg);
	return code == -ESRCH ? CLI_EXIT_NO_SAMPLES : CLI_EXIT_CANNOT_RUN;
}

int cmd_doctor(int argc, char **argv)
{
	struct doctor_options options = { 0 };

	if (argp_parse(&doctor_argp, argc, argv, 0, NULL, &options))
		return CLI_EXIT_USAGE;
	/* the report shows errors of the trial */
	fpl_log_set_level(options.verbose ? FPL_LOG_DEBUG : FPL_LOG_ERROR);

	if (options.target && !options.pid)
		file_guard(&options.target, 1);

	int status = options.target ? examine_target(&options) : examine_system(&options);

	if (fflush(stdout) || ferror(stdout)) {
		fpl_log(FPL_LOG_ERROR, "stdout: the output could not be written");
		return CLI_EXIT_OUTPUT;
	}
	return status;
}
