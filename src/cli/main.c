/* SPDX-License-Identifier: Apache-2.0 */
#include <argp.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cli/verbs.h"
#include "cli/cli.h"
#include "parse/spawner.h"

static void print_help(FILE *to)
{
	fputs("Usage: fpless VERB [OPTION...]\n"
	      "A sampling profiler with correct stacks of programs built without frame pointers.\n"
	      "\n",
	      to);
	for (size_t i = 0; i < cli_verbs_nr; i++)
		fprintf(to, "  %-14s %s\n", cli_verbs[i].name, cli_verbs[i].text);
	fputs("\n"
	      "  help VERB      the options of a verb, as fpless VERB --help\n"
	      "  --version      the version\n"
	      "\n"
	      "Typical first steps:\n"
	      "\n"
	      "  fpless doctor                               can it run here?\n"
	      "  fpless profile -d 10                        the whole machine, 10 seconds\n"
	      "  fpless profile -F 499 -o out.folded -- CMD  a command and its descendants\n"
	      "  fpless compare -- CMD                       are its frame pointers right?\n"
	      "\n"
	      "Exit status: 0 ok, 1 usage, 2 cannot run here, or an input cannot be read,\n"
	      "3 target gone or no samples, 4 --strict, 5 verify found a disagreement,\n"
	      "6 an output could not be written; otherwise that of CMD.\n"
	      "\n"
	      "The manual: man fpless, man fpless-VERB.\n",
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

/* Names that tools of bcc have: links in a folder of their own lead here. */
static const struct {
	const char *name, *verb;
} bcc_names[] = {
	{ "profile", "bcc-profile" },	      { "profile-bpfcc", "bcc-profile" },
	{ "offcputime", "bcc-offcputime" },   { "offcputime-bpfcc", "bcc-offcputime" },
	{ "offwaketime", "bcc-offwaketime" }, { "offwaketime-bpfcc", "bcc-offwaketime" },
	{ "wakeuptime", "bcc-wakeuptime" },   { "wakeuptime-bpfcc", "bcc-wakeuptime" },
	{ "stackcount", "bcc-stackcount" },   { "stackcount-bpfcc", "bcc-stackcount" },
};

/* The verb that the program is when called by @path, "fpless-NAME" or as of bcc; NULL: none. */
static const struct cli_verb *find_program(const char *path)
{
	static const char prefix[] = "fpless-";
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < ARRAY_SIZE(bcc_names); i++)
		if (!strcmp(name, bcc_names[i].name))
			return cli_verb_find(bcc_names[i].verb);
	if (strncmp(name, prefix, sizeof(prefix) - 1) != 0)
		return NULL;
	const struct cli_verb *verb = cli_verb_find(name + sizeof(prefix) - 1);
	return verb && verb->program ? verb : NULL;
}

/* Do the words differ by one letter only: another, one too many, or one too few? */
static bool is_misspelt(const char *typed, const char *word)
{
	while (*typed && *typed == *word) {
		typed++;
		word++;
	}
	return !strcmp(typed, *word ? word + 1 : word) || (*typed && !strcmp(typed + 1, word)) ||
	       (*typed && *word && !strcmp(typed + 1, word + 1));
}

/* Options and verbs that users of other profilers type first. */
static const struct {
	const char *typed, *instead;
} others[] = {

	{ "run", "fpless profile -- COMMAND" },
	{ "list", "fpless events" },
	{ "stat", "fpless profile (fpless samples, and does not count events)" },

	{ "convert", "fpless report FILE -o OTHER" },
	{ "load", "fpless report FILE" },
	{ "flamegraph", "fpless profile -o FILE.svg, or fpless report FILE -o FILE.svg" },
	{ "pprof", "fpless profile -o FILE.pb.gz, or fpless report FILE -o FILE.pb.gz" },
};

static void refuse_verb(const char *typed)
{
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		if (strcmp(typed, others[i].typed) != 0)
			continue;
		fpl_log(FPL_LOG_ERROR, "no verb '%s': %s", typed, others[i].instead);
		return;
	}
	for (size_t i = 0; i < cli_verbs_nr; i++) {
		if (!is_misspelt(typed, cli_verbs[i].name))
			continue;
		fpl_log(FPL_LOG_ERROR, "no verb '%s': did you mean %s? see fpless --help", typed,
			cli_verbs[i].name);
		return;
	}
	fpl_log(FPL_LOG_ERROR, "no verb '%s': see fpless --help", typed);
}

/* @argv[0] is the verb. It becomes the label argp puts before its messages. */
static int run_verb(int argc, char **argv)
{
	static char label[32];
	const struct cli_verb *verb = cli_verb_find(argv[0]);

	if (!verb) {
		refuse_verb(argv[0]);
		return CLI_EXIT_USAGE;
	}
	snprintf(label, sizeof(label), "fpless %s", verb->name);
	argv[0] = label;
	return verb->run(argc, argv);
}

/* @argv[0] is the first word behind the name of the program. */
static int run_word(int argc, char **argv)
{
	static char help[] = "--help";
	const char *word = argv[0];

	if (!strcmp(word, "help") && argc > 1)
		return run_verb(2, (char *[]){ argv[1], help, NULL });
	if (!strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "help")) {
		print_help(stdout);
		return finish_stdout();
	}
	if (!strcmp(word, "--version") || !strcmp(word, "-V")) {
		print_version(stdout, NULL);
		return finish_stdout();
	}
	return run_verb(argc, argv);
}

/*
 * A file that is opened while one of the descriptors 0 to 2 is closed takes its place, and what is
 * said on stderr ends up in it. stdout is held by one that cannot be written: data for it is an
 * error as before. A command of the user finds them closed, as they were. False: not to be done.
 */
static bool hold_standard_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		int flags = fd == STDOUT_FILENO ? O_RDONLY : O_RDWR;

		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", flags | O_CLOEXEC) != fd)
			return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	const struct sigaction pipe_action = { .sa_handler = on_broken_pipe,
					       .sa_flags = SA_RESTART };

	if (!hold_standard_descriptors())
		return CLI_EXIT_CANNOT_RUN;
	if (argc == 2 && strcmp(argv[1], SPAWNER_VERB) == 0)
		spawner_main(STDIN_FILENO);
	sigaction(SIGPIPE, &pipe_action, NULL);
	/* which characters there are, and how wide: what goes elsewhere is the same in any locale
	 */
	if (isatty(STDOUT_FILENO))
		setlocale(LC_CTYPE, "");
	argp_err_exit_status = CLI_EXIT_USAGE;
	argp_program_version_hook = print_version;

	const struct cli_verb *program = argc ? find_program(argv[0]) : NULL;

	if (program)
		return program->run(argc, argv);
	if (argc < 2) {
		print_help(stdout);
		return finish_stdout() ? CLI_EXIT_OUTPUT : CLI_EXIT_USAGE;
	}
	return run_word(argc - 1, argv + 1);
}
