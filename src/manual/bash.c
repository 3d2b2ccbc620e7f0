/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/cleanup.h"
#include "cli/verbs.h"
#include "manual/completion.h"
#include "manual/option_list.h"
#include "manual/values.h"

/* The part that does not depend on the tables. Values of options are read by their kind. */
static const char head[] =
	"# Completion of fpless for bash. Made by the build from the tables of options.\n"
	"\n"
	"# _fpless_offer WORD...: those that begin with $cur.\n"
	"_fpless_offer()\n"
	"{\n"
	"\tlocal IFS=$' \\t\\n'\n"
	"\tmapfile -t COMPREPLY < <(compgen -W \"$*\" -- \"$cur\")\n"
	"}\n"
	"\n"
	"# _fpless_list WORD...: the same for the last part of a list with commas.\n"
	"_fpless_list()\n"
	"{\n"
	"\tlocal before=\n"
	"\t[[ $cur != *,* ]] || before=${cur%,*},\n"
	"\tlocal cur=${cur##*,}\n"
	"\t_fpless_offer \"$@\"\n"
	"\tCOMPREPLY=(\"${COMPREPLY[@]/#/$before}\")\n"
	"\t[[ ${COMPREPLY[*]} ]] || COMPREPLY=()\n"
	"\tcompopt -o nospace\n"
	"}\n"
	"\n"
	"_fpless_files()\n"
	"{\n"
	"\tcompopt -o filenames\n"
	"\tmapfile -t COMPREPLY < <(compgen \"$1\" -- \"$cur\")\n"
	"}\n"
	"\n"
	"_fpless_pids()\n"
	"{\n"
	"\tlocal pids=(/proc/[0-9]*)\n"
	"\t_fpless_list \"${pids[@]#/proc/}\"\n"
	"}\n"
	"\n"
	"# _fpless_value KIND [WORD...]\n"
	"_fpless_value()\n"
	"{\n"
	"\tlocal kind=$1\n"
	"\tshift\n"
	"\tcase $kind in\n"
	"\tfile) _fpless_files -f ;;\n"
	"\tfolder) _fpless_files -d ;;\n"
	"\tpids) _fpless_pids ;;\n"
	"\tuser) mapfile -t COMPREPLY < <(compgen -u -- \"$cur\") ;;\n"
	"\tword) _fpless_offer \"$@\" ;;\n"
	"\twords) _fpless_list \"$@\" ;;\n"
	"\tcommand) _fpless_command \"$COMP_CWORD\" ;;\n"
	"\tesac\n"
	"}\n"
	"\n";

static const char tail[] =
	"# _fpless_command FIRST: a command and its words, from that word of the line on.\n"
	"_fpless_command()\n"
	"{\n"
	"\tif declare -F _command_offset >/dev/null; then\n"
	"\t\t_command_offset \"$1\"\n"
	"\telif ((COMP_CWORD == $1)); then\n"
	"\t\tmapfile -t COMPREPLY < <(compgen -c -- \"$cur\")\n"
	"\telse\n"
	"\t\t_fpless_files -f\n"
	"\tfi\n"
	"}\n"
	"\n"
	"# _fpless_begin VERB FIRST: the place of a command behind --, or of one without that; none: nothing.\n"
	"_fpless_begin()\n"
	"{\n"
	"\tlocal i word words\n"
	"\twords=$(_fpless_words \"$1\")\n"
	"\tfor ((i = $2; i < COMP_CWORD; i++)); do\n"
	"\t\tword=${COMP_WORDS[i]}\n"
	"\t\tif [[ $word == -- ]]; then\n"
	"\t\t\techo $((i + 1))\n"
	"\t\t\treturn\n"
	"\t\telif [[ $words != command* ]]; then\n"
	"\t\t\tcontinue\n"
	"\t\telif [[ ${COMP_WORDS[i + 1]} == = ]]; then\n"
	"\t\t\t((i += 2))\n"
	"\t\telif [[ $word == -* ]]; then\n"
	"\t\t\t[[ ! $(_fpless_takes \"$1\" \"$word\" '') ]] || ((i++))\n"
	"\t\telif [[ ! $word =~ ^[0-9.]+(ms|s|m|h)?$ ]]; then\n"
	"\t\t\techo \"$i\"\n"
	"\t\t\treturn\n"
	"\t\tfi\n"
	"\tdone\n"
	"}\n"
	"\n"
	"_fpless()\n"
	"{\n"
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]} at=$((COMP_CWORD - 1)) first=2 verb begin\n"
	"\tCOMPREPLY=()\n"
	"\tcase ${COMP_WORDS[0]##*/} in\n"
	"\tfpless-*) verb=${COMP_WORDS[0]##*/fpless-} verb=${verb#fpless-} first=1 ;;\n"
	"\t*) verb=${COMP_WORDS[1]} ;;\n"
	"\tesac\n"
	"\tif ((COMP_CWORD < first)); then\n"
	"\t\t_fpless_offer $(_fpless_verbs) help --help --version\n"
	"\t\treturn\n"
	"\tfi\n"
	"\tif [[ $verb == help ]]; then\n"
	"\t\t((COMP_CWORD > 2)) || _fpless_offer $(_fpless_verbs)\n"
	"\t\treturn\n"
	"\tfi\n"
	"\tbegin=$(_fpless_begin \"$verb\" \"$first\")\n"
	"\tif [[ $begin ]]; then\n"
	"\t\tif [[ $(_fpless_words \"$verb\") == *command* ]]; then\n"
	"\t\t\t_fpless_command \"$begin\"\n"
	"\t\telse\n"
	"\t\t\t_fpless_value $(_fpless_words \"$verb\")\n"
	"\t\tfi\n"
	"\t\treturn\n"
	"\tfi\n"
	"\t# --option=value is three words here, or two as long as the value is empty\n"
	"\tlocal glued=\n"
	"\tif [[ $cur == = ]]; then\n"
	"\t\tcur= glued=1\n"
	"\telif [[ ${COMP_WORDS[at]} == = ]]; then\n"
	"\t\t((at--))\n"
	"\t\tglued=1\n"
	"\tfi\n"
	"\tlocal value\n"
	"\tvalue=$(_fpless_takes \"$verb\" \"${COMP_WORDS[at]}\" \"$glued\")\n"
	"\tif [[ $value ]]; then\n"
	"\t\t_fpless_value $value\n"
	"\telif [[ $glued ]]; then\n"
	"\t\t:\n"
	"\telif [[ $cur == -* ]]; then\n"
	"\t\t_fpless_offer $(_fpless_options \"$verb\")\n"
	"\telse\n"
	"\t\t_fpless_value $(_fpless_words \"$verb\")\n"
	"\tfi\n"
	"}\n"
	"complete -F _fpless";

