/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/cleanup.h"
#include "cli/verbs.h"
#include "manual/completion.h"
#include "manual/option_list.h"
#include "manual/values.h"

static const char head[] =
	"# Completion of fpless for fish. Made by the build from the tables of options.\n"
	"\n"
	"# The place of the command in the words of the line: behind --, or the first word that is no\n"
	"# option, no value and no number, of a verb that takes one so.\n"
	"function __fpless_begin\n"
	"    set -l words (commandline -opc)\n"
	"    set -l valued (__fpless_valued \"$words[2]\")\n"
	"    set -l skip\n"
	"    for i in (seq 3 (count $words))\n"
	"        if set -q skip[1]\n"
	"            set -e skip[1]\n"
	"        else if test \"$words[$i]\" = --\n"
	"            math $i + 1\n"
	"            return 0\n"
	"        else if not set -q valued[1]\n"
	"            continue\n"
	"        else if contains -- \"$words[$i]\" $valued\n"
	"            set skip 1\n"
	"        else if not string match -qr '^(-|[0-9.]+(ms|s|m|h)?$)' -- \"$words[$i]\"\n"
	"            echo $i\n"
	"            return 0\n"
	"        end\n"
	"    end\n"
	"    return 1\n"
	"end\n"
	"\n"
	"# The verb of the line is this one, and no command has begun.\n"
	"function __fpless_verb\n"
	"    set -l words (commandline -opc)\n"
	"    set -q words[2]; and test $words[2] = $argv[1]; and not __fpless_begin >/dev/null\n"
	"end\n"
	"\n"
	"# A command has begun, of one of these verbs.\n"
	"function __fpless_has_command\n"
	"    set -l words (commandline -opc)\n"
	"    set -q words[2]; and contains -- $words[2] $argv; and __fpless_begin >/dev/null\n"
	"end\n"
	"\n"
	"function __fpless_command\n"
	"    set -l words (commandline -opc)\n"
	"    set -l first (__fpless_begin)\n"
	"    set -l rest\n"
	"    set -q first[1]; and set -q words[$first]; and set rest $words[$first..-1]\n"
	"    set -l line (string join ' ' -- (string escape -- $rest) (commandline -ct))\n"
	"    string match -qr '^[^-]' -- $line; and complete -C $line\n"
	"end\n"
	"\n"
	"function __fpless_pids\n"
	"    __fish_append , (string replace -rf '^/proc/(\\d+)$' '$1' /proc/*)\n"
	"end\n"
	"\n"
	"complete -c fpless -f\n"
	"complete -c fpless -n 'test (count (commandline -opc)) -eq 1' -l help -d 'Print the "
	"verbs'\n"
	"complete -c fpless -n 'test (count (commandline -opc)) -eq 1' -l version -d 'Print the "
	"version'\n";

/* @text inside of '...' */
static void put_text(FILE *to, const char *text)
{
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			fputc('\\', to);
		fputc(*text, to);
	}
}

static void put_action(FILE *to, const struct value *value)
{
	switch (value->kind) {
	case VALUE_FILE:
		fputs(" -r -F", to);
		break;
	case VALUE_FOLDER:
		fputs(" -x -a '(__fish_complete_directories (commandline -ct))'", to);
		break;
	case VALUE_PIDS:
		fputs(" -x -a '(__fpless_pids)'", to);
		break;
	case VALUE_USER:
		fputs(" -x -a '(__fish_complete_users)'", to);
		break;
	case VALUE_WORD:
		fprintf(to, " -x -a '%s'", value->words);
		break;
	case VALUE_WORDS:
		fprintf(to, " -x -a '(__fish_append , %s)'", value->words);
		break;
	case VALUE_COMMAND: /* of no option */
	case VALUE_OTHER:
		fputs(" -x", to);
		break;
	}
}

/* The start of a line for a verb: the program, and the condition. */
static void put_start(FILE *to, const struct cli_verb *verb)
{
	if (verb->program)
		fprintf(to, "complete -c fpless-%s", verb->name);
	else
		fprintf(to, "complete -c fpless -n '__fpless_verb %s'", verb->name);
}

