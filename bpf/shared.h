/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Everything that the kernel side and userspace share: limits, the table image, map values, ring
 * records. The one header both include. Fixed-width types only; sizes asserted; explicit padding is
 * zero. The loader compares FPL_SHARED_VERSION with the one the BPF object was built with.
 */
#pragma once

#include <linux/types.h>

#define FPL_SHARED_VERSION 23u

/* Limits that size a map value or bound a loop. Limits that a user may change are options. */
#define FPL_DEPTH_MAX	     2048u /* user frames of a stack that are kept: --max-depth in all */
#define FPL_USER_FRAMES_MAX  (FPL_DEPTH_MAX + 1) /* with FPL_FRAME_GAP between them */
#define FPL_WALK_MAX	     65536u /* user frames after which a walk ends in any case */
#define FPL_KERNEL_DEPTH_MAX 127u   /* kernel frames, PERF_MAX_STACK_DEPTH */
#define FPL_FP_DEPTH_MAX     127u   /* user frames of the kernel's frame-pointer walk, likewise */
#define FPL_SNAPSHOT_MAX     98304u /* bytes of stack in one snapshot */
#define FPL_SNAPSHOT_BLIND   32768u /* the limit if the end of the stack is not known */
#define FPL_STACK_PAGE	     4096u  /* smallest page: the unit in which stack is resident or not */
#define FPL_COMM_SIZE	     16u
#define FPL_NR_REGS	     16u /* general registers, numbered as DWARF does on this architecture */
#define FPL_SOURCES_MAX	     16u /* sources of samples in a run; a power of two */
#define FPL_SLOTS_MAX	     3u	 /* slots of a CPU: bpf/slot.h */
#define FPL_KEY_MAX	     8u	 /* words of a sample's key */

/* clang-format off */

/*
 * Why the walk of a user stack ended: the enum, the texts, the JSON keys and the docs derive from
 * this list. X(name, JSON key, text)
 */
#define FPL_STOP_LIST(X) \
	X(OUTERMOST,     outermost,     "the outermost frame was reached: complete") \
	X(DEPTH,         depth,         "deeper than walks may go") \
	X(NO_MAPPING,    no_mapping,    "the pc is in no known executable mapping") \
	X(NO_TABLE,      no_table,      "the unwind table of the mapping was not there yet") \
	X(NO_CFI,        no_cfi,        "the code has no CFI and no frame pointer that holds up") \
	X(EXPR,          expr,          "the row needs a DWARF expression the table does not express") \
	X(REG_UNKNOWN,   reg_unknown,   "the row needs a register whose value is not known there") \
	X(READ_FAULT,    read_fault,    "stack memory is not resident, or lies beyond the snapshot") \
	X(NO_PROGRESS,   no_progress,   "the CFA did not move up the stack") \
	X(BAD_RA,        bad_ra,        "the return address is not in executable memory") \
	X(FP_END,        fp_end,        "the frame-pointer chain ended") \
	X(NO_USER_REGS,  no_user_regs,  "the task has no user registers") \
	X(EXITING,       exiting,       "the task had given up its memory: exiting") \
	X(EXECING,       execing,       "the task was between two programs: execing") \
	X(COMPAT32,      compat32,      "32-bit code") \
	X(TABLE_CHANGED, table_changed, "the table was replaced during the walk") \
	X(BURST,         burst,         "samples came faster than snapshots of them could be kept") \
	X(NOT_WALKED,    not_walked,    "the wait began before the run, or its window, and only its beginning is told")

#define X(name, key, text) FPL_STOP_##name,
enum fpl_stop { FPL_STOP_LIST(X) FPL_STOP_COUNT, FPL_STOP_NONE = 255 /* the walk goes on */ };
#undef X

/* How a frame was found. X(name, JSON key, mark of --origin, text) */
#define FPL_ORIGIN_LIST(X) \
	X(CFI,      cfi,      "",            "by CFI, in the kernel") \
	X(CFI_USER, cfi_user, "_[cfi_user]", "by CFI, of a snapshot of the stack") \
	X(FP,       fp,       "_[fp]",       "by a frame-pointer step, for want of CFI") \
	X(SYNTH,    synth,    "_[synth]",    "by a row made for code without CFI") \
	X(SCRIPT,   script,   "_[script]",   "of a script, by its interpreter's own frame") \
	X(JIT,      jit,      "_[jit]",      "of code made at run time, which its run time describes")

/* SCRIPT and JIT are in no frame of a record: script frames are words of their own there, and a raw
 * frame says of itself that it is of code with a method (shared_region.h). */
#define X(name, key, mark, text) FPL_ORIGIN_##name,
enum fpl_origin { FPL_ORIGIN_LIST(X) FPL_ORIGIN_COUNT };
#undef X

/* Why a sample that passed the filter is missing from the output. X(name, JSON key, text) */
#define FPL_LOST_LIST(X) \
	X(RING_FULL,       ring_full,       "the ring buffer was full") \
	X(STACK_MAP_FULL,  stack_map_full,  "the stack map and the ring buffer were full") \
	X(OBJECT_MAP_FULL, object_map_full, "no room for another object") \
	X(SNAPSHOT_FULL,   snapshot_full,   "a snapshot did not fit the ring buffer and nothing else could be kept") \
	X(SCRATCH,         scratch,         "no scratch memory was free on the CPU") \
	X(USER_MEMORY,     user_memory,     "fpless itself had no memory for the stack") \
	X(NO_FRAMES,       no_frames,       "a counted stack came without its frames: a bug of fpless")

