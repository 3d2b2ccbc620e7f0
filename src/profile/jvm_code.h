/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code of one JVM: which addresses stacks have, what it is asked about them, and what it said:
 * a JVM takes code away, and puts other code there. Each name holds from the reading before the one
 * that met it first.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/id_table.h"
#include "base/vector.h"
#include "symbolize/code_table.h"

/* Addresses that are remembered. When there are more, all are forgotten once they are answered, and
 * asked again where new stacks have them. */
#define JVM_MET_MAX (1u << 18)

/* An address that a stack has. */
struct jvm_met {
	uint64_t asked;		    /* hotspot_asked(), without its lines */
	uint64_t function, from_ns; /* what its lines were asked of; 0: not yet */
	bool is_new;		    /* it is to be asked about */
};

/* A function that was there when its address was asked about last. */
struct jvm_function {
	uint64_t start, end, from_ns;
	uint32_t name_off; /* in the names of all */
	/* of an image that tells all of its code: */
	uint64_t seen_ns; /* the last reading that had it */
	uint64_t gone_ns; /* the first one since that lacked it; 0: none did */
};

struct jvm_code {
	/* these are of meet, ask and settle: a lock of their own is enough */
	VECTOR(struct jvm_met) met;
	struct id_table ids;   /* of met, by asked */
	VECTOR(uint32_t) news; /* of met: in the order of coming */
	/* and these of add, settle, forget and find */
	/* CLOCK_MONOTONIC, the caller's to set: before the last reading that left no news */
	uint64_t read_ns;
	/* jvm_code_drop()'s: of the reading whose functions are added; since then all is gone that
	 * it has dropped */
	uint64_t seen_ns, dropped_ns;
	VECTOR(struct jvm_function) last; /* ascending, without overlap */
	struct code_table all;		  /* arranged unless is_changed */
	bool is_changed;
};

/* Zeroed is empty. */
void jvm_code_fini(struct jvm_code *code);

/*
 * A new stack has the user frames @frames [@nr] (bits of bpf/shared.h): those in regions are to be
 * asked about, also if they were before, since other code may be there by now. Without memory they
 * are left out. Cost: O(nr).
 */
void jvm_code_meet(struct jvm_code *code, const uint64_t *frames, size_t nr);

/*
 * Take what is to be asked about: how many of @ret and @ret_met, both [@max], are filled, with
 * hotspot_asked() and the indexes for jvm_code_settle(). Lines are asked once of each function.
 */
size_t jvm_code_ask(struct jvm_code *code, uint64_t *ret, uint32_t *ret_met, size_t max);

/*
 * Take in what was answered: @table, arranged. All names take @max_bytes at most. *ret_nr:
 * functions that are new. Errors: -ENOSPC, -ENOMEM: some are left out.
 */
FPL_MUST_CHECK int jvm_code_add(struct jvm_code *code, const struct code_table *table,
				size_t max_bytes, size_t *ret_nr);

/*
 * @table, arranged, has all code that there is: a reading that began at @now_ns. To be called
 * before jvm_code_add(), for each reading of such an image. A function that it lacks, or has
 * changed, is gone from @mapped_ns on, when code was mapped last, if that was after it was seen;
 * all times are CLOCK_MONOTONIC. Else it is kept as it was: that code was mapped may be told a
 * moment later. After JVM_GONE_NS it is gone from the reading on that lacked it first. What
 * jvm_code_add() finds new then holds from the later one of these times on. Without memory it
 * stays.
 */
#define JVM_GONE_NS 1000000000ull
void jvm_code_drop(struct jvm_code *code, const struct code_table *table, uint64_t mapped_ns,
		   uint64_t now_ns);

/* After that: @met [@nr] were asked, as @asked. What is of another function by now has its lines
 * asked again. */
void jvm_code_settle(struct jvm_code *code, const uint64_t *asked, const uint32_t *met, size_t nr);

/* Forget all names: what was met is asked anew. */
void jvm_code_forget(struct jvm_code *code);

/* code_table_find(). What was added last must have been arranged (jvm_code_arrange()). */
bool jvm_code_find(const struct jvm_code *code, uint64_t lookup_addr, uint64_t time_ns,
		   struct code_match *ret);

/* Errors: -ENOMEM: it has no names for now. Cost: nothing where nothing is new. */
FPL_MUST_CHECK int jvm_code_arrange(struct jvm_code *code);
