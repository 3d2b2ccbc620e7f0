/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Both sides see this of script frames, as bpf/shared.h has the rest: their words in a sample, the
 * rules of interpreters, code objects in the ring (decisions 0033 to 0035).
 */
#pragma once

#include "bpf/shared.h"

/*
 * How the script frames of one native frame ended: the enum, the texts and the JSON keys. It is
 * never the stop of a stack. X(name, JSON key, text)
 */
#define FPL_SCRIPT_END_LIST(X)                                                           \
	X(OUTERMOST, outermost, "the first frame of the native one was reached")         \
	X(DEPTH, script_depth, "more script frames than are kept")                       \
	X(FAULT, script_fault, "a script frame could not be read, or was none")          \
	X(UNKNOWN, script_unknown, "no place held a script frame that passed the check") \
	X(LATE, script_late, "its sample was walked later, by a snapshot of the stack")

#define X(name, key, text) FPL_SCRIPT_END_##name,
enum fpl_script_end { FPL_SCRIPT_END_LIST(X) FPL_SCRIPT_END_COUNT };
#undef X

/*
 * Words of script frames, behind the others of a sample: for each native frame that runs a script a
 * head, then two words for each of its script frames, the innermost first.
 *
 *   head   bits 63..48  rule
 *          bits 47..32  index of the native frame among those of the user
 *          bits 31..24  enum fpl_script_end
 *          bit  23      the place and the frame carried from the callee differed
 *          bit  22      all records belong to native frames before
 *          bit  21      its records are those of the native frame before
 *          bits 15..0   number of script frames
 *   code   bits 47..0   address of the code object, with FPL_SCRIPT_IS_ in its lowest bits
 *          bits 63..48  bits 63..48 of its content
 *   place  bits 31..0   where in that code, counted from the object on, or what the rule has as its
 *                       place; FPL_SCRIPT_NO_PLACE: elsewhere
 *          bits 63..32  bits 47..16 of its content
 *
 * The content is a hash that the rule asks for: another code object at the same address has other
 * words. A run may have a million at one address, so fewer bits than these 48 would be too few.
 */
#define FPL_SCRIPT_NO_PLACE    0xffffffffu
#define FPL_SCRIPT_RULE_SHIFT  48
#define FPL_SCRIPT_INDEX_SHIFT 32
#define FPL_SCRIPT_END_SHIFT   24
#define FPL_SCRIPT_DIFFER      (1u << 23)
#define FPL_SCRIPT_BEHIND      (1u << 22)
#define FPL_SCRIPT_SHARES      (1u << 21)
#define FPL_SCRIPT_CODE_MASK   ((1ull << 48) - 1)
#define FPL_SCRIPT_IS_PLACE    1ull  /* of an address: where a frame is stands for its code, too, */
#define FPL_SCRIPT_IS_LAST     2ull  /* and the frame has no record: the outermost one */
#define FPL_SCRIPT_CHAIN_MAX   512u  /* script frames of one native frame */
#define FPL_SCRIPT_FRAMES_MAX  1024u /* of a stack */
#define FPL_SCRIPT_WORDS_MAX   (2 * FPL_SCRIPT_FRAMES_MAX + 256u) /* 256 heads */

/*
 * In userspace a stack has its script frames among the native ones, one word each: raw, with these
 * bits and the number of a struct script_frame. A raw frame of a walk is an address below 2^56.
 */
#define FPL_FRAME_SCRIPT      (FPL_FRAME_RAW | 8ull << 56)
#define FPL_FRAME_SCRIPT_MASK (0xfull << 60 | 0xfull << 56)

static inline __attribute__((__always_inline__)) int fpl_frame_is_script(__u64 frame)
{
	return (frame & FPL_FRAME_SCRIPT_MASK) == FPL_FRAME_SCRIPT;
}

/*
 * A value behind nr loads, each a word at an offset; 0: the rule has none. The lowest three bits of
 * a word that leads on are not of the address: run times mark pointers there.
 */
#define FPL_SCRIPT_LOADS_MAX 3u
struct fpl_script_load {
	__s16 off[FPL_SCRIPT_LOADS_MAX];
	__u8 nr;
	__u8 bits; /* of the last word, from its lowest one on; 0: all 64 */
};
_Static_assert(sizeof(struct fpl_script_load) == 8, "fpl_script_load is map ABI");

/*
 * The content of a code object: two of its words, and the beginning of a text that a third one
 * leads to. Offsets are of words, counted from the object or from first on.
 */
struct fpl_script_content {
	__s16 first;	  /* bytes from the object to the first word, which is one of the two */
	__s16 text_off;	  /* bytes from where the text's pointer leads to */
	__u8 other, text; /* the other word, and the text's pointer: words behind the first */
	__u8 nr;	  /* words to read; 0: the rule asks for no content */
	__u8 is_string;	  /* the text ends at its first NUL */
};
_Static_assert(sizeof(struct fpl_script_content) == 8, "fpl_script_content is map ABI");

