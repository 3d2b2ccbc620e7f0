/* SPDX-License-Identifier: Apache-2.0 */
/* Ruby: its script frames and its code (instruction sequences). */
#pragma once

#include "script/language.h"

extern const struct script_language ruby_language;

/* Offsets in the code (struct rb_iseq_constant_body of vm_core.h) of one minor version. */
struct ruby_layout {
	uint16_t version; /* 301 */
	uint8_t frame_bytes, first_line, lines, nr_lines, index;
	bool line_is_value;	   /* the first line is a Ruby number, not one of C */
	bool strings_have_lengths; /* those within their object, too */
};

/* The texts of a record. */
enum {
	RUBY_LABEL,
	RUBY_LABEL_TEXT,
	RUBY_PATHS,
	RUBY_PATH,
	RUBY_PATHS_TEXT,
	RUBY_PATH_TEXT,
	RUBY_INDEX,
	RUBY_INDEX_MORE
};

#define RUBY_NR_STEPS_OFF 4
#define RUBY_STEPS_OFF	  8
#define RUBY_PATHS_OFF	  64
#define RUBY_LABEL_OFF	  80
#define RUBY_STEP_BYTES	  8
#define RUBY_LINE_BYTES	  12 /* of an entry of the table of lines, which begins with its line */

/* NULL: the version is not known. @version: as in struct script_facts. */
const struct ruby_layout *ruby_layout(uint64_t version);

/* Those of struct script_language. */
bool ruby_read_code(uint64_t version, const struct fpl_script_code *record,
		    struct script_code *ret);
uint32_t ruby_line(const struct script_code *code, uint32_t place);