#define X(name, key, text) FPL_LOST_##name,
enum fpl_lost { FPL_LOST_LIST(X) FPL_LOST_COUNT };
#undef X

/* Maps that may have no room for a process. X(name, map) */
#define FPL_FULL_LIST(X) \
	X(PROCS,   procs)    \
	X(MAPSETS, mapsets)  \
	X(TARGETS, targets)  \
	X(LIVE,    live)

#define X(name, map) FPL_FULL_##name,
enum fpl_full { FPL_FULL_LIST(X) FPL_FULL_COUNT };
#undef X
/* clang-format on */

/*
 * A frame, 8 bytes, leaf first in every array:
 *
 *   bits 63..62  enum fpl_origin
 *   bit  61      exact: the address is the pc itself (leaf, or interrupted by a signal), not a
 *                return address; the one rule for lookup_pc is address - !exact
 *   bit  60      raw: bits 59..0 are the runtime address, in no object
 *   bits 59..40  object id, 1.. ; never reused in a run       (raw clear)
 *   bits 39..0   ELF vaddr of the pc or return address as read (raw clear)
 */
#define FPL_FRAME_ORIGIN_SHIFT 62
#define FPL_FRAME_EXACT	       (1ull << 61)
#define FPL_FRAME_RAW	       (1ull << 60)
#define FPL_FRAME_OBJECT_SHIFT 40
#define FPL_FRAME_OBJECT_MAX   ((1u << 20) - 1)
#define FPL_FRAME_VADDR_MASK   ((1ull << 40) - 1)
#define FPL_FRAME_ADDR_MASK    ((1ull << 60) - 1)

/*
 * Stands for the frames between the innermost and the outermost ones in a stack deeper than both
 * together. Their number is stored beside the frames and is not part of the stack's identity. No
 * other frame has this value: a raw frame that is not a return address is either a leaf, which is
 * exact, or from the kernel's frame-pointer walk, which its origin says.
 */
#define FPL_FRAME_GAP (FPL_FRAME_RAW | FPL_FRAME_ADDR_MASK)

/*
 * The table image
 * ---------------
 * One object's unwind table: position-independent bytes, written once by unwind/, read by
 * bpf/lookup.h in the kernel and in userspace alike. Offsets count from the image's first byte.
 * The pool it is copied into is made of chunks of 1 MiB; no rule, directory entry or page crosses
 * a chunk boundary when the image starts at offset 0 of a chunk, or fits whole inside one.
 *
 *   rules      struct fpl_rule[nr_slots] at rules_off; slot 0 is the rule NONE. Behind each rule
 *              FPL_RULE_REACH - 16 more bytes lie in the same chunk, so that a reader may look at
 *              extended rules without a second bounds check
 *   directory  struct fpl_page[nr_pages] at dir_off, one per 64 KiB of vaddr from first_vaddr
 *   pages      8-byte aligned, each:
 *                u16 first[258]   first[s]: index of the first row of span s (256 bytes of vaddr);
 *                                 first[256] = nr_rows modulo 2^16, first[257] = 0
 *                u16 dict[nr_dict] rule of each local id         (narrow pages)
 *                rows             narrow (nr_dict > 0): u16, low byte pc & 255, high byte local id
 *                                 wide (nr_dict == 0): u32, low byte pc & 255, high half the rule
 *              Row 0 covers the page's first byte, so a span without a row of its own at or below
 *              the pc continues the row before it.
 */
#define FPL_CHUNK_LOG2 20
#define FPL_CHUNK_SIZE (1u << FPL_CHUNK_LOG2)
#define FPL_PAGE_LOG2  16
#define FPL_SPAN_LOG2  8
#define FPL_NR_SPANS   (1u << (FPL_PAGE_LOG2 - FPL_SPAN_LOG2))
#define FPL_RULES_MAX  65526u /* slots: the last rule's reach ends with the chunk */

#define FPL_PAGE_FIRST_BYTES (2 * (FPL_NR_SPANS + 2))
#define FPL_RULE_REACH	     160u /* a rule and the nine slots of FPL_EXT_MAX extended ones */

struct fpl_page {
	__u32 off;     /* offset of the page's bytes in the image; 0: no row in these 64 KiB */
	__u16 nr_dict; /* 0: wide rows */
	__u16 _pad;
};
_Static_assert(sizeof(struct fpl_page) == 8, "fpl_page is table ABI");

/* e_entry is followed by a few instructions that call the first function; they have no caller. */
#define WALK_ENTRY_BYTES 64u

