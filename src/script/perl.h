/* SPDX-License-Identifier: Apache-2.0 */
/* Perl: its script frames and its subs. */
#pragma once

#include "script/language.h"

extern const struct script_language perl_language;

/* Offsets in a sub (struct xpvcv of cv.h, the body of a CV). */
#define PERL_PACKAGE_OFF 32 /* xcv_stash: where it was compiled */
#define PERL_START_OFF	 40
#define PERL_NAME_OFF	 56 /* xcv_gv_u: the name itself, or the glob that has it */
#define PERL_FILE_OFF	 64
#define PERL_FLAGS_OFF	 92
#define PERL_SUB_BYTES	 104

#define PERL_IS_NAMED	0x8000u	 /* CVf_NAMED: the name itself */
#define PERL_IS_LEXICAL 0x10000u /* CVf_LEXICAL: it has no package */

/* Offsets in a statement (struct cop of cop.h). */
#define PERL_LINE_OFF		36
#define PERL_STATEMENT_FILE_OFF 48
#define PERL_STATEMENT_BYTES	88

/* A name (struct hek of hv.h) is a hash, how many bytes it has, those bytes, a NUL. */
#define PERL_LENGTH_OFF 4
#define PERL_KEY_OFF	8

/* The texts of a record. */
enum {
	PERL_NAME,	   /* of a sub that is named: its name */
	PERL_GLOB,	   /* else the glob, */
	PERL_GLOB_NAME,	   /* its name */
	PERL_GLOB_PACKAGE, /* and its package */
	PERL_PACKAGE,
	PERL_FILE,
	PERL_STATEMENT_FILE,
	PERL_NO_TEXT
};

/* Is the layout of this version known? @version: as in struct script_facts. */
bool perl_is_known(uint64_t version);

/* Those of struct script_language. */
bool perl_read_code(uint64_t version, const struct fpl_script_code *record,
		    struct script_code *ret);
uint32_t perl_line(const struct script_code *code, uint32_t place);
