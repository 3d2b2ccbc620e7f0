/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code of the process that is judged: its mappings, their files, and the compact tables made of
 * them as `profile` makes them, with rows from code. Files are read by workers without rights.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "naming/namer.h"
#include "parse/parser.h"
#include "unwind/table.h"

struct code;

struct code_place {
	uint32_t object;	   /* 0: code of no file */
	uint64_t vaddr;		   /* of the address in it */
	const struct table *table; /* NULL: there is none */
};

/* @parser: borrowed. Errors: -ENOMEM. */
FPL_MUST_CHECK int code_open(struct parser *parser, struct code **ret, struct fpl_err *err);
void code_close(struct code *code);

/* Read what @pid has mapped. Errors: as scan_process(). */
FPL_MUST_CHECK int code_scan(struct code *code, pid_t pid, struct fpl_err *err);

/* What is at @addr; its table is made at the first question. False: nothing is known to be there:
 * it may be worth another scan. */
bool code_find(struct code *code, uint64_t addr, struct code_place *ret);

/* The executable mappings, in order, each with its place. False: @idx is behind the last. */
bool code_mapping(const struct code *code, size_t idx, uint64_t *ret_start, uint64_t *ret_end,
		  uint32_t *ret_object, uint64_t *ret_bias);

/* The table of @object, made now if it was not; NULL: there is none. */
const struct table *code_table(struct code *code, uint32_t object);

/* Was the table of @object asked for yet? */
bool code_has_met(const struct code *code, uint32_t object);

/* As the process sees its file; "?" of an object that is not there. */
const char *code_path(const struct code *code, uint32_t object);

/* The function at @vaddr: as namer_user(). */
void code_expect(struct code *code, uint32_t object, uint64_t vaddr);
void code_symbol(struct code *code, uint32_t object, uint64_t vaddr, struct symbol *ret);
