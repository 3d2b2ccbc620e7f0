/* SPDX-License-Identifier: Apache-2.0 */
/* The values that a word of --help stands for, as FILE or auto|cfi|fp: completions offer them. */
#pragma once

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

enum value_kind {
	VALUE_OTHER, /* a number, a name: nothing to offer */
	VALUE_FILE,
	VALUE_FOLDER,
	VALUE_PIDS, /* process ids, separated by commas */
	VALUE_USER,
	VALUE_WORD,    /* one of a few words */
	VALUE_WORDS,   /* some of a few words, separated by commas */
	VALUE_COMMAND, /* a number, or the first word of a command */
};

#define VALUE_WORDS_BYTES 512u

struct value {
	enum value_kind kind;
	char words[VALUE_WORDS_BYTES]; /* of a word: separated by blanks */
};

/* The value of @option; VALUE_OTHER also if it takes no value. */
void value_of_option(const struct argp_option *option, struct value *ret);

/* The words of a verb besides options, by its usage line; @ret_command: a command behind "--".
 * VALUE_COMMAND: without it, too. */
enum value_kind value_of_words(const struct argp *argp, bool *ret_command);
