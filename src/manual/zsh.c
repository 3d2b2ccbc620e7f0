/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/cleanup.h"
#include "cli/verbs.h"
#include "manual/completion.h"
#include "manual/option_list.h"
#include "manual/values.h"

static const char head[] =
	"# Completion of fpless for zsh. Made by the build from the tables of options.\n"
	"\n"
	"# Process ids, separated by commas.\n"
	"_fpless_pids() {\n"
	"  local -a pids=(/proc/<->(N:t))\n"
	"  _sequence compadd - $pids\n"
	"}\n"
	"\n";

static const char body[] =
	"_fpless() {\n"
	"  local verb\n"
	"  if [[ $service == fpless-* ]]; then\n"
	"    verb=${service#fpless-}\n"
	"  elif (( CURRENT == 2 )); then\n"
	"    _fpless_verbs\n"
	"    compadd -- --help --version\n"
	"    return\n"
	"  else\n"
	"    verb=$words[2]\n"
	"    shift words\n"
	"    (( CURRENT-- ))\n"
	"  fi\n"
	"  if [[ $verb == help ]]; then\n"
	"    (( CURRENT > 2 )) || _fpless_verbs\n"
	"    return\n"
	"  fi\n"
	"  # a command begins behind --, or with the first word that is no option, no value and no number\n"
	"  if [[ $verb == (${(~j:|:)_fpless_commands}) ]]; then\n"
	"    local -i i begin=0\n"
	"    for (( i = 2; i < CURRENT && !begin; i++ )); do\n"
	"      if [[ $words[i] == -- ]]; then\n"
	"        begin=i+1\n"
	"      elif (( ! ${_fpless_bare[(Ie)$verb]} )); then\n"
	"        continue\n"
	"      elif (( ${_fpless_valued[(Ie)$verb:$words[i]]} )); then\n"
	"        (( i++ ))\n"
	"      elif [[ ! $words[i] =~ '^(-|[0-9.]+(ms|s|m|h)?$)' ]]; then\n"
	"        begin=i\n"
	"      fi\n"
	"    done\n"
	"    if (( begin )); then\n"
	"      shift $(( begin - 1 )) words\n"
	"      (( CURRENT -= begin - 1 ))\n"
	"      _normal\n"
	"      return\n"
	"    fi\n"
	"  fi\n"
	"  local -a specs\n"
	"  case $verb in\n";

/* @text inside of '...': zsh ends it at a quote, _arguments at a bracket or a colon. */
static void put_text(FILE *to, const char *text, const char *escaped)
{
	for (; *text; text++) {
		if (*text == '\'') {
			fputs("'\\''", to);
			continue;
		}
		if (strchr(escaped, *text))
			fputc('\\', to);
		fputc(*text, to);
	}
}

static void put_action(FILE *to, const struct value *value)
{
	switch (value->kind) {
	case VALUE_FILE:
		fputs("_files", to);
		break;
	case VALUE_FOLDER:
		fputs("_files -/", to);
		break;
	case VALUE_PIDS:
		fputs("_fpless_pids", to);
		break;
	case VALUE_USER:
		fputs("_users", to);
		break;
	case VALUE_WORD:
		fprintf(to, "(%s)", value->words);
		break;
	case VALUE_WORDS:
		fprintf(to, "_sequence compadd - %s", value->words);
		break;
	case VALUE_COMMAND:
		fputs("_command_names", to);
		break;
	case VALUE_OTHER:
		fputc(' ', to);
		break;
	}
}

/* "*-F+[text]:HZ:action": "+" and "=" take the value glued on or as the next word, "=-" glued only.
 */
static void put_spec(FILE *to, const struct argp_option *option, const char *call, const char *glue)
{
	struct value value;

	fprintf(to, "      '*%s%s[", call, glue);
	put_text(to, option->doc ? option->doc : "", "[]\\");
	fputc(']', to);
	if (option_takes_value(option)) {
		value_of_option(option, &value);
		fputs(option_needs_value(option) ? ":" : "::", to);
		put_text(to, option->arg, ":[]\\");
		fputc(':', to);
		put_action(to, &value);
	}
	fputs("'\n", to);
}

