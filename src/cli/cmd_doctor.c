/* SPDX-License-Identifier: Apache-2.0 */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cli/cli.h"
#include "doctor/checkup.h"
#include "output/doctor_report.h"

enum { KEY_JSON = 0x100 };

static const struct argp_option options_list[] = {
	{ "json", KEY_JSON, NULL, 0, "Write one JSON object", 0 },
	{ "verbose", 'v', NULL, 0, "Say more of what is done", 0 },
	{ 0 },
};

struct doctor_options {
	bool json;
	bool verbose;
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct doctor_options *options = state->input;

	switch (key) {
	case KEY_JSON:
		options->json = true;
		return 0;
	case 'v':
		options->verbose = true;
		return 0;
	case ARGP_KEY_ARG:
		argp_failure(state, CLI_EXIT_USAGE, 0, "'%s': one file or process at a time", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp doctor_argp = {
	.options = options_list,
	.parser = parse_option,
	.doc = "Tell whether fpless can run on this machine with the rights of this process, and "
	       "what "
	       "would make it better.\v"
	       "Exit status: 0 it can run, 1 usage, 2 it cannot run, 6 output could not be "
	       "written.",
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
		doctor_report_checkup(stdout, &checkup);
	return checkup.can_run ? CLI_EXIT_OK : CLI_EXIT_CANNOT_RUN;
}

int cmd_doctor(int argc, char **argv)
{
	struct doctor_options options = { 0 };

	if (argp_parse(&doctor_argp, argc, argv, 0, NULL, &options))
		return CLI_EXIT_USAGE;
	/* what goes wrong in the trial is the report's to say */
	fpl_log_set_level(options.verbose ? FPL_LOG_DEBUG : FPL_LOG_ERROR);

	int status = examine_system(&options);

	if (fflush(stdout) || ferror(stdout)) {
		fpl_log(FPL_LOG_ERROR, "stdout: the output could not be written");
		return CLI_EXIT_OUTPUT;
	}
	return status;
}
