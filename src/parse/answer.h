/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answers of a worker as hostile bytes: every count is bounded before it is believed, and what
 * is handed on has been checked. Knows no socket.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "parse/examination.h"
#include "jit/hotspot.h"
#include "jit/made_code.h"
#include "parse/message.h"
#include "script/names.h"
#include "symbolize/listing.h"
#include "symbolize/probe_sites.h"
#include "symbolize/symbol_place.h"
#include "unwind/table.h"

struct answer_reader {
	int (*read)(void *ctx, void *bytes, size_t size); /* all of @size, or an error */
	void *ctx;
	const char *path; /* of the file, for messages */
};

/*
 * All below: -EBADMSG the answer makes no sense (message says what does not); -ENOMEM; what read()
 * returned.
 */

/* Read what every answer begins with. Returns the code in it, 0 or one of errno(3), with its text.
 */
FPL_MUST_CHECK int answer_head(struct answer_reader *reader, enum parse_op op, struct fpl_err *err);

struct answer_facts {
	struct parse_facts head;
	struct elf_segment *segments; /* owned [head.nr_segments]; the caller frees them */
};
FPL_MUST_CHECK int answer_facts(struct answer_reader *reader, struct answer_facts *ret,
				struct fpl_err *err);

FPL_MUST_CHECK int answer_table(struct answer_reader *reader, struct table **ret,
				struct fpl_err *err);

/* @vaddrs [@nr]: what was asked about. */
FPL_MUST_CHECK int answer_names(struct answer_reader *reader, const uint64_t *vaddrs, size_t nr,
				struct symbol_places *ret, struct fpl_err *err);

/* @nr: of the addresses that were asked about. */
FPL_MUST_CHECK int answer_lines(struct answer_reader *reader, size_t nr, struct symbol_chains *ret,
				struct fpl_err *err);

/* @vaddr: what was asked about. @ret: the caller ends it by listing_fini(). */
FPL_MUST_CHECK int answer_listing(struct answer_reader *reader, uint64_t vaddr, struct listing *ret,
				  struct fpl_err *err);

FPL_MUST_CHECK int answer_frames(struct answer_reader *reader, size_t nr, uint8_t *ret,
				 struct fpl_err *err);

/* @ret: checked; the caller ends it by script_names_fini(). */
FPL_MUST_CHECK int answer_script(struct answer_reader *reader, struct script_names *ret,
				 struct fpl_err *err);

/* @ret: as code_table_init() leaves it; arranged and checked (code_table_check()), the caller ends
 * it also after an error. */
FPL_MUST_CHECK int answer_code(struct answer_reader *reader, struct code_table *ret,
			       struct code_file_result *ret_result, struct fpl_err *err);

/* Checked (hotspot_check()). */
FPL_MUST_CHECK int answer_jvm(struct answer_reader *reader, struct hotspot *ret,
			      struct fpl_err *err);

/* Checked (made_code_check()). */
FPL_MUST_CHECK int answer_made(struct answer_reader *reader, struct made_code *ret,
			       struct fpl_err *err);

/* Checked (examination_check()). */
FPL_MUST_CHECK int answer_examination(struct answer_reader *reader, struct examination *ret,
				      struct fpl_err *err);

/* Checked (probe_sites_check()). @ret: the caller ends it by probe_sites_fini(). */
FPL_MUST_CHECK int answer_probes(struct answer_reader *reader, struct probe_sites *ret,
				 struct fpl_err *err);

/* For the readers themselves: @what came makes no sense. */
int answer_refuse(const struct answer_reader *reader, struct fpl_err *err, const char *what);
/* The text at @at of @text [@text_size], NULL where it is PARSE_NO_TEXT; false: it lies outside. */
bool answer_text(const char *text, size_t text_size, uint32_t at, const char **ret);