/*
 * Objects of V8 (decision 0043), by what the file says of them: offsets in bytes from the beginning
 * of the object. Pointers are tagged: 1 above the object. Its first word is its map, which has its
 * type.
 */
struct fpl_v8 {
	__u16 type_off;	     /* of a map: the type of its objects, u16 */
	__u16 first_no_text; /* types below are strings */
	__u16 function_type; /* SharedFunctionInfo, ScopeInfo and Script have these types */
	__u16 scope_type;
	__u16 script_type;
	__u8 name_off;	      /* SharedFunctionInfo: its name, a string or a ScopeInfo */
	__u8 script_off;      /* its script */
	__u8 script_name_off; /* Script */
	__u8 source_off;
	__u8 nr_locals_off; /* ScopeInfo: how many locals it names, a small integer, */
	__u8 locals_off;    /* and where they are; */
	__u8 place_off;	    /* where its text begins, likewise; 0: behind its name */
	__u8 length_off;    /* strings: u32, characters */
	__u8 chars_off;	    /* of one or two bytes each */
	__u8 first_off, actual_off, parent_off, offset_off;
	__u8 shape_mask, one_byte_mask; /* bits of the type: shape and width of a string */
	__u8 is_flat, is_pair, is_part, is_thin;
	__u8 _pad[3];
};
_Static_assert(sizeof(struct fpl_v8) == 32, "fpl_v8 is map ABI");

/*
 * A code object is copied so: its first bytes, the texts that pointers lead to, and a table of
 * lines. Names that are behind other objects need more texts: they come before the table in lines.
 */
#define FPL_SCRIPT_TEXTS	2u
#define FPL_SCRIPT_MORE_TEXTS	6u
#define FPL_SCRIPT_OBJECT_BYTES 256u
#define FPL_SCRIPT_TEXT_BYTES	256u
#define FPL_SCRIPT_LINES_BYTES	8192u
#define FPL_SCRIPT_MORE_BYTES	(FPL_SCRIPT_MORE_TEXTS * FPL_SCRIPT_TEXT_BYTES)
#define FPL_SCRIPT_LINES_FEW	512u /* most tables of lines have less */
#define FPL_SCRIPT_RULES_MAX	256u
#define FPL_SCRIPT_RANGES_MAX	4u
#define FPL_SCRIPT_SLOTS	64u
#define FPL_SCRIPT_VOTES	50u /* frames that are looked at before a place is settled */

/* A text begins behind * 8 bytes behind where a pointer leads to, which is at offset off of text
 * from - 1; from 0: of the code object. With nr_more, that pointer leads to another one, at offset
 * more[0] from there, and so on. */
#define FPL_SCRIPT_PIECE_MORE 2u
struct fpl_script_piece {
	__s16 off;
	__s16 more[FPL_SCRIPT_PIECE_MORE];
	__u8 from, behind;
	__u8 nr_more, _pad;
};
_Static_assert(sizeof(struct fpl_script_piece) == 10, "fpl_script_piece is map ABI");

/*
 * An interpreter whose script frames are records of some kinds, among records of other kinds, in
 * arrays (decision 0047). Its native frames have the interpreter; the newest record is the last one
 * of the newest array. A record has where its caller is, so the position of a script frame is in
 * the one before it, and that of the innermost one in the interpreter. A native frame that has not
 * made its record yet, or has dropped it, takes that of the one outside: so some of the outermost
 * ones find none, and all belong so many native frames further out.
 */
enum fpl_script_kind {
	FPL_SCRIPT_KIND_FRAME = 1,  /* it is a script frame, which runs what code leads to, */
	FPL_SCRIPT_KIND_PLACE = 2,  /* or with this bit is known by its position alone */
	FPL_SCRIPT_KIND_CALLED = 4, /* a native frame began with it, if called leads to 0 */
	FPL_SCRIPT_KIND_BEGINS = 8, /* a native frame began with it */
	FPL_SCRIPT_KIND_WAITS = 16, /* as the newest one it has no native frame, if step leads to
				     * 0: the function that calls it is at other work */
};

struct fpl_script_records {
	struct fpl_script_load array, position, step; /* from the interpreter */
	struct fpl_script_load base, last, older;     /* from an array */
	struct fpl_script_load kind, called, caller;  /* from a record */
	struct fpl_script_content content;	      /* of a position that stands for its code */
	__u16 bytes;				      /* of a record; 0: the rule has no records */
	__u8 shares; /* two native frames with so many others between them have the same records:
		      * the outer one has called the inner one to go on in its place */
	__u8 _pad[5];
	__u8 kinds[256]; /* bits of enum fpl_script_kind, by what kind leads to */
};
_Static_assert(sizeof(struct fpl_script_records) == 88 + 256, "fpl_script_records is map ABI");

/* The frame behind the last one of a native frame says this of the next native frame. */
enum fpl_script_carries {
	FPL_SCRIPT_CARRIES_NOTHING,
	FPL_SCRIPT_CARRIES_NEXT,  /* it is that one's frame */
	FPL_SCRIPT_CARRIES_CHAIN, /* that one's frame is the first from there on that passes the
				   * check, whatever a register has */
};

