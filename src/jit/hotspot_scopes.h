/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HotSpot's compiled code: which methods are inlined at an address, and which lines of theirs it is
 * of. An nmethod has a table of PcDesc, ascending by address; each leads into a stream of numbers
 * that says method and bci of a scope, and where the scope is that it is inlined in.
 *
 * A PcDesc is of the end of an instruction. Code that is called in a scope returns to the address
 * of a PcDesc. Between two of them the compiler says nothing, unless the JVM was told to
 * (DebugNonSafepoints): the next one may be of another method.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jit/memory.h"
#include "symbolize/code_table.h"

/* Offsets in bytes; those of an nmethod lead to numbers of 4 bytes, others where it is said. */
struct hotspot_scopes_layout {
	/*
	 * The parts of an nmethod. Up to JDK 21 they lie in the blob: offsets from its beginning,
	 * and data_addr leads to an address. Later the table and the stream are in immutable, the
	 * metadata are in mutable: addresses, too, and all offsets are from there.
	 */
	uint32_t is_apart;
	uint32_t pcs, dependencies, metadata, data_addr;    /* in the blob */
	uint32_t data, immutable, immutable_size;	    /* apart; and pcs */
	uint32_t mutable, mutable_size, relocation_size;    /* apart */
	uint32_t pc_bytes, pc_offset, pc_scope;		    /* a PcDesc and its parts */
	uint32_t const_method;				    /* in a Method */
	uint32_t const_bytes;				    /* a ConstMethod, behind it its code */
	uint32_t const_words;				    /* in it: its size with all behind it */
	uint32_t const_flags, const_flags_bytes, has_lines; /* has_lines: a bit of the flags */
	uint32_t code_size;				    /* u16 */
	uint32_t has_source, source;			    /* u16, in a ConstantPool */
	/* The flags of the JVM: addresses of a pointer to them and of their number (u64); bytes of
	 * one, where it leads to its name and its value, and bits (u32), those of origin_mask 0
	 * where it was not given at the start. 0: not known. */
	uint64_t flags, nr_flags;
	uint32_t flag_bytes, flag_name, flag_value, flag_bits, origin_mask;
};

/* An nmethod, and what is known of it. */
struct hotspot_nmethod {
	uint64_t blob, begin; /* addresses: its header, its first instruction */
	uint64_t method;      /* the address of the Method that it was compiled for */
};

struct hotspot_scope {
	uint64_t method; /* address of a Method */
	int32_t bci;	 /* -1: before its first bytecode */
};

struct hotspot_scopes {
	struct hotspot_scope list[SYMBOL_LINES_MAX]; /* [nr], the innermost first */
	size_t nr;
	/* The least byte in its streams: numbers of JDK 20 and later have no byte 0. */
	uint32_t least_byte;
};

/*
 * Read the scopes at @lookup_pc, which is one before a return address, or with @is_leaf the
 * interrupted instruction itself: those are known only of a JVM with all PcDescs. Returns false
 * where it is not known, or does not hold together: the outermost scope must be that of @nmethod's
 * method, each bci in its code. Cost: O(log PcDescs) reads, and 6 a scope.
 */
bool hotspot_scopes_read(struct jit_memory *memory, const struct hotspot_scopes_layout *layout,
			 const struct hotspot_nmethod *nmethod, uint64_t lookup_pc, bool is_leaf,
			 struct hotspot_scopes *ret);

/* The line of @scope; 0: unknown. @least_byte: of hotspot_scopes. Cost: O(lines of its method). */
uint32_t hotspot_scope_line(struct jit_memory *memory, const struct hotspot_scopes_layout *layout,
			    const struct hotspot_scope *scope, uint32_t least_byte);

/* Was the JVM told at its start to write a PcDesc for all code? An agent that has it do so later
 * does not count: what was compiled before has none. */
bool hotspot_has_all_scopes(struct jit_memory *memory, const struct hotspot_scopes_layout *layout);