/* How the CFA is found; N is cfa_off, M is off2, R is reg, S is reg2. */
enum fpl_cfa {
	FPL_CFA_NONE,  /* no CFI here: try the frame pointer */
	FPL_CFA_REG,   /* CFA = R + N */
	FPL_CFA_DEREF, /* CFA = *(R + N) + M */
	FPL_CFA_INDEX, /* CFA = *(R + N + 8 * S) + M */
	FPL_CFA_PLT,   /* CFA = R + N + ((pc & 15) >= S ? 8 : 0): S is the literal of this PLT */
	FPL_CFA_EXPR,  /* an expression the table does not express */
	/*
	 * Go up to 1.20: the frame is on the system stack of a thread, its caller on the stack of
	 * the goroutine g that the thread runs. R is the g of any code of the thread; m, curg and
	 * sp are fields: m = *(R + 8 * S), g = *(m + M), g0 = *m. Conditions: g belongs to m, *(g +
	 * 8 * S) == m, the frame is at the end of g0's stack in use, *(g0 + N) == rsp, and *(g + N)
	 * lies in g's stack, from *g to *(g + 8). In the caller R is g.
	 */
	FPL_CFA_G_CALL, /* CFA = *(g + N) + 8: where it called from */
	/* CFA = *(g + N), RA = *(g + N + 8), behind a call of this function: g resumes there. If m
	 * has no g, the frame has no caller. */
	FPL_CFA_G_RESUME,
	/* CFA = *(g + 8) - *(R + N - 8) + M with g = *(R + N), if that lies in g's stack as above
	 */
	FPL_CFA_HEIGHT,
	/*
	 * LuaJIT: code below the frame of its interpreter, which keeps where its stack pointer is.
	 * R points into the global state, L = *(R + N) is the thread that runs, f = *(L + M) its
	 * innermost such frame, *(f + 32) the one before; the low two bits of each are flags.
	 */
	FPL_CFA_LUAJIT, /* CFA = the first f above rsp + 8 * S */
	/*
	 * Haskell, by GHC: its own stack is in rbp, up to a frame of type M; the first S words are
	 * a frame of the code itself, filled or not. The rule leads to the caller of StgRun, which
	 * is behind that stack: CFA = R + N, or some words above where code has pushed them
	 * (bpf/walk_haskell.h).
	 */
	FPL_CFA_HASKELL,
	FPL_CFA_COUNT
};

/* Flags of a rule. */
#define FPL_RULE_END	1u  /* RA is undefined: this is the outermost frame */
#define FPL_RULE_SIGNAL 2u  /* CIE augmentation 'S': the caller was interrupted; its pc is exact */
#define FPL_RULE_EXT	4u  /* nr_ext register rules follow in the next slots, two to a slot */
#define FPL_RULE_RA_REG 8u  /* RA is in register reg2 (CFA_REG only) */
#define FPL_RULE_SYNTH	16u /* made for code without CFI: its frames are FPL_ORIGIN_SYNTH */
#define FPL_RULE_JUDGED 64u /* with FPL_CFA_NONE: rbp is proven not to be the frame pointer */
#define FPL_RULE_SWITCH 32u /* the caller may be on another stack: no check of its CFA */

/* Place of the caller's rbx, rbp, r12, r13, r14, r15: words from the base, or one of these. */
#define FPL_NR_SAVED	6u
#define FPL_SAVED_SAME	(-128)
#define FPL_SAVED_UNDEF 127

/*
 * How to find the caller, one slot of 16 bytes. saved[i] is a distance in 8-byte words from the
 * CFA, or from the value of R where bit i of from_reg is set (stack-realigning functions save at
 * rbp + 8n while the CFA is read from memory). RA is at CFA - 8 unless a flag or an extended rule
 * says otherwise. Extended rules hold the rest (offsets out of range or no multiple of 8, other
 * registers, values instead of places) and win over saved[].
 */
struct fpl_rule {
	__u8 cfa;   /* enum fpl_cfa */
	__u8 flags; /* FPL_RULE_* */
	__u8 regs;  /* low nibble reg, high nibble reg2 or the PLT literal */
	__u8 from_reg;
	__s32 cfa_off;
	__s8 saved[FPL_NR_SAVED];
	__s16 off2; /* M */
};
_Static_assert(sizeof(struct fpl_rule) == 16, "fpl_rule is table ABI");

/* Place of one register of the caller, when a slot cannot express it. */
enum fpl_ext_kind {
	FPL_EXT_UNDEF,	 /* not recoverable */
	FPL_EXT_SAME,	 /* unchanged */
	FPL_EXT_AT_CFA,	 /* *(CFA + off) */
	FPL_EXT_AT_REG,	 /* *(base + off) */
	FPL_EXT_VAL_CFA, /* CFA + off */
	FPL_EXT_VAL_REG, /* base + off */
	FPL_EXT_VAL_PC,	 /* pc + off */
	FPL_EXT_EXPR,	 /* an expression the table does not express */
};
#define FPL_EXT_MAX 17u /* 16 registers and the return address (number 16) */

struct fpl_ext {
	__u8 dst;   /* register the rule is for; 16: the return address */
	__u8 kind;  /* enum fpl_ext_kind */
	__u8 base;  /* register of AT_REG and VAL_REG */
	__u8 count; /* in the first rule of a run: length of the run; else 0 */
	__s32 off;
};
_Static_assert(sizeof(struct fpl_ext) == 8, "fpl_ext is table ABI");

