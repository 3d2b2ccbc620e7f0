/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of the code of JVMs, which were read again and again while they ran: a JVM takes code away,
 * and puts other code there. Each name holds from the reading before the one that met it first.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vector.h"
#include "symbolize/code_table.h"

struct jvm_code {
	uint64_t gen;		/* of the program image */
	uint64_t read_ns;	/* CLOCK_MONOTONIC: before the last reading */
	struct code_table last; /* what it found, arranged */
	struct code_table all;	/* not arranged */
};

struct jvm_codes {
	VECTOR(struct jvm_code) images;
};

void jvm_codes_fini(struct jvm_codes *codes);

/*
 * Take in what was read at @time_ns of image @gen: @table, arranged, is the codes' from here on,
 * also after an error. All names of an image take @max_bytes at most. *ret_nr: names that are new.
 * Errors: -ENOSPC, -ENOMEM: some are left out.
 */
FPL_MUST_CHECK int jvm_codes_add(struct jvm_codes *codes, uint64_t gen, uint64_t time_ns,
				 struct code_table *table, size_t max_bytes, size_t *ret_nr);
