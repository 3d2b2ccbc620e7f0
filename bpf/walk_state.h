/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The memory the walker (bpf/walk.h) works in. */
#pragma once

#include "bpf/shared_region.h"
#include "bpf/shared_script.h"

/* Bytes of user stack per read: most stacks then take one or two reads, each as costly as reading
 * the words of ten frames one by one. A larger window copies lines that no frame needs. */
#define FPL_WINDOW_SIZE 2048u

/* Bytes below the CFA that hold the return address and, in most frames, the saved registers. */
#define FPL_NEAR_BYTES 64u

/* Room for the code of a leaf from its first byte to the pc. */
#define WALK_CODE_WORDS (256 / 8 + 1)

/* Why a refused frame-pointer step may succeed later. */
enum walk_open {
	WALK_OPEN_NOT,
	WALK_OPEN_READ, /* the mapping or the code that the frame pointer leads to is missing */
	WALK_OPEN_LATE, /* a row is being made: FPL_TABLE_LATE */
};

/* The fate of the frames beyond max_depth. */
enum walk_deep {
	WALK_DEEP_NONE,	   /* there were none */
	WALK_DEEP_WALKED,  /* the walk went on */
	WALK_DEEP_REFUSED, /* earlier walks had used up the time */
	WALK_DEEP_CUT,	   /* it took too long */
};

/* Code that is followed to where it returns (bpf/walk_follow.h). */
struct fpl_follow {
	__u64 at;	/* the next instruction, or prefix of it */
	__u64 code;	/* there */
	__u64 block;	/* of code, a copy of which is at hand; 0: none */
	__u64 branch;	/* target of the last branch passed, if further on and rsp is the same; 0:
			 * none */
	__s32 taken;	/* bytes that were taken off the stack, from the first instruction on; below
			 * 0: pushed */
	__s32 most;	/* of these, at any instruction */
	__u32 prefixes; /* of the instruction at hand: INSN_16_BIT */
	__u32 is_found; /* its end was found */
};

/* The state of one walk; in scratch memory, because the kernel's stack has 512 bytes. The fields
 * each frame needs come first, close together. */
struct fpl_walk {
	/* the frame */
	__u64 pc;
	__u32 known; /* bit i: reg[i] is the frame's */
	__u32 exact; /* pc is an interrupted instruction, not a return address */

	/* the walk */
	__u32 nr_frames;
	__u32 max_depth; /* frames kept, 1..FPL_DEPTH_MAX */
	__u32 serial;	 /* of the mapset: remembered frames under it are valid; 0: none */
	__u32 next;	 /* index in the memory of the frame that followed this one last time */
	__u8 unwind;	 /* enum fpl_unwind: AUTO or CFI */
	__u8 stop;	 /* enum fpl_stop */
	__u8 flags;	 /* FPL_SAMPLE_RAW */
	__u8 origin;	 /* of the frame at pc */
	__u8 by_row;	 /* origin of a frame found by a row: CFI or CFI_USER */
	__u8 fp_open;	 /* enum walk_open: why a refused frame-pointer step may succeed later */
	__u8 is_probed;	 /* a function on the stack is under a return probe */
	__u8 has_kernel_regs; /* the moment interrupted kernel code: env_kernel_reg answers */

	/* copy of the stack: window_size bytes from window_addr on, whole words; size 0: none */
	__u64 window_addr;
	__u32 window_size;
	__u32 window_near; /* offsets of it from which FPL_NEAR_BYTES are inside */

	__u64 reg[FPL_NR_REGS]; /* by DWARF number */

	/* the code */
	__u32 first; /* of the mapset, in `mappings` */
	__u32 nr;
	__u32 last_serial; /* of the mapset that last is of */
	__u32 _pad2;
	struct fpl_mapping last; /* copy of the mapping found last; end 0: none */

	struct fpl_rule rule; /* in force, where it is not a near one */

	/*
	 * Beyond max_depth, the last root_depth of the kept frames form a ring; the frame at
	 * nr_frames is overwritten next. walk_end() puts them in order.
	 */
	__u32 root_depth; /* 0: walks end after max_depth; else less than it */
	__u32 elided;	  /* frames overwritten, except in this turn of the ring */
	__u32 is_ring;	  /* all of its frames are there */
	__u32 unlooked;	  /* frames since the clock was looked at */
	__u32 deep;	  /* enum walk_deep */
	__u32 _pad4;
	__u64 deep_looked_ns; /* when the clock was */
	__u64 deep_ns;	      /* time they took, with WALK_DEEP_WALKED and WALK_DEEP_CUT */
	/* budget for that on this CPU and the time of its last refill, kept across walks */
	__u64 credit_ns;
	__u64 credited_ns;

	/* a row with extended rules: the registers it starts from, and the RA it gives */
	__u64 old[FPL_NR_REGS];
	__u64 ra;
	__u32 old_known;
	__u8 ra_said;  /* set by an extended rule, or found with the CFA: ra holds it unless ra_stop
			  says why not */
	__u8 ra_stop;  /* enum fpl_stop; of WALK_REGION_END, too */
	__u8 ra_by_pc; /* it is a distance from the pc */
	__u8 _pad3;