enum fpl_table_state {
	FPL_TABLE_PENDING, /* being compiled: take a snapshot */
	FPL_TABLE_READY,
	FPL_TABLE_NONE,	   /* the object has no usable CFI: every pc is `no CFI` */
	FPL_TABLE_PARTIAL, /* rows from code are still being made: PENDING where it has no row */
	FPL_TABLE_LATE,	   /* PARTIAL, and the rows take long to make: take a frame-pointer step
			      meanwhile */
};

/* Place of an image. Immutable while the image may be read. */
struct fpl_image {
	__u32 state; /* enum fpl_table_state */
	__u32 base;  /* pool address: chunk number << FPL_CHUNK_LOG2 | offset */
	__u32 rules_off;
	__u32 dir_off;
};

/*
 * Value of the array map `objects`, by slot: where an object's table is. A replacement table is put
 * into the image that is not current, which one store then makes current: a lookup reads the old
 * table or the new one.
 */
struct fpl_object {
	__u32 object;  /* id; a mapping with another id and this slot finds no table */
	__u32 current; /* which of the images: 0 or 1 */
	__u32 nr_pages;
	__u32 script;	   /* in `script_rules`; 0: it runs no scripts */
	__u64 first_vaddr; /* multiple of 64 KiB */
	__u64 entry_vaddr; /* e_entry */
	struct fpl_image images[2];
};
_Static_assert(sizeof(struct fpl_object) == 64, "fpl_object is map ABI: one cache line");

/* Flags of a mapping. */
#define FPL_MAPPING_MAIN   1u /* of the main object: its entry ends a stack */
#define FPL_MAPPING_INTERP 2u /* of the program interpreter: likewise */
#define FPL_MAPPING_ANON   4u /* executable memory without an object */
#define FPL_MAPPING_SHARED 8u /* with ANON: processes may share it; only userspace asks */

/* Value of the array map `mappings`: one executable mapping; a mapset is a sorted run of them. */
struct fpl_mapping {
	__u64 start; /* runtime address, [start, end) */
	__u64 end;
	__u64 bias;   /* runtime address - vaddr */
	__u32 object; /* id; 0 with FPL_MAPPING_ANON */
	__u16 slot;   /* in `objects`; 0: none */
	__u16 flags;
};
_Static_assert(sizeof(struct fpl_mapping) == 32, "fpl_mapping is map ABI");

/* Value of the hash map `procs`, by tgid, written by the kernel side at exec, fork and first
 * sample. */
struct fpl_proc {
	__u64 gen;	/* unique per program image: bumped by exec and fork */
	__u64 mm;	/* address of its mm_struct; never dereferenced */
	__u64 start_ns; /* start_boottime of the leader */
	/* Snapshots sent for return addresses in no known mapping: a budget per mapset version
	 * (retry.h). */
	__u64 retry_first_ns; /* of the first one under the version */
	__u64 retry_ns;	      /* of the last one */
	__u32 retry_version;
	__u32 retries;
};
_Static_assert(sizeof(struct fpl_proc) == 48, "fpl_proc is map ABI");

/* Value of the hash map `mapsets`, by tgid, written by userspace, copied to the child by fork. */
struct fpl_mapset {
	__u64 gen; /* the image it describes; used only where it equals fpl_proc.gen */
	__u32 first;
	__u32 nr;
	__u32 version; /* counts changes of this process's mappings, for raw frames */
	__u32 serial;  /* of the run of mappings, never reused; 0: no mappings left */
	__u64 check;   /* fpl_mapset_check() of the others */
};
_Static_assert(sizeof(struct fpl_mapset) == 32, "fpl_mapset is map ABI");

/*
 * A word that stands for the whole mapset: while a program reads the value, userspace may replace
 * it and its memory may be reused, and the order in which its words change is undefined.
 */
static inline __attribute__((__always_inline__)) __u64
fpl_mapset_check(const struct fpl_mapset *mapset)
{
	__u64 check = mapset->gen * 0x9e3779b97f4a7c15ull;

	check = (check ^ check >> 32 ^ ((__u64)mapset->first << 32 | mapset->nr)) *
		0xc2b2ae3d27d4eb4full;
	check = (check ^ check >> 29 ^ ((__u64)mapset->version << 32 | mapset->serial)) *
		0xd6e8feb86659fd93ull;
	return check ^ check >> 31;
}

/*
 * Value of the array `stacks`, a hash table: the hash of a stack selects its group and the slot
 * from which the first free one is searched. Entries are removed all together, between two windows.
 */
struct fpl_stack {     /* one distinct (process, comm, stack, stop) */
	__u64 hash[2]; /* of the sample's identity and frames, seeded per window */
	__u64 check;   /* a third hash, to tell a collision */
	__u64 count;
	__u64 weight;
	__u32 id; /* id of the FPL_RECORD_STACK with the frames; 0: free */
	__u32 nr_frames;
	__u32 elided; /* the largest number of frames that FPL_FRAME_GAP stood for in a sample of
			 this stack */
	/* With FPL_CONFIG_SQUARES the sum of the squares of the samples' weights is squares_low +
	 * 2^32 squares_high. Squares from 2^64 on are cut to a multiple of 2^32. */
	__u32 squares_low;
	union {
		__u64 objects; /* sum over the samples */
		__u64 squares_high;
	};
};
_Static_assert(sizeof(struct fpl_stack) == 64, "one cache line");

