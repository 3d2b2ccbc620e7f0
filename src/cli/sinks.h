/* SPDX-License-Identifier: Apache-2.0 */
/* The outputs of a verb: opened before there is anything to write, written in their formats. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/deputy.h"
#include "base/err.h"
#include "cli/output_options.h"
#include "output/file.h"
#include "view/terminal_text.h"

/* One place a format is written to. */
struct sink {
	struct output_file file;
	const struct format *format; /* borrowed */
};

struct sinks {
	struct sink *list; /* owned [nr] */
	size_t nr;
	struct output_file stats;      /* stream NULL: none */
	struct terminal_text terminal; /* how stdout shows reports */
};

/*
 * Open all that @options ask for; without anything asked for, and with @text, the readable format
 * on stdout. Errors: output/file.h; -ENOMEM. Afterwards, in any case, sinks_fini().
 */
FPL_MUST_CHECK int sinks_open(struct sinks *ret, const struct output_options *options, bool text,
			      struct fpl_err *err);

/* Drops what was not written. */
void sinks_fini(struct sinks *sinks);

/* As output_file_delegate(), all of them. */
FPL_MUST_CHECK int sinks_delegate(struct sinks *sinks, struct deputy *deputy, struct fpl_err *err);

/*
 * Write and commit every output. *ret_shown is what the writers showed; they have to agree with
 * each other and with @recording. A failed output does not keep the others from being written; what
 * is a whole file of fewer samples is kept. Returns an enum cli_exit; has said why.
 */
int sinks_write(struct sinks *sinks, const struct recording *recording,
		const struct format_options *options, uint64_t *ret_shown);

/* What writes a format to a stream; as format_write_fn. */
struct sink_writer {
	void *ctx;
	int (*write)(void *ctx, const struct format *format, FILE *to, uint64_t *ret_shown,
		     struct fpl_err *err);
};

/* The same by @writer, of what holds @shown samples. */
int sinks_write_by(struct sinks *sinks, const struct sink_writer *writer, uint64_t shown,
		   uint64_t *ret_shown);

/* Write what @write writes of @ctx to @to, for a terminal where that is one. Errors: -ENOMEM. */
FPL_MUST_CHECK int sinks_write_report(FILE *to, const struct terminal_text *terminal,
				      int (*write)(FILE *to, void *ctx), void *ctx);

/* Write and commit --stats, if there is one. Returns an enum cli_exit; has said why. */
int sinks_write_stats(struct sinks *sinks, const struct recording *recording, uint64_t shown);
