/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/live_options.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/parse.h"
#include "judge/code.h"
#include "judge/run.h"
#include "judge/report.h"
#include "parse/parser.h"

/* Keys of options without a letter. */
enum { KEY_LIVE = 0x300, KEY_STEPS, KEY_BURST, KEY_OBJECT, KEY_SYNTH_ONLY };

enum {
	STEPS_DEFAULT = 1000000,
	BURST_DEFAULT = 10000,
	DURATION_DEFAULT_MS = 60000,
};
#define STEPS_MAX 1000000000000ull

static const struct argp_option options_list[] = {
	{ "live", KEY_LIVE, NULL, 0,
	  "Judge a running process: step its threads, and compare each row they pass with the actual calls and returns",
	  2 },
	{ "duration", 'd', "SECONDS", 0, "With --live: end after this long (60)", 2 },
	{ "steps", KEY_STEPS, "N", 0, "With --live: end after N judged instructions (1000000)", 2 },
	{ "burst", KEY_BURST, "N", 0,
	  "With --live: let the process run after N instructions (10000)", 2 },
	{ "object", KEY_OBJECT, "PATTERN", 0,
	  "With --live: count instructions of files whose path or name matches, and wait at their functions",
	  2 },
	{ "synth-only", KEY_SYNTH_ONLY, NULL, 0,
	  "With --live: count instructions at rows made from code only", 2 },
	{ 0 },
};

/* End the process with one line and CLI_EXIT_USAGE. */
#define refuse(state, ...) argp_failure(state, CLI_EXIT_USAGE, 0, __VA_ARGS__)

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct live_cli *cli = state->input;

	switch (key) {
	case KEY_LIVE:
		cli->live = true;
		return 0;
	case 'd':
		if (!parse_seconds(arg, &cli->duration_ms))
			refuse(state, "-d %s: expected seconds above 0", arg);
		break;
	case KEY_STEPS:
		if (!parse_number(arg, 1, STEPS_MAX, &cli->steps))
			refuse(state, "--steps %s: expected a number from 1 to %llu", arg,
			       STEPS_MAX);
		break;
	case KEY_BURST:
		if (!parse_number(arg, 1, STEPS_MAX, &cli->burst))
			refuse(state, "--burst %s: expected a number from 1 to %llu", arg,
			       STEPS_MAX);
		break;
	case KEY_OBJECT:
		if (!*arg)
			refuse(state, "--object: an empty pattern matches no file");
		cli->object = arg;
		break;
	case KEY_SYNTH_ONLY:
		cli->synth_only = true;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	cli->given = true;
	return 0;
}

const struct argp live_argp = { .options = options_list, .parser = parse_option };

void live_cli_word(struct live_cli *cli, char *arg, struct argp_state *state)
{
	uint64_t pid = 0;

	if (cli->pid)
		refuse(state, "'%s': unexpected: expected one process (a command goes behind --)",
		       arg);
	if (state->quoted) {
		cli->command = &state->argv[state->next - 1];
		state->next = state->argc;
		return;
	}
	if (!parse_number(arg, 1, INT_MAX, &pid))
		refuse(state, "--live '%s': not a process id (a command goes behind --)", arg);
	cli->pid = (pid_t)pid;
}

void live_cli_check(const struct live_cli *cli, struct argp_state *state)
{
	if (!cli->live && cli->given)
		refuse(state, "-d, --steps, --burst, --object and --synth-only need --live");
	if (cli->live && !cli->pid && !cli->command)
		refuse(state, "--live: expected a process id, or -- and a command");
}

static volatile sig_atomic_t user_wants_end;

static void on_signal(int number)
{
	(void)number;
	user_wants_end = 1;
}

static void catch_signals(void)
{
	static const int caught[] = { SIGINT, SIGTERM, SIGHUP };
	const struct sigaction action = { .sa_handler = on_signal };

	for (size_t i = 0; i < ARRAY_SIZE(caught); i++)
		sigaction(caught[i], &action, NULL);
}

static int exit_of_error(int error, const struct live_cli *cli)
{
	return error == -ESRCH && cli->pid ? CLI_EXIT_NO_SAMPLES : CLI_EXIT_CANNOT_RUN;
}

static void say_nothing_judged(const struct judge_run *run, const struct live_cli *cli)
{
	if (!findings_judged(&run->findings)) {
		fpl_log(FPL_LOG_ERROR,
			"pid %d: nothing was judged: no function was called while it was stepped (if it sleeps, raise -d)",
			(int)run->pid);
		return;
	}
	fpl_log(FPL_LOG_ERROR, "pid %d: no requested code was judged: no %s%s%s", (int)run->pid,
		cli->synth_only ? "row made from code" : "instruction",
		cli->object ? " of a file that matches --object " : "",
		cli->object ? cli->object : "");
}

static int exit_of_run(const struct judge_run *run, const struct live_cli *cli)
{
	if (fflush(stdout) || ferror(stdout)) {
		fpl_log(FPL_LOG_ERROR, "stdout: the output could not be written");
		return CLI_EXIT_OUTPUT;
	}
	if (findings_wrong(&run->findings))
		return CLI_EXIT_DISAGREEMENT;
	if (run->counted)
		return CLI_EXIT_OK;
	say_nothing_judged(run, cli);
	return CLI_EXIT_NO_SAMPLES;
}

static int judge(const struct live_cli *cli, struct parser *parser)
{
	const struct judge_options options = {
		.pid = cli->pid,
		.command = cli->command,
		.duration_ms = cli->duration_ms ? cli->duration_ms : DURATION_DEFAULT_MS,
		.bounds = {
			.steps = cli->steps ? cli->steps : STEPS_DEFAULT,
			.burst = cli->burst ? cli->burst : BURST_DEFAULT,
			.object = cli->object,
			.synth_only = cli->synth_only,
		},
		.stop = &user_wants_end,
	};
	struct fpl_err err = { 0 };
	struct judge_run run = { .pid = 0 };
	struct code *code = NULL;
	int status, error = code_open(parser, &code, &err);

	if (!error)
		error = judge_process(&options, code, &run, &err);
	if (error) {
		fpl_log(FPL_LOG_ERROR, "%s", err.msg);
		status = exit_of_error(error, cli);
	} else {
		judge_report_write(stdout, &run, code, cli->verbose);
		status = exit_of_run(&run, cli);
	}
	judge_run_fini(&run);
	code_close(code);
	return status;
}

int live_cli_run(const struct live_cli *cli)
{
	struct fpl_err err = { 0 };
	struct parser *parser;

	if (parser_create(PARSER_EXEC, &parser, &err)) {
		fpl_log(FPL_LOG_ERROR, "%s", err.msg);
		return CLI_EXIT_CANNOT_RUN;
	}
	catch_signals();

	int status = judge(cli, parser);

	parser_destroy(parser);
	return status;
}