#define FPL_STACK_CLAIMED   0xffffffffu /* id of a slot that is being filled */
#define FPL_STACKS_IN_GROUP 8u

struct fpl_stack_group {
	struct fpl_stack stacks[FPL_STACKS_IN_GROUP];
};

/* Ring records. Each begins with the header; sizes are multiples of 8. */
enum fpl_record {
	FPL_RECORD_STACK,    /* struct fpl_sample, frames: a new stack */
	FPL_RECORD_SNAPSHOT, /* as STACK, then struct fpl_regs, struct fpl_hole, struct fpl_shared
				those bytes of the stack that are not shared, and islands; stop: why
				the walk could not go on; count 1, or 0: it is kept */
	FPL_RECORD_EXEC,     /* struct fpl_life */
	FPL_RECORD_FORK,     /* struct fpl_life */
	FPL_RECORD_EXIT,     /* struct fpl_life */
	FPL_RECORD_WALK, /* as STACK, then struct fpl_regs and stack bytes: a walk to be judged, not
			    to be shown; its sample is counted elsewhere */
	FPL_RECORD_EVENT,	/* struct fpl_event: the time of a sample counted in `stacks` */
	FPL_RECORD_SCRIPT_CODE, /* struct fpl_script_code of bpf/shared_script.h: a code object */
	FPL_RECORD_RSS, /* struct fpl_rss of bpf/shared_rss.h: a process's memory has changed */
};

struct fpl_record_header {
	__u32 type;    /* enum fpl_record */
	__u32 size;    /* of the whole record, bytes */
	__u64 time_ns; /* CLOCK_MONOTONIC */
};

/* Flags of a sample. */
#define FPL_SAMPLE_KTHREAD 1u /* no user part: kernel thread, io or user worker */
#define FPL_SAMPLE_KERNEL  2u /* the sample interrupted kernel code */
#define FPL_SAMPLE_RAW	   4u /* holds a raw frame: gen and version are part of its identity */
/* The thread did this for as long as the sample weighs; neither: it was on a CPU. */
#define FPL_SAMPLE_BLOCKED  8u
#define FPL_SAMPLE_RUNNABLE 16u
#define FPL_SAMPLE_WOKEN    32u	 /* runnable since it was woken up: the stack is where it slept */
#define FPL_SAMPLE_WAKER    64u	 /* who ended a wait: another sample's key leads here */
#define FPL_SAMPLE_HELD	    128u /* with RUNNABLE: throttled; with WOKEN, too: frozen (fpl_held) */
#define FPL_SAMPLE_STATE \
	(FPL_SAMPLE_BLOCKED | FPL_SAMPLE_RUNNABLE | FPL_SAMPLE_WOKEN | FPL_SAMPLE_HELD)
#define FPL_SAMPLE_THROTTLED (FPL_SAMPLE_RUNNABLE | FPL_SAMPLE_HELD)
#define FPL_SAMPLE_FROZEN    (FPL_SAMPLE_RUNNABLE | FPL_SAMPLE_HELD | FPL_SAMPLE_WOKEN)

struct fpl_sample {
	struct fpl_record_header header;
	__u64 gen; /* of the process's image; 0: unknown */
	__u64 start_ns;
	__u64 weight;  /* of one sample */
	__u64 objects; /* that it stands for, in 1 / FPL_OBJECT; 0: its source counts none */
	__u64 cgroup;  /* id in the v2 hierarchy; 0 without FPL_CONFIG_BY_CGROUP */
	__u32 id;      /* stack id, unique in the run */
	__u32 count;   /* 1: shown by this record alone; 0: counted in `stacks` under id */
	__u32 tgid;
	__u32 tid;
	__u32 cpu;
	__u32 version; /* of the mapset */
	__u16 nr_user;
	__u16 nr_kernel;
	__u8 stop; /* enum fpl_stop */
	__u8 flags;
	__u16 nr_fp; /* 0 without FPL_CONFIG_COMPARE */
	char comm[FPL_COMM_SIZE];
	__u32 elided;	 /* user frames that FPL_FRAME_GAP stands for; 0: no gap */
	__u16 source;	 /* which of the run's sources took it, 0.. */
	__u16 nr_key;	 /* 0, 1 or FPL_KEY_MAX */
	__u16 nr_script; /* words of script frames; 0 in snapshots */
	__u16 _pad[3];
	/* __u64 user[nr_user] (struct of bits above), then __u64 kernel[nr_kernel] (addresses),
	 * then __u64 fp[nr_fp] (as user): the same stack by the kernel's frame-pointer walk, then
	 * __u64 key[nr_key]: what fpl_source.key asks for, a number or a text with zeros behind
	 * it. A text that could not be read is empty, and FPL_KEY_UNREAD is its last word.
	 * Then __u64 script[nr_script]. */
};
_Static_assert(sizeof(struct fpl_sample) == 120, "fpl_sample is ring ABI");

