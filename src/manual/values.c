/* SPDX-License-Identifier: Apache-2.0 */
#include "manual/values.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "format/formats.h"
#include "profile/profile.h"
#include "source/source_spec.h"

static const struct {
	const char *word; /* in --help */
	enum value_kind kind;
} known[] = {
	{ "FILE", VALUE_FILE },
	{ "DIR", VALUE_FOLDER },
	{ "PATH", VALUE_FOLDER },
	{ "PID[,PID...]", VALUE_PIDS },
	{ "PID", VALUE_PIDS },
	{ "UID|NAME", VALUE_USER },
	{ "FORMAT", VALUE_WORD },
	{ "EVENT", VALUE_WORD },
	{ "EVENT[,EVENT...]", VALUE_WORDS },
	{ "LABEL[,LABEL...]", VALUE_WORDS },
};

static void add_word(struct value *value, const char *word)
{
	size_t len = strlen(value->words);

	snprintf(value->words + len, sizeof(value->words) - len, "%s%s", len ? " " : "", word);
}

/* Those that this machine may have: the CPU's counters are listed by fpless events. */
static void add_events(struct value *value)
{
	add_word(value, "cycles");
	for (size_t i = 0; i < source_words_nr; i++) {
		if (source_words[i].class == SOURCE_HARDWARE)
			continue;
		add_word(value, source_words[i].name);
		if (source_words[i].alias)
			add_word(value, source_words[i].alias);
	}
}

static void add_words(const char *arg, struct value *value)
{
	if (!strncmp(arg, "EVENT", 5)) {
		add_events(value);
		return;
	}
	if (!strncmp(arg, "LABEL", 5)) {
#define X(name, word) add_word(value, word);
		PROFILE_LABEL_LIST(X)
#undef X
		return;
	}
	for (size_t i = 0; i < formats_nr; i++)
		add_word(value, formats[i].name);
}

/* "auto|cfi|fp": a choice lists its words itself. */
static bool take_choice(const char *arg, struct value *ret)
{
	if (!strchr(arg, '|') || arg[strspn(arg, "abcdefghijklmnopqrstuvwxyz0123456789-|")])
		return false;
	ret->kind = VALUE_WORD;
	snprintf(ret->words, sizeof(ret->words), "%s", arg);
	for (char *at = ret->words; (at = strchr(at, '|'));)
		*at = ' ';
	return true;
}

void value_of_option(const struct argp_option *option, struct value *ret)
{
	*ret = (struct value){ .kind = VALUE_OTHER };
	if (!option->arg || take_choice(option->arg, ret))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (strcmp(known[i].word, option->arg) != 0)
			continue;
		ret->kind = known[i].kind;
		if (ret->kind == VALUE_WORD || ret->kind == VALUE_WORDS)
			add_words(option->arg, ret);
	}
}

enum value_kind value_of_words(const struct argp *argp, bool *ret_command)
{
	static const char *const files[] = { "FILE", "BEFORE", "RECORDING" };
	const char *usage = argp->args_doc ? argp->args_doc : "";

	bool bare = strstr(usage, "[--] COMMAND");

	*ret_command = bare || strstr(usage, "-- COMMAND");
	if (bare)
		return VALUE_COMMAND;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (strstr(usage, files[i]))
			return VALUE_FILE;
	return VALUE_OTHER;
}