static void put_option(FILE *to, const struct argp_option *option)
{
	char letter = option_letter(option), call[64];
	bool needs = option_needs_value(option), takes = option_takes_value(option);

	if (letter && letter != '?') {
		snprintf(call, sizeof(call), "-%c", letter);
		put_spec(to, option, call, needs ? "+" : "");
	}
	if (option->name)
		put_spec(to, option, option_call(option, call, sizeof(call)),
			 needs	 ? "="
			 : takes ? "=-"
				 : "");
}

static int put_verb(FILE *to, const struct cli_verb *verb)
{
	CLEANUP(option_list_fini) struct option_list list = { 0 };
	bool command;
	int error = option_list_make(verb->argp, &list);

	if (error)
		return error;
	fprintf(to, "  %s)\n    specs=(\n", verb->name);
	for (size_t i = 0; i < list.nr; i++)
		if (!option_is_heading(list.list[i].option))
			put_option(to, list.list[i].option);
	switch (value_of_words(verb->argp, &command)) {
	case VALUE_FILE:
		fputs("      '*:file:_files'\n", to);
		break;
	case VALUE_COMMAND:
		fputs("      '*:command:_command_names'\n", to);
		break;
	default:
		break;
	}
	fputs("    )\n    ;;\n", to);
	return 0;
}

static int put_valued(FILE *to, const struct cli_verb *verb)
{
	CLEANUP(option_list_fini) struct option_list list = { 0 };
	char call[64];
	int error = option_list_make(verb->argp, &list);

	for (size_t i = 0; !error && i < list.nr; i++) {
		const struct argp_option *option = list.list[i].option;

		if (option_is_heading(option) || !option_needs_value(option))
			continue;
		if (option_letter(option))
			fprintf(to, "  %s:-%c\n", verb->name, option_letter(option));
		if (option->name)
			fprintf(to, "  %s:%s\n", verb->name,
				option_call(option, call, sizeof(call)));
	}
	return error;
}

/* The verbs whose command needs no --, and their options whose value may be the next word. */
static int put_bare(FILE *to)
{
	bool command;
	int error = 0;

	fputs("_fpless_bare=(", to);
	for (size_t i = 0; i < cli_verbs_nr; i++)
		if (value_of_words(cli_verbs[i].argp, &command) == VALUE_COMMAND)
			fprintf(to, " %s", cli_verbs[i].name);
	fputs(" )\n_fpless_valued=(\n", to);
	for (size_t i = 0; !error && i < cli_verbs_nr; i++)
		if (value_of_words(cli_verbs[i].argp, &command) == VALUE_COMMAND)
			error = put_valued(to, &cli_verbs[i]);
	fputs(")\n\n", to);
	return error;
}

static void put_verbs(FILE *to)
{
	bool command;

	fputs("_fpless_commands=(", to);
	for (size_t i = 0; i < cli_verbs_nr; i++) {
		value_of_words(cli_verbs[i].argp, &command);
		if (command)
			fprintf(to, " %s", cli_verbs[i].name);
	}
	fputs(" )\n\n_fpless_verbs() {\n  local -a verbs=(\n", to);
	for (size_t i = 0; i < cli_verbs_nr; i++) {
		fprintf(to, "    '%s:", cli_verbs[i].name);
		put_text(to, cli_verbs[i].text, ":\\");
		fputs("'\n", to);
	}
	fputs("    'help:the options of a verb'\n  )\n  _describe -t verbs verb verbs\n}\n\n", to);
}

int completion_zsh(FILE *to)
{
	int error;

	fputs("#compdef fpless", to);
	for (size_t i = 0; i < cli_verbs_nr; i++)
		if (cli_verbs[i].program)
			fprintf(to, " fpless-%s", cli_verbs[i].name);
	fputc('\n', to);
	fputs(head, to);
	put_verbs(to);
	error = put_bare(to);
	fputs(body, to);
	for (size_t i = 0; !error && i < cli_verbs_nr; i++)
		error = put_verb(to, &cli_verbs[i]);
	fputs("  *)\n    return 1\n    ;;\n  esac\n  _arguments -S : $specs\n}\n\n_fpless \"$@\"\n",
	      to);
	return error;
}