#define FPL_KEY_UNREAD 1ull
#define FPL_OBJECT     1024u /* one object of fpl_sample.objects */

/*
 * Registers by DWARF number, and the copy of the stack that follows them. They belong to the leaf
 * or, if a walk had to stop, to the frame after the last user frame of the record.
 */
struct fpl_regs {
	__u64 reg[FPL_NR_REGS];
	__u64 pc;
	__u64 stack_addr; /* of the first byte copied: the red zone's, or its page's end */
	__u32 known;	  /* bit i: reg[i] is the task's */
	__u32 stack_size; /* bytes that follow */
	__u32 missing;	  /* bit i: the i-th page of the copy (the first may be a part) was not
			     resident and reads as zeros: large frames have untouched pages */
	__u8 exact;	  /* pc is an interrupted instruction, not a return address */
	__u8 origin;	  /* of the frame, enum fpl_origin */
	__u8 _pad[2];
};
_Static_assert(sizeof(struct fpl_regs) == 160, "fpl_regs is ring ABI");

/*
 * In a snapshot, behind the registers: the stack copy lacks its middle. Bytes from offset off of
 * the copy on, which begin a page, come from size bytes further up the stack. A stack too large for
 * a snapshot has its large buffers in the middle.
 */
struct fpl_hole {
	__u32 off;  /* at most fpl_regs.stack_size */
	__u32 size; /* whole pages; 0: the copy is of one piece */
	__u32 nr_islands;
	/* how often the thread, which sleeps, had been given a CPU, modulo 2^32: while that is the
	 * same, it has not run, and its memory is as it was; 0: it runs, or that is not known */
	__u32 arrivals;
};
_Static_assert(sizeof(struct fpl_hole) == 16, "fpl_hole is ring ABI");

/*
 * At the end of a snapshot: pieces of its hole, or of a goroutine's stack and Go's structures that
 * lead there.
 */
#define FPL_ISLAND_SIZE 512u
#define FPL_ISLANDS_MAX 32u

struct fpl_island {
	__u64 addr; /* a multiple of the size; 0: not resident */
	__u8 bytes[FPL_ISLAND_SIZE];
};

/*
 * Behind the islands: bytes [off, off + size) of the stack copy are the same as those at the same
 * addresses in the last snapshot with size 0 of this CPU and slot; the kernel side compared them.
 * The bytes before and behind them follow.
 */
struct fpl_shared {
	__u32 id; /* of that snapshot */
	__u32 off;
	__u32 size; /* 0: the record has all bytes */
	__u32 slot; /* that the snapshot was made in, below FPL_SLOTS_MAX */
};
_Static_assert(sizeof(struct fpl_shared) == 16, "fpl_shared is ring ABI");

/* With FPL_CONFIG_TIMELINE, one for each sample that has no record of its own (count 1). */
struct fpl_event {
	struct fpl_record_header header;
	__u64 weight;
	__u32 id; /* of the FPL_RECORD_STACK that came before it */
	__u32 tid;
	__u32 cpu;
	__u32 _pad;
};
_Static_assert(sizeof(struct fpl_event) == 40, "fpl_event is ring ABI");

struct fpl_life {
	struct fpl_record_header header;
	__u64 gen;
	__u64 start_ns;
	__u32 tgid;
	__u32 parent; /* tgid of the parent (fork) */
	__u64 cgroup; /* id in the v2 hierarchy (exec); 0: unknown */
	__u32 euid;   /* effective user, as the first user namespace has it (exec) */
	__u32 _pad;
};

/* Read-only data of the program, set by the loader between open and load. */
#define FPL_CONFIG_ALL	   1u  /* every process; else those in `targets` */
#define FPL_CONFIG_IDLE	   2u  /* pid 0 counts as a sample */
#define FPL_CONFIG_USER	   4u  /* user stacks */
#define FPL_CONFIG_KERNEL  8u  /* kernel stacks */
#define FPL_CONFIG_COMPARE 16u /* walk each user stack by bpf_get_stack, too */
/* Only these, of the processes above: */
#define FPL_CONFIG_THREADS 32u	/* threads in `threads` */
#define FPL_CONFIG_UID	   64u	/* tasks whose effective user is config.uid */
#define FPL_CONFIG_CGROUP  128u /* tasks in a cgroup, or below it */
#define FPL_CONFIG_COMM	   256u /* tasks whose name is not refused by `comms` */
/* Properties that separate stacks besides process and comm: */
#define FPL_CONFIG_BY_TID    512u
#define FPL_CONFIG_BY_CPU    1024u
#define FPL_CONFIG_BY_CGROUP 2048u
#define FPL_CONFIG_TIMELINE  4096u /* say of each sample when it was taken */
/* No samples taken in this mode: */
#define FPL_CONFIG_NO_USER_MODE	  8192u
#define FPL_CONFIG_NO_KERNEL_MODE 16384u

#define FPL_CONFIG_WAKERS 65536u /* a wait's sample is of the thread that ended it */
/* with FPL_CONFIG_WAKERS: only waits of threads that are not the kernel's */
#define FPL_CONFIG_USER_WAKEES 131072u
#define FPL_CONFIG_STACKS      32768u /* sample each thread once, at the end, but those on a CPU */
/* With FPL_CONFIG_WAKERS: samples are of both: of the thread that waits, whose key has links (enum
 * fpl_wait_word), and of the one that ended it, FPL_SAMPLE_WAKER. */
