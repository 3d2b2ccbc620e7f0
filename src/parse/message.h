/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages over the socket between the profiler and a worker that parses files for it. Both are
 * one program, so structs go as they lie in memory. What a worker sends is hostile: it may have
 * been taken over by the file it reads.
 *
 * A request is struct parse_request with the descriptors of the file, of its debug file if
 * PARSE_HAS_DEBUG is set, and of that one's supplement if PARSE_HAS_ALT is; the file's name;
 * nr_vaddrs addresses; text_size bytes of a name.
 *
 * An answer is struct parse_answer; the text of the error; where code is 0 what was asked for:
 *
 * - FACTS: struct parse_facts, its segments; with PARSE_WITH_TABLE, if the file is not stripped:
 * the answer to TABLE, from its struct parse_answer on
 * - MATCH: nothing, code says it
 * - TABLE: struct parse_table, the bytes of the image
 * - NAMES: struct parse_names, a struct parse_place per address, the text
 * - FRAMES: a byte of SYMBOL_FRAME_* per address
 * - EXAMINE: struct examination
 * - NAMES_DIGEST: its IDENTITY_DIGEST_SIZE bytes
 * - CRC: a uint32_t
 * - LINES: struct parse_lines, a struct symbol_chain per address, the struct parse_line, the text
 * - PERF_MAP, JITDUMP: struct parse_code, the entries, the segments, the lines, the names
 * - LISTING: struct parse_listing, a struct parse_insn for each instruction, the text
 * - JVM_CODE: the same as PERF_MAP
 * - JVM: struct hotspot
 * - MADE: struct made_code
 * - SCRIPT: struct parse_script, the struct script_name, the lines, the text
 * - FUNCTION, PROBES: struct parse_probes, the struct probe_site, the text
 */
#pragma once

#include <limits.h>
#include <stdint.h>

#include "obj/debug_file.h"
#include "obj/elf_file.h"
#include "obj/identity.h"
#include "parse/name_key.h"
#include "script/names.h"
#include "symbolize/code_file.h"
#include "symbolize/code_table.h"
#include "symbolize/listing.h"
#include "symbolize/probe_sites.h"
#include "symbolize/symbol_place.h"
#include "unwind/table.h"

enum parse_op {
	PARSE_FACTS,	/* what the headers say, and the identity */
	PARSE_MATCH,	/* does the debug file belong to the file? code 0: it does, -ENOENT: not */
	PARSE_TABLE,	/* the compiled table; with addresses: rows from code around these only */
	PARSE_NAMES,	/* of addresses */
	PARSE_FRAMES,	/* what the CFI says of the frame pointer at addresses */
	PARSE_PERF_MAP, /* the names of code in it, arranged */
	PARSE_JITDUMP,	/* the same of a jitdump */
	PARSE_EXAMINE,	/* what is in the file */
	PARSE_LINES,	/* what is inlined at addresses, files and lines */
	PARSE_NAMES_DIGEST, /* of all that names come from: identity_read_names() */
	PARSE_CRC,	    /* of all bytes: debug_file_crc() */
	PARSE_LISTING,	    /* the instructions of the function at the one address */
	PARSE_FUNCTION,	    /* where functions of the name are */
	PARSE_PROBES,	    /* what is marked as a probe: the USDT notes */
	PARSE_SCRIPT,	    /* what code objects of scripts are called: script/names.h */
	PARSE_JVM,	    /* of the memory of a process: the JVM whose libjvm is at the address */
	/* of the same, and addresses as hotspot_asked() has them: the names of its code, arranged
	 */
	PARSE_JVM_CODE,
	/* of the same: the base and the bounds of struct made_question; with PARSE_REGISTERED how
	 * many bases, these, and the bounds */
	PARSE_MADE,
	PARSE_OP_COUNT
};

#define PARSE_NAME_MAX	(PATH_MAX - 1) /* bytes of a file's name */
#define PARSE_IMAGE_MAX (256u << 20)   /* bytes of a table image: what compiling one may take */

#define PARSE_VADDRS_MAX    (1u << 20)	/* addresses in one request */
#define PARSE_TEXT_MAX	    (64u << 20) /* bytes of names in one answer */
#define PARSE_LINES_MAX	    (4u << 20)	/* functions at all addresses of one answer */
#define PARSE_INSNS_MAX	    (1u << 20)	/* of one function; as many as addresses in one request */
#define PARSE_NO_TEXT	    UINT32_MAX
#define PARSE_NAME_TEXT_MAX 1023u /* bytes of a function's name in a request */

/* Bytes of a table of code: with what arranging it takes besides, and what a heap wastes, this
 * stays below the memory of a worker. */
#define PARSE_CODE_MAX (256u << 20)