static void put_value(FILE *to, const struct value *value)
{
	static const char *const kinds[] = {
		[VALUE_OTHER] = "other", [VALUE_FILE] = "file",	      [VALUE_FOLDER] = "folder",
		[VALUE_PIDS] = "pids",	 [VALUE_USER] = "user",	      [VALUE_WORD] = "word",
		[VALUE_WORDS] = "words", [VALUE_COMMAND] = "command",
	};

	fprintf(to, "echo %s", kinds[value->kind]);
	if (*value->words)
		fprintf(to, " %s", value->words);
}

static void put_options(FILE *to, const struct option_list *list)
{
	for (size_t i = 0; i < list->nr; i++) {
		const struct argp_option *option = list->list[i].option;

		if (option_is_heading(option))
			continue;
		if (option_letter(option) && option_letter(option) != '?')
			fprintf(to, " -%c", option_letter(option));
		if (option->name)
			fprintf(to, " --%s", option->name);
	}
}

/* A case for each option that takes a value; an optional value must be glued to it. */
static void put_takes(FILE *to, const char *verb, const struct option_list *list)
{
	for (size_t i = 0; i < list->nr; i++) {
		const struct argp_option *option = list->list[i].option;
		const char *how = option_needs_value(option) ? "*" : "1";
		char letter = option_letter(option);
		struct value value;

		if (!option_takes_value(option))
			continue;
		value_of_option(option, &value);
		fputc('\t', to);
		if (letter && option_needs_value(option))
			fprintf(to, "%s:-%c:*%s", verb, letter, option->name ? " | " : "");
		if (option->name)
			fprintf(to, "%s:--%s:%s", verb, option->name, how);
		fputs(") ", to);
		put_value(to, &value);
		fputs(" ;;\n", to);
	}
}

enum part { PART_OPTIONS, PART_TAKES, PART_WORDS };

static int put_verb(FILE *to, const struct cli_verb *verb, enum part part)
{
	CLEANUP(option_list_fini) struct option_list list = { 0 };
	struct value words = { .kind = VALUE_OTHER };
	bool command;
	int error = option_list_make(verb->argp, &list);

	if (error)
		return error;
	words.kind = value_of_words(verb->argp, &command);
	switch (part) {
	case PART_OPTIONS:
		fprintf(to, "\t%s) echo '", verb->name);
		put_options(to, &list);
		fputs("' ;;\n", to);
		break;
	case PART_TAKES:
		put_takes(to, verb->name, &list);
		break;
	case PART_WORDS:
		fprintf(to, "\t%s) ", verb->name);
		put_value(to, &words);
		fprintf(to, "%s ;;\n", command ? " command" : "");
		break;
	}
	return 0;
}

static int put_function(FILE *to, const char *comment, const char *name, const char *subject,
			enum part part)
{
	int error = 0;

	fprintf(to, "# %s\n%s()\n{\n\tcase %s in\n", comment, name, subject);
	for (size_t i = 0; !error && i < cli_verbs_nr; i++)
		error = put_verb(to, &cli_verbs[i], part);
	fputs("\tesac\n}\n\n", to);
	return error;
}

int completion_bash(FILE *to)
{
	fputs(head, to);
	fputs("_fpless_verbs()\n{\n\techo '", to);
	for (size_t i = 0; i < cli_verbs_nr; i++)
		fprintf(to, " %s", cli_verbs[i].name);
	fputs("'\n}\n\n", to);

	int error = put_function(to, "_fpless_options VERB", "_fpless_options", "$1", PART_OPTIONS);

	if (!error)
		error = put_function(to,
				     "_fpless_takes VERB OPTION GLUED: the kind of value, if any.",
				     "_fpless_takes", "$1:$2:$3", PART_TAKES);
	if (!error)
		error = put_function(to, "_fpless_words VERB: its words besides options.",
				     "_fpless_words", "$1", PART_WORDS);
	fputs(tail, to);
	fputs(" fpless", to);
	for (size_t i = 0; i < cli_verbs_nr; i++)
		if (cli_verbs[i].program)
			fprintf(to, " fpless-%s", cli_verbs[i].name);
	fputc('\n', to);
	return error;
}
