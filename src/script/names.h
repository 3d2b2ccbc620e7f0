/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names and lines of the code objects of a run, of all languages. The bytes they are made of come
 * from the memory of programs, so a worker (src/parse) reads them out of one file and answers with
 * names; whoever asked checks the answer.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define SCRIPT_CODES_MAX (1u << 20)  /* code objects of a file */
#define SCRIPT_LINES_MAX (4u << 20)  /* places of a file */
#define SCRIPT_TEXT_MAX	 (64u << 20) /* bytes of all names */
#define SCRIPT_FILE_MAX	 (256u << 20)
#define SCRIPT_NO_TEXT	 UINT32_MAX

/*
 * The file: for each code object this, record_size bytes of a struct fpl_script_code (a multiple of
 * 8), then nr_places numbers of four bytes, each a place in that code as the words of a frame have
 * it.
 */
struct script_file_code {
	uint64_t version; /* of the interpreter, as in struct script_facts */
	uint32_t language, record_size, nr_places, _pad;
};

struct script_name {
	uint32_t function, file; /* where they begin in the text; SCRIPT_NO_TEXT: not known */
	uint32_t first_line;	 /* 0: not known */
	uint32_t nr_lines;	 /* as many as it had places */
};

/* In the order of the file. */
struct script_names {
	struct script_name *codes; /* owned [nr_codes] */
	uint32_t *lines;	   /* owned [nr_lines]: of all places; 0: not known */
	char *text;		   /* owned [text_size]: texts with a NUL behind each */
	size_t nr_codes, nr_lines, text_size;
	size_t room_codes, room_lines, room_text;
};

/*
 * Read the file at @fd, of @size bytes; the caller ends @ret by script_names_fini() in any case.
 * Code that makes no sense has no name. Errors: -EINVAL it is no such file, or beyond a bound;
 * -ENOMEM; those of pread(2). Cost: O(size), and for each place the table of lines of its code.
 */
FPL_MUST_CHECK int script_names_read(int fd, uint64_t size, struct script_names *ret);

/* Does each text lie within the text, and are there as many lines as the codes have? */
bool script_names_check(const struct script_names *names);

void script_names_fini(struct script_names *names);
