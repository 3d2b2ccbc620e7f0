/* SPDX-License-Identifier: Apache-2.0 */
/* What may stand for a word of --help, as FILE or auto|cfi|fp: what completions offer there. */
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
	VALUE_WORD,  /* one of a few words */
	VALUE_WORDS, /* some of a few words, separated by commas */
};

#define VALUE_WORDS_BYTES 512u

struct value {
	enum value_kind kind;
	char words[VALUE_WORDS_BYTES]; /* of a word: separated by blanks */
};

/* What @option takes; VALUE_OTHER, too, where it takes nothing. */
void value_of_option(const struct argp_option *option, struct value *ret);

/* What a verb takes besides options, by its usage line; @ret_command: a command behind "--". */
enum value_kind value_of_words(const struct argp *argp, bool *ret_command);
