/* SPDX-License-Identifier: Apache-2.0 */
#include <argp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cli/cli.h"
#include "parse/nursery.h"

static struct {
	const char *name;
	int (*run)(int argc, char **argv);
	char label[24]; /* argv[0] of the verb: what argp puts before its messages */
	const char *text;
} verbs[] = {
	{ "profile", cmd_profile, "fpless profile", "sample on-CPU stacks" },
	{ "compare", cmd_compare, "fpless compare",
	  "sample, and judge frame-pointer stacks by those walked by CFI" },
	{ "report", cmd_report, "fpless report",
	  "read recordings, add them up, filter them, write them in any format" },
	{ "tables", cmd_tables, "fpless tables", "show the unwind rows of an ELF file" },
	{ "verify", cmd_verify, "fpless verify",
	  "compare the unwind tables of ELF files with libdw" },
	{ "doctor", cmd_doctor, "fpless doctor",
	  "tell whether fpless can run here, or what it finds in a file or process" },
};

static void print_help(FILE *to)
{
	fputs("Usage: fpless VERB [OPTION...]\n"
	      "A sampling profiler with correct stacks of programs built without frame pointers.\n"
	      "\n",
	      to);
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		fprintf(to, "  %-10s %s\n", verbs[i].name, verbs[i].text);
	fputs("\n"
	      "      --help     print this\n"
	      "      --version  print the version\n"
	      "\n"
	      "`fpless VERB --help' lists the options of a verb. Typical first steps:\n"
	      "\n"
	      "  fpless profile -d 10                        the whole machine, 10 seconds\n"
	      "  fpless profile -F 499 -o out.folded -- CMD  a command and its descendants\n"
	      "  fpless compare -- CMD                       what its frame pointers are worth\n"
	      "\n"
	      "Exit status: 0 ok, 1 usage, 2 cannot run here, 3 target gone or no samples,\n"
	      "4 --strict, 5 verify found a disagreement, 6 a file could not be written or read.\n",
	      to);
}

static void print_version(FILE *to, struct argp_state *state)
{
	(void)state;
	fputs("fpless " FPL_VERSION "\n", to);
}

static int finish_stdout(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return CLI_EXIT_OK;
	perror("fpless: stdout");
	return CLI_EXIT_OUTPUT;
}

/*
 * A reader that closes the pipe is an output that could not be written, not a death. A handler and
 * not SIG_IGN: exec would hand that down to the command, which is to run as it does without fpless.
 */
static void on_broken_pipe(int signal_number)
{
	(void)signal_number;
}

/* Is @path, as a program is called, this @name? */
static bool is_called(const char *path, const char *name)
{
	const char *slash = strrchr(path, '/');

	return strcmp(slash ? slash + 1 : path, name) == 0;
}

int main(int argc, char **argv)
{
	const struct sigaction pipe_action = { .sa_handler = on_broken_pipe,
					       .sa_flags = SA_RESTART };
	const char *verb = argc > 1 ? argv[1] : NULL;

	if (argc == 2 && strcmp(verb, NURSERY_VERB) == 0)
		nursery_main(STDIN_FILENO);
	sigaction(SIGPIPE, &pipe_action, NULL);
	argp_err_exit_status = CLI_EXIT_USAGE;
	argp_program_version_hook = print_version;

	if (argc && is_called(argv[0], "fpless-bcc-profile"))
		return cmd_bcc_profile(argc, argv);
	if (!verb) {
		print_help(stderr);
		return CLI_EXIT_USAGE;
	}
	if (!strcmp(verb, "--help") || !strcmp(verb, "-h") || !strcmp(verb, "help")) {
		print_help(stdout);
		return finish_stdout();
	}
	if (!strcmp(verb, "--version") || !strcmp(verb, "-V")) {
		print_version(stdout, NULL);
		return finish_stdout();
	}
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		if (strcmp(verb, verbs[i].name) != 0)
			continue;
		argv[1] = verbs[i].label;
		return verbs[i].run(argc - 1, argv + 1);
	}
	fpl_log(FPL_LOG_ERROR, "no verb '%s': see fpless --help", verb);
	return CLI_EXIT_USAGE;
}