static void put_option(FILE *to, const struct cli_verb *verb, const struct argp_option *option)
{
	char letter = option_letter(option);
	struct value value;

	put_start(to, verb);
	if (letter && letter != '?')
		fprintf(to, " -s %c", letter);
	if (option->name)
		fprintf(to, " -l %s", option->name);
	/* fish has no optional values: such an option is offered without */
	if (option_needs_value(option)) {
		value_of_option(option, &value);
		put_action(to, &value);
	} else if (option_takes_value(option)) {
		value_of_option(option, &value);
		if (value.kind == VALUE_WORD)
			fprintf(to, " -a '%s'", value.words);
	}
	fputs(" -d '", to);
	put_text(to, option->doc ? option->doc : "");
	fputs("'\n", to);
}

static int put_verb(FILE *to, const struct cli_verb *verb)
{
	CLEANUP(option_list_fini) struct option_list list = { 0 };
	bool command;
	int error = option_list_make(verb->argp, &list);

	if (error)
		return error;
	if (verb->program) {
		fprintf(to, "complete -c fpless-%s -f\n", verb->name);
	} else {
		fprintf(to,
			"complete -c fpless -n 'test (count (commandline -opc)) -eq 1' -a %s -d '",
			verb->name);
		put_text(to, verb->text);
		fprintf(to, "'\ncomplete -c fpless -n '__fpless_verb help' -a %s\n", verb->name);
	}
	for (size_t i = 0; i < list.nr; i++)
		if (!option_is_heading(list.list[i].option))
			put_option(to, verb, list.list[i].option);
	switch (value_of_words(verb->argp, &command)) {
	case VALUE_FILE:
		put_start(to, verb);
		fputs(" -F\n", to);
		break;
	case VALUE_COMMAND:
		put_start(to, verb);
		fputs(" -a '(__fpless_command)'\n", to);
		break;
	default:
		break;
	}
	if (command)
		fprintf(to,
			"complete -c fpless -n '__fpless_has_command %s' -x -a "
			"'(__fpless_command)'\n",
			verb->name);
	return 0;
}

/* A case of __fpless_valued for a verb whose command needs no --. */
static int put_valued(FILE *to, const struct cli_verb *verb)
{
	CLEANUP(option_list_fini) struct option_list list = { 0 };
	char call[64];
	int error = option_list_make(verb->argp, &list);

	fprintf(to, "        case %s\n            string split -- ' ' '", verb->name);
	for (size_t i = 0; !error && i < list.nr; i++) {
		const struct argp_option *option = list.list[i].option;

		if (option_is_heading(option) || !option_needs_value(option))
			continue;
		if (option_letter(option))
			fprintf(to, "-%c ", option_letter(option));
		if (option->name)
			fprintf(to, "%s ", option_call(option, call, sizeof(call)));
	}
	fputs("'\n", to);
	return error;
}

static int put_all_valued(FILE *to)
{
	bool command;
	int error = 0;

	fputs("\n# The options of this verb whose value is the next word, if its command needs no --.\n"
	      "function __fpless_valued\n    switch \"$argv[1]\"\n",
	      to);
	for (size_t i = 0; !error && i < cli_verbs_nr; i++)
		if (value_of_words(cli_verbs[i].argp, &command) == VALUE_COMMAND)
			error = put_valued(to, &cli_verbs[i]);
	fputs("    end\nend\n\n", to);
	return error;
}

int completion_fish(FILE *to)
{
	int error;

	fputs(head, to);
	error = put_all_valued(to);
	fputs("complete -c fpless -n 'test (count (commandline -opc)) -eq 1' -a help -d 'The "
	      "options "
	      "of a verb'\n",
	      to);
	for (size_t i = 0; !error && i < cli_verbs_nr; i++) {
		struct cli_verb verb = cli_verbs[i];

		verb.program = false;
		error = put_verb(to, &verb);
		if (!error && cli_verbs[i].program)
			error = put_verb(to, &cli_verbs[i]);
	}
	return error;
}