	__u64 trampoline;  /* of return probes; 0: not asked yet; 1: none */
	__u64 pending;	   /* for env_return_address */
	__u64 word;	   /* read outside the window */
	__u64 call;	   /* the bytes before a return address */
	__u32 leaf_ra_off; /* struct leaf_place: the answer of the code around a pc */
	__u32 leaf_fp_saved;
	__s32 nr_pushed; /* by the trampoline */
	__u32 _pad5;
	/* code in a region (bpf/walk_region.h) */
	__u64 blob_segment; /* where the search for its beginning is */
	__u32 blob_found;
	__u32 stack_words; /* of Erlang stacks that were read, beyond those that are free */
	__u64 blob[FPL_BLOB_BYTES / 8];
	__u64 blob_name_at, blob_name; /* where a name is, and its beginning; 0: none was read */
	__u64 frame;		       /* at hand: it may be told by something else than its pc */
	__u64 haskell_sp; /* of the next frame of the Haskell stack; 0: the walk is not there */
	struct fpl_follow follow;
	/* script frames (bpf/script.h) */
	__u64 script_window_addr;
	__u32 script_window_size; /* bytes; 0: none */
	__u32 nr_script;	  /* words */
	__u64 script_carried; /* the script frame that the next native frame must be at; 0: unknown
			       */
	/* that code made at run time had in its register; 0: none. nr_frames at that frame: the
	 * next one is the loop's, if it was that which ran the code; 0: there was no such frame */
	__u64 script_made;
	__u32 script_made_at, _pad6;
	__u64 script_frame;	 /* at hand */
	__u64 script_check;	 /* the value that frames are checked by: this one, or */
	__u64 script_check_size; /* less than so much above */
	__u32 script_rule;	 /* in force at the frame; 0: none */
	__u32 nr_script_frames;
	/* those of the native frame at hand: in memory, where the verifier does not follow what it
	 * is in each turn of the loop */
	__u32 script_chain_nr;
	__u32 script_end;
	/* the native frame at hand may be a script frame itself: its frame pointer, or, before its
	 * frame is made, the function; 0: not known */
	__u64 script_native, script_function;
	/* of votes for a place: the most of one that passes, and of all; the place that has them */
	__u32 script_best, script_most, script_winner;
	__u32 script_marks; /* of the head at hand: FPL_SCRIPT_BEHIND, FPL_SCRIPT_SHARES */
	struct {
		__u64 owner;	 /* the interpreter that they are of; 0: no one's yet */
		__u64 array;	 /* that the next record is in; 0: all are behind */
		__u64 base;	 /* its records */
		__u64 position;	 /* where the next script frame is */
		__s32 last;	 /* the number of the next record; below 0: those of this array are
				  * behind */
		__u32 native;	 /* native frames up to the one that had the record before */
		__u32 is_newest; /* the next record is the newest one, which may be half made */
		__u32 _pad;
	} records; /* of scripts: where the next native frame goes on (bpf/script_records.h) */
	__u64 script_last[2]; /* a code and its content: recursion asks for the same again */
	__u64 script_words[FPL_SCRIPT_WORDS_MAX];
	__u64 script_window[FPL_WINDOW_SIZE / 8];

	__u64 code[WALK_CODE_WORDS]; /* around a pc */
	__u64 window[FPL_WINDOW_SIZE / 8];
	__u64 root[FPL_DEPTH_MAX]; /* the outermost frames while they are put in order */
};

/*
 * Frames found lately: object, vaddr and rule of an address of a mapset. A hit saves a search among
 * mappings and a table lookup, a dozen cache lines on as many pages. Entries stay valid: a mapset's
 * serial is never reused in a run, a published mapset does not change, and a rule is a fact about a
 * file. Raw frames and rules with extended ones are not kept.
 *
 * Entries lie in the order in which walks found them first: the callers of a frame, mostly the same
 * every time, are in the cache lines behind it, and the index is needed only when a walk leaves its
 * predecessor's path. The oldest give way.
 */
#define FPL_MEMORY_LOG2	      12
#define FPL_MEMORY_INDEX_LOG2 13

struct fpl_known_frame {
	__u64 pc;     /* the first of them, at run time */
	__u64 frame;  /* object id << FPL_FRAME_OBJECT_SHIFT | vaddr of pc */
	__u32 serial; /* of the mapset; 0: empty */
	__u16 size;   /* number of addresses: the part of a row in 256 bytes of code */
	__u8 near;    /* the rule is one for walk_near() */
	__u8 script;  /* of `script_rules`; 0: none */
	struct fpl_rule rule;
};
_Static_assert(sizeof(struct fpl_known_frame) == 40, "three to two cache lines");

struct fpl_memory {
	struct fpl_known_frame frames[1u << FPL_MEMORY_LOG2];
	__u16 index[1u << FPL_MEMORY_INDEX_LOG2]; /* by hash: where in frames it was put last */
	__u32 head;				  /* the next to be overwritten */
	__u32 _pad;
};
