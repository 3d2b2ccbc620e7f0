/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code of the judged process: its mappings, their files, and their compact tables, made as
 * `profile` makes them, with rows from code. Workers without rights read the files.
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
	const struct table *table; /* NULL: no table */
};

/* @parser: borrowed. Errors: -ENOMEM. */
FPL_MUST_CHECK int code_open(struct parser *parser, struct code **ret, struct fpl_err *err);
void code_close(struct code *code);

/* Read the mappings of @pid. Errors: as scan_process(). */
FPL_MUST_CHECK int code_scan(struct code *code, pid_t pid, struct fpl_err *err);

/* Find the code at @addr; its table is made for the first question. False: unknown there; another
 * scan may help. */
bool code_find(struct code *code, uint64_t addr, struct code_place *ret);

/* The executable mappings, in order, each with its place. False: @idx is behind the last. */
bool code_mapping(const struct code *code, size_t idx, uint64_t *ret_start, uint64_t *ret_end,
		  uint32_t *ret_object, uint64_t *ret_bias);

/* The table of @object, made on first use; NULL: it has none. */
const struct table *code_table(struct code *code, uint32_t object);

/* Was the table of @object asked for yet? */
bool code_has_met(const struct code *code, uint32_t object);

/* Path of its file as the process sees it; "?" for an unknown object. */
const char *code_path(const struct code *code, uint32_t object);

/* The function at @vaddr: as namer_user(). */
void code_expect(struct code *code, uint32_t object, uint64_t vaddr);
void code_symbol(struct code *code, uint32_t object, uint64_t vaddr, struct symbol *ret);
