/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Both sides see this of regions, as bpf/shared.h has the rest: memory in which a run time keeps
 * code that it makes, and the method by which frames of that code are found (decision 0038).
 */
#pragma once

#include "bpf/shared.h"
#include "bpf/shared_script.h"

#define FPL_REGIONS_MAX 1024u /* a power of two */

/* HotSpot's blobs of code begin with this many bytes that may hold the fields below. */
#define FPL_BLOB_BYTES 128u

/* The segment map leads to the beginning of a block in at most so many hops. */
#define FPL_SEGMENT_HOPS 24u

#define FPL_SEGMENT_LOG2_MIN 5u
#define FPL_SEGMENT_LOG2_MAX 12u

#define FPL_COMPILE_ID_OFF_MAX (1u << 12)

#define FPL_METHOD_FRAME_MAX (1u << 17) /* words of a frame: 1 MiB */

#define FPL_REGION_END_MAX (1ull << 47) /* the end of all memory of user space */

enum fpl_region_kind {
	FPL_REGION_NONE,
	FPL_REGION_NMETHOD, /* a code heap of HotSpot */
	FPL_REGION_SCRIPT,  /* code with frame pointers, whose frames are script frames, too */
	FPL_REGION_SLJIT,   /* blocks of sljit's allocator of code: PCRE2 */
	FPL_REGION_FRAME,   /* code that runs in the frame of what it was entered from */
	FPL_REGION_LUAJIT,  /* LuaJIT's traces; all other memory is as SLJIT */
	FPL_REGION_BEAM,    /* Erlang's JIT: a stack of its own for each Erlang process */
	FPL_REGION_FOLLOW,  /* code as compilers make it: followed to where it returns */
	FPL_REGION_ROW,	    /* code of one row, as of a table: its rule holds at each pc */
};

/*
 * BEAM: its code runs on the stack of an Erlang process, and calls C code on that of the thread.
 * There the entry of the JIT, which does not return, keeps registers: rbx leads to them.
 */
struct fpl_region_beam {
	__u64 normal_exit;  /* the last return address of each Erlang stack */
	__u64 process_main; /* the C function that jumps to the JIT's entry, which is at */
	__u64 entry;	    /* with entry_bytes of code: no Erlang process runs in it */
	__u16 entry_bytes;
	__u8 stack_off;	  /* of the Erlang stack pointer, in the process that r13 leads to */
	__u8 runtime_off; /* from rsp to rbx in what calls C code */
	__u32 caller_off; /* from rbx to the return address of process_main, or up to 63 less */
};

/*
 * Value of the array `regions`. A mapping without object that lies in one has the region's
 * reference as its bias: the slot in the low 16 bits, the id above them. A slot that is used again
 * has another id, so a stale mapping finds no region instead of a wrong one.
 *
 * NMETHOD: the heap is cut into segments of 1 << segment_log2 bytes. The map has a byte for each:
 * 0 where a block begins, 0xff where none is, else how many segments to go back by. A block is
 * block_bytes and the blob, whose fields are at these offsets: the address of its name, the words
 * of its frame, the bytes of code until the frame is complete, and where the code begins. Compiled
 * methods have a number of their own, which tells what lies at one address at different times.
 *
 * SCRIPT: script_rule, a rule with is_native, leads to the script frames. No more is needed.
 *
 * SLJIT: each mapping begins with a chunk of blocks. A block is a function, whose first
 * instructions say what its frame is. No more is needed.
 *
 * FRAME: rule leads to the caller, whatever the pc.
 *
 * ROW: likewise; the rule holds in the first and the last instructions, too.
 *
 * LUAJIT: as FRAME, by FPL_CFA_LUAJIT. The word behind that of the thread which runs is 0 unless a
 * trace runs.
 *
 * BEAM: struct fpl_region_beam.
 *
 * FOLLOW: code that an interpreter's loop calls has its script frame in the register frame_reg.
 */