/*
 * Value of the array `script_rules`: how the native frames of an interpreter lead to script frames.
 * Written by userspace before the table of the object is; entry 0 is unused. Code in the ranges
 * whose row has the body's CFA is the interpreter's loop.
 */
struct fpl_script_rule {
	__u64 start[FPL_SCRIPT_RANGES_MAX], end[FPL_SCRIPT_RANGES_MAX]; /* vaddrs */
	__u32 object;							/* id */
	__s32 cfa_off;	   /* of the rows of the body, whose CFA is cfa_reg + that */
	__u64 check_vaddr; /* in the object: the value of check, at run time, is there or */
	__u64 check_size;  /* less than so many bytes behind; with check_is_value: the value */
	__u64 stop_mask, stop_value;
	__u64 place_mask;	      /* all bits: the place is an address; 0: a number */
	struct fpl_script_load check; /* from the script frame: it is one */
	/* no place: places are not told apart; no next: it is so many bytes behind the frame */
	struct fpl_script_load code, place, next, stop;
	struct fpl_script_load leaf, leaf_check; /* from leaf_reg */
	/* from the code object: its first instruction, and how many it has */
	struct fpl_script_load first_step, nr_steps;
	struct fpl_script_content content;
	__u8 shows_last; /* the frame with the stop value is a script frame, too */
	__u8 has_slots;	 /* words of the native frame may hold the frame, too */
	__u8 carries;	 /* enum fpl_script_carries */
	__u8 leaf_reg;	 /* of the innermost native frame: leads to its place, if that passes */
	/* each native frame is a script frame itself, if it passes: its frame pointer is the
	 * script frame, and code is a function of V8. Before its frame is
	 * made, leaf_reg has what leaf leads to the code from. */
	__u8 is_native;
	__u8 check_is_value; /* check_vaddr is no address */
	__u16 above;	     /* bytes of a script frame that loads reach */
	__u16 ahead;	     /* callers are so many bytes ahead; 0: below */
	struct fpl_script_piece texts[FPL_SCRIPT_TEXTS + FPL_SCRIPT_MORE_TEXTS];
	__u16 cfa_reg;
	__s16 lines_ptr_off; /* in the code object: the pointer to the table of lines */
	__s16 lines_behind;  /* it is behind another pointer, at this offset; 0: not */
	__u8 more_texts;     /* all texts are asked for, not the first FPL_SCRIPT_TEXTS alone */
	__u8 is_lazy;	     /* code objects are not sent: userspace reads the process's memory */
	/* in that table: the number of its bytes, behind lines_off others */
	__s16 lines_size_off;
	__u16 lines_off;
	/* not 0: the code object has at lines_size_off how many lines there are, of so many bytes
	 */
	__u8 line_bytes;
	/* not 0: bytes of an instruction. The callee-saved register of the innermost native frame
	 * that leads into them, or behind the last, is its place: leaf_reg, or with 0 any. */
	__u8 step_bytes;
	/* written by the kernel side alone: frames looked at, and in how many of them each
	 * callee-saved register passed the check */
	__u32 looked, votes[6]; /* [FPL_NR_SAVED] */
	__u32 settled;		/* the register number that is used + 1; 0: none yet */
	/* the same of words of the native frame, counted from the CFA down */
	__u16 slot_votes[FPL_SCRIPT_SLOTS];
	__u32 slot; /* the word that is used where the register fails; 0: there is no such word */
	__u32 _pad;
	struct fpl_v8 v8; /* with is_native */
	struct fpl_script_records records;
};
_Static_assert(sizeof(struct fpl_script_rule) == 368 + 2 * FPL_SCRIPT_SLOTS + 344,
	       "fpl_script_rule is map ABI");

/* A code object that a stack names for the first time, as it was then. It comes before the stack.
 * Bytes behind size[] are zeros, but those of lines, which the record ends with. */
struct fpl_script_code {
	struct fpl_record_header header;
	__u64 gen;     /* as in fpl_sample */
	__u64 code;    /* its word */
	__u32 content; /* bits 63..32 of the words of its places */
	__u32 line;    /* V8: of its beginning; 0: not known */
	__u32 rule;
	__u32 nr_lines;			  /* bytes of lines, more texts among them */
	__u16 size[1 + FPL_SCRIPT_TEXTS]; /* bytes read of the object and the texts */
	__u16 wide;			  /* V8: bit i: characters of text i have two bytes */
	__u8 object[FPL_SCRIPT_OBJECT_BYTES];
	__u8 text[FPL_SCRIPT_TEXTS][FPL_SCRIPT_TEXT_BYTES];
	__u8 lines[FPL_SCRIPT_LINES_BYTES]; /* with more_texts: these, then the lines */
};
_Static_assert(sizeof(struct fpl_script_code) == 56 + 768 + FPL_SCRIPT_LINES_BYTES,
	       "fpl_script_code is ring ABI");
