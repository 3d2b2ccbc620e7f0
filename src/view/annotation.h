/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code of one function with the samples beside it: instructions, the lines of source they come
 * from, the functions inlined at them, and jumps. Pure data: src/annotate makes it, writers of any
 * format show it. All texts are borrowed, as they were found: who shows them escapes them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ANNOTATION_NONE UINT32_MAX /* no such instruction, no such line */

/* A function at an instruction. */
struct annotation_site {
	const char *function; /* NULL: unknown */
	const char *file;     /* NULL: unknown */
	uint32_t line;	      /* 0: unknown */
};

struct annotation_insn {
	uint64_t vaddr, samples; /* samples whose pc lies in it */
	const char *text;
	const char *target_name; /* of the function that a call or jump leads to; NULL: unknown */
	uint32_t to;   /* the instruction that it jumps to in this function; ANNOTATION_NONE */
	uint32_t line; /* in annotation.lines: that of the innermost site; ANNOTATION_NONE */
	/* In annotation.sites: the innermost first, the last is the function itself. */
	uint32_t first_site, nr_sites;
	uint8_t size; /* bytes */
};

struct annotation_line {
	const char *file;
	uint32_t number;
	uint64_t samples; /* of all instructions of the line in the function */
	const char *text; /* its source, safe to show; NULL: not there */
};

struct annotation {
	const char *function;
	const char *object;   /* path, as its process saw it */
	const char *build_id; /* hex; "": unknown */
	const char *path;     /* of the file that the code comes from; NULL: none was found */
	uint64_t start, end;  /* vaddrs of the function; 0, 0 without code */
	uint64_t samples;     /* its own: all of them */
	uint64_t elsewhere;   /* those of them that no instruction here has */
	uint64_t of;	      /* samples of the recording */
	struct annotation_insn *insns;
	size_t nr_insns;
	/* owned [of hot_function.nr_pcs]: the instruction of each pc; nr_insns: none has it */
	uint32_t *rows;
	struct annotation_site *sites;
	size_t nr_sites;
	struct annotation_line *lines; /* by file, then by number */
	size_t nr_lines;
	const char **notes; /* what is missing, and what would help */
	size_t nr_notes;
};

/*
 * Annotations of the hottest functions, for a page. Their instructions are rows: those of each
 * function in turn, behind them one for its samples that no instruction has; the last row of all
 * is of the kernel, whose code is not here.
 */
struct annotations {
	struct annotation *list; /* the hottest first */
	size_t nr;
	size_t left_out; /* functions with samples that have none here */
	/* owned: the row of each stack of the recording; ANNOTATION_NONE: code that is not here */
	uint32_t *rows;
};

/*
 * Are the code of @a and @b, two of its instructions, of one function, inlined at the same places?
 * Equal texts of functions must be one.
 */
bool annotation_is_same_function(const struct annotation *annotation,
				 const struct annotation_insn *a, const struct annotation_insn *b);

/*
 * How far code of one line goes: the first instruction behind @first that is of another line, or of
 * another function; nr_insns: all are. *ret_samples: of those before. Cost: O(instructions).
 */
size_t annotation_place_end(const struct annotation *annotation, size_t first,
			    uint64_t *ret_samples);
