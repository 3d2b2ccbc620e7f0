/* SPDX-License-Identifier: Apache-2.0 */
/* The outputs of a verb: opened before the run, written in their formats after it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/privileged_helper.h"
#include "base/err.h"
#include "base/output_file.h"
#include "cli/output_options.h"
#include "cli/page_server.h"
#include "view/terminal_text.h"

/* One output of a format. */
struct sink {
	struct output_file file;
	const struct format *format; /* borrowed */
	enum packing packing;
	bool is_page; /* of --open */
};

struct sinks {
	struct sink *list; /* owned [nr] */
	size_t nr;
	struct output_file stats;      /* stream NULL: none */
	struct page_server server;     /* owned, with serves */
	bool serves, has_page;	       /* --open; the page is written */
	struct terminal_text terminal; /* how stdout shows reports */
};

/*
 * Open all outputs of @options; without any, and with @text, the readable format on stdout. Errors:
 * base/output_file.h; -ENOMEM. Afterwards, in any case, sinks_fini().
 */
FPL_MUST_CHECK int sinks_open(struct sinks *ret, const struct output_options *options, bool text,
			      struct fpl_err *err);

/* The page of --open, if it was written: serve it, and wait until that is over. */
void sinks_show_page(struct sinks *sinks);

/* Drops what was not written. */
void sinks_fini(struct sinks *sinks);

/* As output_file_delegate(), all of them. */
FPL_MUST_CHECK int sinks_delegate(struct sinks *sinks, struct privileged_helper *helper,
				  struct fpl_err *err);

/*
 * Write and commit every output. *ret_shown: the samples that the writers showed; they must agree
 * with each other and with @recording. A failed output does not prevent the others; a whole file of
 * fewer samples is kept. Returns an enum cli_exit; errors are reported.
 */
int sinks_write(struct sinks *sinks, const struct recording *recording,
		const struct format_options *options, uint64_t *ret_shown);

/* A writer of a format to a stream; as format_write_fn. */
struct sink_writer {
	void *ctx;
	int (*write)(void *ctx, const struct format *format, FILE *to, uint64_t *ret_shown,
		     struct fpl_err *err);
};

/* The same by @writer, for @shown samples. */
int sinks_write_by(struct sinks *sinks, const struct sink_writer *writer, uint64_t shown,
		   uint64_t *ret_shown);

/* Call @write with @ctx to write to @to, for a terminal if that is one. Errors: -ENOMEM. */
FPL_MUST_CHECK int sinks_write_report(FILE *to, const struct terminal_text *terminal,
				      int (*write)(FILE *to, void *ctx), void *ctx);

/* Write and commit --stats, if there is one. Returns an enum cli_exit; errors are reported. */
int sinks_write_stats(struct sinks *sinks, const struct recording *recording, uint64_t shown);