#define FPL_CONFIG_PAIRS       4194304u
#define FPL_CONFIG_LOCKS       262144u /* with FPL_CONFIG_PAIRS: waits at locks alone: the key is one */
#define FPL_CONFIG_REGIONS     524288u	 /* methods for code made at run time (shared_region.h) */
#define FPL_CONFIG_SQUARES     1048576u	 /* samples differ in weight, and count no objects */
#define FPL_CONFIG_TOLD	       2097152u	 /* programs tell of allocations: `tolds` */
#define FPL_CONFIG_CALLS       8388608u	 /* the key of a wait is the system call: arch_call() */
#define FPL_CONFIG_THREAD_SUMS 16777216u /* the times of threads are kept by thread, too */

enum fpl_unwind {
	FPL_UNWIND_AUTO, /* CFI; frame-pointer steps where CFI is missing */
	FPL_UNWIND_CFI,	 /* CFI only */
	FPL_UNWIND_FP,	 /* bpf_get_stack */
};

struct fpl_config {
	__u64 block_min_ns, block_max_ns; /* waits that are wanted */
	__u64 preempt_off;    /* with FPL_CONFIG_WAKERS: where a CPU has its preempt_count, from its
				 struct rq on */
	__u32 flags;	      /* FPL_CONFIG_* */
	__u32 unwind;	      /* enum fpl_unwind */
	__u32 max_depth;      /* user frames kept, 1..FPL_DEPTH_MAX */
	__u32 snapshot_bytes; /* bytes of stack copied, at most FPL_SNAPSHOT_MAX, and at most
				 FPL_SNAPSHOT_BLIND if its end is not known; 0: no snapshots */
	__u32 record_every;   /* send every n-th kernel walk as FPL_RECORD_WALK, with
				 snapshot_bytes of stack; 0: none */
	__u32 wakeup_bytes;   /* fill of the ring that wakes its reader; life records and snapshots
				 wake it if it says that it sleeps (reader_sleeps), other records
				 never: read the ring a few times a second */
	__u32 nr_stack_groups; /* entries of `stacks`: a power of two */
	__u32 fp_depth;	       /* limit of frames of the kernel's frame-pointer walk, at most
				  FPL_FP_DEPTH_MAX */
	__u32 uid;	  /* uid for FPL_CONFIG_UID, as the initial user namespace numbers it */
	__u32 pid_ns;	  /* inode number of the PID namespace of all numbers; 0: the initial one */
	__u32 root_depth; /* number of outermost frames among the max_depth that are kept; 0: walks
			     end after max_depth */
	__u32 nr_sources; /* at most FPL_SOURCES_MAX; above 1, links have the source as cookie */
	__u32 nr_slots;	  /* slots of each CPU, at most FPL_SLOTS_MAX: 1; 2: uprobes that switch
			     preemption off, and switches, use slot 1; 3: uprobes, and switches
			     and wakeups together, claim slot 1 or 2 */
	__u32 block_states; /* in one of these: the kernel's task_struct.__state, FPL_STATE_* */
	__u32 nr_links;	    /* stacks of who ended waits that a sample leads to, at most
			       FPL_LINKS_MAX; 0: none. With FPL_CONFIG_PAIRS from 1 on, and one less:
			       the first stack is its own */
	__u32 _pad;
};
_Static_assert(sizeof(struct fpl_config) == 88, "fpl_config is map ABI");

/* Constants that a program has in its code where preemption is to be switched off and on. */
#define FPL_PREEMPTION_OFF 0x66706c5f6f6666ull
#define FPL_PREEMPTION_ON  0x66706c5f6f6eull

/*
 * Kinds of fields of an event's record: a tracepoint's, or the registers (struct pt_regs) at a
 * probe. Texts end with a zero byte, or with their room.
 */
enum fpl_field_kind {
	FPL_FIELD_NONE,
	FPL_FIELD_UNSIGNED,
	FPL_FIELD_SIGNED,
	FPL_FIELD_TEXT,	       /* in the record, in the field's own bytes */
	FPL_FIELD_TEXT_LOC,    /* in the record; the field has its offset in its low 16 bits */
	FPL_FIELD_TEXT_REL,    /* likewise, from the end of the field */
	FPL_FIELD_TEXT_KERNEL, /* the field is its address, in the kernel */
	FPL_FIELD_TEXT_USER,   /* the same, in the process */
	FPL_FIELD_NAMED,       /* a key: a number, which says which of fpl_source.texts it is */
};

enum fpl_field_place {
	FPL_PLACE_RECORD,   /* in the record */
	FPL_PLACE_MEMORY,   /* in the process, at the address that is in the record, + disp */
	FPL_PLACE_CONSTANT, /* it is disp */
};

