/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HotSpot: where it keeps the code that it makes, by what method the frames of that code are found,
 * and what the code is called. All of it comes from the types that libjvm describes
 * (hotspot_types.h), offsets and widths included, so there is no table of versions.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "bpf/shared_region.h"
#include "jit/hotspot_scopes.h"
#include "jit/memory.h"
#include "symbolize/code_table.h"

#define HOTSPOT_HEAPS_MAX 4u
#define HOTSPOT_STUBS_MAX 24u

/* Offsets that names need, in bytes. */
struct hotspot_names_layout {
	uint32_t compile_id, method; /* in an nmethod */
	uint32_t blob_size;	     /* s32, in a blob */
	uint32_t block_length;	     /* in a block: segments */
	uint32_t block_length_bytes; /* 4 or 8 */
	uint32_t block_used;	     /* u8 */
	uint32_t const_method;	     /* in a Method */
	uint32_t constants, name;    /* in a ConstMethod; name: u16 */
	uint32_t pool_size;	     /* of a ConstantPool, behind which its entries are */
	uint32_t holder;	     /* in a ConstantPool */
	uint32_t class_name;	     /* in a Klass */
	uint32_t text_length, text;  /* in a Symbol; length: u16 */
	/* of a Method that is not known by its code: its number in a ConstMethod, u16; the array of
	 * methods in an InstanceKlass, its length and its entries */
	uint32_t idnum, methods, methods_length, methods_data;
};

/* Flat: it crosses the socket of a worker. */
struct hotspot {
	char version[64]; /* "17.0.2+8"; "": not known */
	uint32_t nr_heaps;
	uint32_t has_names;			    /* layout holds, */
	uint32_t has_methods;			    /* all of it, */
	uint32_t has_scopes;			    /* and scopes */
	struct fpl_region heaps[HOTSPOT_HEAPS_MAX]; /* [nr_heaps], without ids */
	/* stubs in these heaps that have rows of their own: FPL_REGION_ROW, without ids */
	uint32_t nr_stubs;
	uint32_t has_all_stubs;			    /* false: HotSpot may be writing more of them */
	struct fpl_region stubs[HOTSPOT_STUBS_MAX]; /* [nr_stubs], disjoint */
	struct hotspot_names_layout layout;
	struct hotspot_scopes_layout scopes;
};

/* Bits that say what is asked of an address */
#define HOTSPOT_ASKED_LEAF   1u /* it is that of an interrupted instruction itself */
#define HOTSPOT_ASKED_LINES  2u /* its inlined functions and lines are asked, too */
#define HOTSPOT_ASKED_METHOD 4u /* it is no code, but the address of a Method */
#define HOTSPOT_ASKED_SHIFT  3u

/* An address that is asked about as a number: of the instruction itself where it is a leaf, else
 * one before the return address, with the tag of its frame above it (bpf/shared_region.h).
 * @what: HOTSPOT_ASKED_*. */
static inline uint64_t hotspot_asked(uint64_t lookup_pc, unsigned what)
{
	return lookup_pc << HOTSPOT_ASKED_SHIFT | what;
}

/*
 * Describe the JVM of the libjvm that is loaded at @base. Errors: -ENOENT it is no JVM, or one that
 * does not describe itself; -EAGAIN it has not begun yet; -ENOTSUP a type differs from those that
 * methods are known for: @err names it; -EFAULT its memory could not be read. Cost: some ms, half
 * a MiB of the process's memory read.
 */
FPL_MUST_CHECK int hotspot_describe(struct jit_memory *memory, uint64_t base, struct hotspot *ret,
				    struct fpl_err *err);

/* Can what a worker says of a JVM be used? */
bool hotspot_check(const struct hotspot *hotspot);

/*
 * Add the code that is now at @asked [@nr_asked] (hotspot_asked()), ascending, to @ret: methods as
 * "class.method", stubs by their own names; a Method as an entry of one byte at its address, if it
 * is one of its class; and behind a method what is inlined at the addresses of which that is asked,
 * as far as it is known. All are at the address that was asked about, tag included; what has
 * another tag by now is left out, and code that makes no sense. Errors: those of code_table_add().
 * Cost: for each blob that is met the reads of its header, and 8 of a method;
 * hotspot_scopes_read() and lines of each address of which they are asked.
 */
FPL_MUST_CHECK int hotspot_names(struct jit_memory *memory, const struct hotspot *hotspot,
				 const uint64_t *asked, size_t nr_asked, struct code_table *ret);