#define PARSE_HAS_DEBUG	  1u
#define PARSE_BY_LINK	  2u /* MATCH: the debuglink led to it, its CRC-32 may decide */
#define PARSE_HAS_ALT	  8u
#define PARSE_MANGLED	  16u /* NAMES, LINES, LISTING: names as the file has them */
#define PARSE_SYNTH	  32u /* TABLE: with rows made from code */
#define PARSE_SYNTH_LATER 64u /* TABLE: these are left for later */
#define PARSE_KEEP	  128u /* NAMES, LINES, LISTING: more will be asked about the file of the key */
/* The descriptor is an envelope (obj/opener.h) with the file, its debug file, the supplement. */
#define PARSE_SEALED_FILE  256u
#define PARSE_SEALED_DEBUG 512u
#define PARSE_SEALED_ALT   1024u
#define PARSE_INTEL	   2048u  /* LISTING: instructions in the syntax of Intel */
#define PARSE_DATA	   4096u  /* NAMES: of variables; same: is it in the object's memory? */
#define PARSE_NO_DIGEST	   4u	  /* FACTS: the digest of the identity is not needed, it is 0 */
#define PARSE_REGISTERED   16384u /* MADE: of files that are registered for debuggers */
#define PARSE_WITH_TABLE   8192u  /* FACTS: and the table, as the flags of TABLE have it */

#define PARSE_KEPT_FILES 48u /* by a worker, of those with PARSE_KEEP */

/*
 * Says which files a request is about, and that they are unchanged: digests of what fstat(2) says
 * of the file, its debug file and its supplement (parse/name_key.h), zeroes for one that is
 * missing.
 */
struct parse_key {
	uint8_t bytes[3][NAME_KEY_SIZE];
};

struct parse_request {
	uint32_t op;	/* enum parse_op */
	uint32_t flags; /* PARSE_* */
	uint64_t file_size, debug_size, alt_size;
	uint32_t name_size; /* without a NUL */
	uint32_t nr_vaddrs;
	uint64_t code_bytes;  /* PERF_MAP, JITDUMP: what the table may take */
	uint32_t own_pid;     /* JITDUMP: of the process, as itself sees it */
	uint32_t text_size;   /* FUNCTION: without a NUL */
	struct parse_key key; /* with PARSE_KEEP */
};

struct parse_answer {
	uint32_t op; /* of the request */
	int32_t code;
	uint32_t text_size; /* of struct fpl_err's message, without a NUL */
	uint32_t _pad;
};

struct parse_facts {
	struct identity identity; /* the build-id is the file's */
	struct debug_link link;
	struct debug_alt_link alt_link;
	uint64_t entry;
	uint32_t nr_segments;
	uint16_t type, machine;
	uint64_t has_debug_info; /* 0: neither debug_index_create() nor go_lines_open() would find
				    any */
};

struct parse_table {
	uint64_t first_vaddr, entry_vaddr;
	uint32_t image_bytes, rules_off, dir_off, nr_pages;
	struct table_stats stats;
	struct script_facts script;
};

struct parse_names {
	uint32_t nr_places; /* as many as the request has addresses */
	uint32_t text_size; /* bytes, the last a NUL */
};

struct parse_place {
	/* Addresses around the one asked about whose answer is the same; empty: unknown. */
	uint64_t same_start, same_end;
	uint64_t start; /* of the symbol; without a name of the function; SYMBOL_NO_START */
	uint32_t text;	/* where the name begins in the text; PARSE_NO_TEXT: no name */
	uint32_t _pad;
};

struct parse_code {
	struct code_file_result result;
	uint64_t nr_entries, nr_segments, nr_lines, names_size;
};

struct parse_script {
	uint32_t nr_codes, nr_lines, text_size;
	uint32_t _pad;
};

struct parse_lines {
	uint32_t nr_chains; /* as many as the request has addresses */
	uint32_t nr_lines;
	uint32_t text_size; /* bytes, the last a NUL */
	uint32_t _pad;
};

struct parse_line {
	uint32_t name, file; /* where they begin in the text; PARSE_NO_TEXT: no text */
	uint32_t line, column, start_line;
};

struct parse_listing {
	uint64_t start, end; /* vaddrs of the function */
	uint32_t nr_insns;   /* from its start on; they need not reach its end */
	uint32_t text_size;  /* bytes, the last a NUL */
};

struct parse_probes {
	uint32_t nr;	    /* at most PROBE_SITES_MAX */
	uint32_t text_size; /* bytes, the last a NUL; at most PROBE_TEXT_MAX */
};

struct parse_insn {
	uint64_t target;	    /* LISTING_NO_TARGET: none */
	uint32_t text, target_name; /* where they begin in the text; PARSE_NO_TEXT: no name */
	uint8_t size, kind;	    /* as in struct listing_insn */
	uint16_t _pad[3];
};