struct fpl_region {
	__u32 id;   /* 0: the slot is free */
	__u32 kind; /* enum fpl_region_kind */
	__u64 start, end;
	union {
		struct {
			__u64 segmap;	     /* address of the map's first byte */
			__u64 segmap_bytes;  /* of memory that is reserved for it */
			__u64 call_stub_ra;  /* what the run time's C code called Java code from */
			__u8 segment_log2;   /* FPL_SEGMENT_LOG2_MIN to _MAX */
			__u8 block_bytes;    /* below 128, as the offsets */
			__u8 name_off;	     /* u64 */
			__u8 frame_size_off; /* s32 */
			__u8 complete_off;   /* of complete_bytes; below 0: never */
			__u8 complete_bytes; /* 2 or 4, signed */
			__u8 code_off;	     /* of code_bytes: 8, an address, or 4, bytes */
			__u8 code_bytes;     /* from the blob's beginning */
		};
		struct fpl_rule rule;
		struct fpl_region_beam beam;
		__u8 frame_reg; /* DWARF's number; 0: none is known */
	};
	union {
		__u32 script_rule;
		struct {
			__u16 compile_id_off; /* u32, in the blob of a method; 0: not known */
			__u8 method_name_off; /* u16, in a ConstMethod */
			__u8 _pad;
		};
	};
	__u8 has_methods; /* frames of the interpreter are told by their method, whose fields are */
	__u8 const_method_off; /* the address of its ConstMethod */
	__u8 const_bytes;      /* of that, behind which its bytecode is */
	__u8 code_size_off;    /* in it: u16, the bytes of that */
};
_Static_assert(sizeof(struct fpl_region) == 64, "fpl_region is map ABI: one cache line");

static inline __attribute__((__always_inline__)) __u64 fpl_region_ref(__u32 id, __u32 slot)
{
	return (__u64)id << 16 | slot;
}

/* Is @rule one of a FRAME: are the caller's registers in the frame below a CFA that is a constant
 * away from a register? */
static inline __attribute__((__always_inline__)) int
fpl_region_rule_holds(const struct fpl_rule *rule)
{
	int holds = rule->cfa == FPL_CFA_REG && !rule->flags && rule->regs < FPL_NR_REGS &&
		    !rule->from_reg && rule->cfa_off >= 8 && !(rule->cfa_off & 7) &&
		    rule->cfa_off <= 8 * (__s32)FPL_METHOD_FRAME_MAX;

	for (__u32 i = 0; i < FPL_NR_SAVED; i++)
		holds &= rule->saved[i] == FPL_SAVED_SAME || rule->saved[i] == FPL_SAVED_UNDEF ||
			 (rule->saved[i] <= -2 && -8 * rule->saved[i] <= rule->cfa_off);
	return holds;
}

/* Is @rule one of a ROW: is the CFA a constant away from a register, or from a word that is? */
static inline __attribute__((__always_inline__)) int
fpl_region_row_holds(const struct fpl_rule *rule)
{
	__s32 most = 8 * (__s32)FPL_METHOD_FRAME_MAX;

	return !rule->flags && rule->cfa_off >= -most && rule->cfa_off <= most &&
	       (rule->cfa == FPL_CFA_REG || rule->cfa == FPL_CFA_DEREF);
}

/* Can walks use what @beam says? */
static inline __attribute__((__always_inline__)) int
fpl_region_beam_holds(const struct fpl_region_beam *beam)
{
	return beam->normal_exit && beam->process_main && beam->entry && beam->entry_bytes &&
	       beam->stack_off < 128 && !(beam->stack_off & 7) && beam->runtime_off >= 8 &&
	       !(beam->runtime_off & 7) && beam->caller_off >= 64 &&
	       beam->caller_off <= 8 * FPL_METHOD_FRAME_MAX && !(beam->caller_off & 7);
}