struct fpl_field {
	__u16 off;  /* bytes from the start of the record; a tracepoint's first 8 are the kernel's
		       own */
	__u16 size; /* bytes; of a number 1, 2, 4 or 8 */
	__u8 kind;  /* enum fpl_field_kind */
	__u8 place; /* enum fpl_field_place; of a FPL_FIELD_TEXT RECORD */
	__u16 _pad;
	__s32 disp;
};
_Static_assert(sizeof(struct fpl_field) == 12, "fpl_field is map ABI");

enum fpl_test_op {
	FPL_TEST_EQ,
	FPL_TEST_NE,
	FPL_TEST_LT,
	FPL_TEST_LE,
	FPL_TEST_GT,
	FPL_TEST_GE,
	FPL_TEST_AND,	/* have they a bit in common? */
	FPL_TEST_MATCH, /* of a text: does it match a pattern with * and ?, as file names do? */
};

/* The filter ends so; else yes and no are numbers of tests behind this one. */
#define FPL_TEST_PASS 254u
#define FPL_TEST_FAIL 255u

#define FPL_TESTS_MAX	   16u /* of a filter; a power of two */
#define FPL_TEST_TEXT	   64u /* bytes of a text that fields are compared with, its end included */
#define FPL_FIELD_TEXT_MAX 256u /* bytes that are read of a field's text, its end included */

/* One comparison of a filter, and which comes next. */
struct fpl_test {
	struct fpl_field field;
	__u8 op; /* enum fpl_test_op; of a text EQ, NE or MATCH */
	__u8 yes, no;
	__u8 _pad;
	__u64 value; /* the number; of a text which of fpl_source.texts */
};
_Static_assert(sizeof(struct fpl_test) == 24, "fpl_test is map ABI");

/* Value of the array `sources`: what is asked of an event's record. Written before its program is
 * attached. */
struct fpl_source {
	__u32 every; /* one sample in so many that pass, by CPU and slot */
	__u32 nr_tests;
	struct fpl_field weight; /* a sample weighs this; below zero nothing; FPL_FIELD_NONE: one */
	struct fpl_field key;	 /* separates stacks; FPL_FIELD_NONE: nothing does */
	__u64 stride;		 /* of allocations: bytes to a sampled one (bpf/heap.h) */
	struct fpl_test tests[FPL_TESTS_MAX];
	char texts[FPL_TESTS_MAX][FPL_TEST_TEXT];
};
_Static_assert(sizeof(struct fpl_source) == 1448, "fpl_source is map ABI");

/* Value of the hash maps `targets`, by tgid, and `threads`, by tid. */
#define FPL_TARGET_ACTIVE  1u /* its samples pass the filter */
#define FPL_TARGET_INHERIT 2u /* a child is a target with the same flags */
#define FPL_TARGET_ON_EXEC 4u /* becomes active when it executes a program */
#define FPL_TARGET_GONE	   8u /* of a thread: it has begun to exit */

struct fpl_target {
	__u64 start_ns; /* start_boottime of leader or thread; 0: any with this number */
	__u32 flags;	/* FPL_TARGET_* */
	__u32 _pad;
};
_Static_assert(sizeof(struct fpl_target) == 16, "fpl_target is map ABI");

/* Key of the hash map `comms`, and its value: does the name match? */
struct fpl_comm {
	char name[FPL_COMM_SIZE]; /* zeros behind it */
};

#define FPL_COMM_WANTED	  1u
#define FPL_COMM_UNWANTED 2u

/* Value of the per-CPU array `counters`, by slot; the entry behind the slots is for samples that
 * found none free. */
struct fpl_counters {
	__u64 fired;
	__u64 idle;
	__u64 filtered;
	__u64 bpf_ns;	     /* in the program, all runs */
	__u64 sample_ns;     /* ns of sample time in runs that were neither idle nor filtered */
	__u64 frames;	     /* user and kernel frames found in those runs */
	__u64 snapshots;     /* sent */
	__u64 uretprobes;    /* samples with a function under a return probe on the stack */
	__u64 life_lost;     /* life records lost, ring full: rescan /proc when it grows */
	__u64 events_lost;   /* counted samples whose time was lost because the ring was full */
	__u64 lost[8];	     /* by enum fpl_lost */
	__u64 full[4];	     /* entries that found no room, by enum fpl_full */
	__u64 deep_ns;	     /* part of sample_ns spent on frames beyond config.max_depth */
	__u64 deep_walked;   /* samples walked beyond max_depth, complete or not */
	__u64 deep_refused;  /* samples not walked beyond it: too many were that deep, the time was
				used up */
	__u64 deep_cut;	     /* for which one walk took too long */
	__u64 entered;	     /* events with a record, refused or not */
	__u64 stratum_at;    /* heap.h: allocated bytes of the stratum so far, */
	__u64 stratum_point; /* and its sampled one */
	__u64 texts_unread;  /* texts of events that could not be read: they pass no filter */
	__u64 passed[FPL_SOURCES_MAX]; /* events that passed the filters, by source, where -c asks
					*/
};
_Static_assert(FPL_LOST_COUNT <= 8, "fpl_counters.lost is too short");
_Static_assert(FPL_FULL_COUNT <= 4, "fpl_counters.full is too short");

#include "bpf/shared_heap.h"
#include "bpf/shared_locks.h"
#include "bpf/shared_rss.h"
#include "bpf/shared_times.h"
