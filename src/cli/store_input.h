/* SPDX-License-Identifier: Apache-2.0 */
/* A time of a store as what a verb reads, in place of files: --store, --from, --to,
 * --before, --source. */
#pragma once

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "cli/inputs.h"
#include "store/store.h"

#define STORE_USUAL_PATH "/var/lib/fpless" /* of a run as root */

/* The folder @name of what is kept between runs: root's in /var/lib, or of a user in
 * $XDG_STATE_HOME; to be freed. */
char *state_usual_path(const char *name);

/* The folder of a store where none is given: root's, or of a user $XDG_STATE_HOME/fpless; to be
 * freed. */
char *store_usual_path(void);

struct store_input {
	char *folder; /* owned; NULL: files are read */
	uint64_t now_ns;
	struct store_range range;
	struct store_range
		before; /* what it is compared with; to_ns 0: not given, until complete */

	bool has_from, has_to; /* given */

	/* private */
	bool is_wanted;	     /* the usual folder where none is given */
	struct store *store; /* owned: once it is open */
	struct input_source source;
	char *names[2]; /* borrowed */
};

/* @is_wanted: the verb reads nothing but stores. */
void store_input_init(struct store_input *ret, bool is_wanted);
void store_input_fini(struct store_input *input);

/* Its input is a struct store_input. At the end of the options both ranges are complete where a
 * store is read. An invalid option ends the process with one line. */
extern const struct argp store_input_argp;
/* The same with --before. */
extern const struct argp store_inputs_argp;

/* Are both times as long? Counts of others do not compare, shares do. */
bool store_input_is_even(const struct store_input *input);

/* Open the store, for one of the next two. Errors: those of store_open_to_read(). */
FPL_MUST_CHECK int store_input_open(struct store_input *input, struct fpl_err *err);

/* Its one recording, and the name of that, to *ret_names [1]. All is borrowed. */
const struct input_source *store_input_one(struct store_input *input, char ***ret_names);

/* Two: that of the time before comes first. Names to *ret_names [2]. */
const struct input_source *store_input_two(struct store_input *input, char ***ret_names);