/* Can walks use a region that says this of itself? Its numbers come from the target. */
static inline __attribute__((__always_inline__)) int
fpl_region_holds(const struct fpl_region *region)
{
	__u64 segments = (region->end - region->start) >> (region->segment_log2 & 63);

	if (region->kind == FPL_REGION_SCRIPT)
		return region->start < region->end && region->script_rule &&
		       region->script_rule < FPL_SCRIPT_RULES_MAX;
	if (region->kind == FPL_REGION_SLJIT)
		return region->start < region->end;
	if (region->kind == FPL_REGION_FOLLOW)
		return region->start < region->end && region->frame_reg < FPL_NR_REGS;
	if (region->kind == FPL_REGION_FRAME)
		return region->start < region->end && fpl_region_rule_holds(&region->rule);
	if (region->kind == FPL_REGION_ROW)
		return region->start < region->end && fpl_region_row_holds(&region->rule);
	if (region->kind == FPL_REGION_LUAJIT)
		return region->start < region->end && region->rule.cfa == FPL_CFA_LUAJIT &&
		       !region->rule.flags && !region->rule.from_reg;
	if (region->kind == FPL_REGION_BEAM)
		return region->start < region->end && fpl_region_beam_holds(&region->beam);
	return region->kind == FPL_REGION_NMETHOD && region->start < region->end &&
	       region->compile_id_off < FPL_COMPILE_ID_OFF_MAX &&
	       region->end - region->start <= 1ull << 32 &&
	       region->segment_log2 >= FPL_SEGMENT_LOG2_MIN &&
	       region->segment_log2 <= FPL_SEGMENT_LOG2_MAX && segments &&
	       segments <= region->segmap_bytes && region->block_bytes < FPL_BLOB_BYTES &&
	       region->name_off <= FPL_BLOB_BYTES - 8 &&
	       region->frame_size_off <= FPL_BLOB_BYTES - 8 &&
	       region->complete_off <= FPL_BLOB_BYTES - 8 &&
	       region->code_off <= FPL_BLOB_BYTES - 8 &&
	       (region->complete_bytes == 2 || region->complete_bytes == 4) &&
	       (region->code_bytes == 4 || region->code_bytes == 8);
}

/*
 * A raw frame in a region has this bit: what found its caller is the region's method. A raw frame
 * of a walk is an address below 2^56.
 */
#define FPL_FRAME_JIT (FPL_FRAME_RAW | 4ull << 56)

/*
 * A frame of HotSpot's interpreter has these bits, and the address of its Method in the place of a
 * pc: all such frames have the same few pcs. It is exact, whether it is a leaf or not.
 */
#define FPL_FRAME_METHOD (FPL_FRAME_JIT | 2ull << 56)

/*
 * The tag of a frame tells its code from other code that comes to lie at its address later. It is
 * in the bits between the address and those above, and is made of the number of the compilation, or
 * of the address of the Method's ConstMethod and the number of its name. A frame that frame
 * pointers led to has none: what they lead to may be any number.
 */
#define FPL_FRAME_TAG_SHIFT 47
#define FPL_FRAME_TAG_MAX   511u
#define FPL_METHOD_LOW_MASK 7ull
#define FPL_FRAME_TAG_MASK  ((__u64)FPL_FRAME_TAG_MAX << FPL_FRAME_TAG_SHIFT)

/* No tag is 0. */
static inline __attribute__((__always_inline__)) __u64 fpl_frame_tag(__u32 number)
{
	return (__u64)(number % FPL_FRAME_TAG_MAX + 1) << FPL_FRAME_TAG_SHIFT;
}

/* The tag of a frame of the interpreter. Methods of unloaded classes lie at the same few addresses.
 * These are multiples of 8, so the tag has three low bits, too. */
static inline __attribute__((__always_inline__)) __u64 fpl_method_tag(__u64 const_method,
								      __u16 name)
{
	__u64 mixed = (const_method >> 3) * 0x9e3779b97f4a7c15ull + name * 0xc2b2ae3d27d4eb4full;

	return fpl_frame_tag((__u32)(mixed >> 40)) | (mixed >> 37 & FPL_METHOD_LOW_MASK);
}

/* Code is looked for by its address and, with this bit above both, the tag of its frame. No raw
 * frame's address has the bit. */
#define FPL_CODE_TAGGED (1ull << 60)

/* The address alone. */
static inline __attribute__((__always_inline__)) __u64 fpl_code_plain(__u64 addr)
{
	return addr & FPL_CODE_TAGGED ? addr & ((1ull << FPL_FRAME_TAG_SHIFT) - 1) : addr;
}

static inline __attribute__((__always_inline__)) int fpl_frame_is_kind(__u64 frame, __u64 kind)
{
	return (frame & (FPL_FRAME_RAW | 15ull << 56)) == kind &&
	       (!(frame & FPL_FRAME_TAG_MASK) || frame >> FPL_FRAME_ORIGIN_SHIFT != FPL_ORIGIN_FP);
}

static inline __attribute__((__always_inline__)) int fpl_frame_is_method(__u64 frame)
{
	return fpl_frame_is_kind(frame, FPL_FRAME_METHOD);
}

static inline __attribute__((__always_inline__)) int fpl_frame_is_jit(__u64 frame)
{
	return fpl_frame_is_kind(frame, FPL_FRAME_JIT) || fpl_frame_is_method(frame);
}
