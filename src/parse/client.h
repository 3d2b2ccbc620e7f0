/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client has a worker read files for one thread, which asks one question after the other. It has
 * one worker at a time: a file of another trust gets a fresh one. A worker that dies, lies or takes
 * too long costs the file it had: the request fails with a message that names it and says what
 * happened.
 */
#pragma once

#include <limits.h>
#include <stdint.h>

#include "base/err.h"
#include "jit/hotspot.h"
#include "jit/made_code.h"
#include "obj/debug_file.h"
#include "obj/elf_file.h"
#include "obj/identity.h"
#include "parse/examination.h"
#include "parse/parser.h"
#include "script/names.h"
#include "symbolize/code_file.h"
#include "symbolize/code_table.h"
#include "symbolize/listing.h"
#include "symbolize/probe_sites.h"
#include "symbolize/symbol_place.h"
#include "unwind/table.h"

struct parse_client;

#define CLIENT_NEAR_MAX 16u /* vaddrs around which rows from code are asked for at once */

/* A file to be read by a worker. */
struct client_file {
	int fd; /* borrowed: a regular file */
	uint64_t size;
	const char *path; /* for messages, and for the search of its debug file */
	struct trust trust;
	int debug_fd; /* borrowed; -1: no debug file */
	uint64_t debug_size;
	int alt_fd; /* borrowed; -1: no supplement of the debug file */
	uint64_t alt_size;
	bool synth;	  /* its table has rows made from code, too */
	bool synth_later; /* these are left for later */
	/* Rows from code are made around these vaddrs if there are any, and left for later
	 * elsewhere. */
	const uint64_t *near; /* borrowed [nr_near], ascending; at most CLIENT_NEAR_MAX */
	size_t nr_near;
};

/* Called every 10 ms or so while an answer is waited for. */
typedef void (*client_pause_fn)(void *ctx);

/* @parser: borrowed. Errors: -ENOMEM. */
FPL_MUST_CHECK int client_open(struct parser *parser, struct parse_client **ret,
			       struct fpl_err *err);
/* Ends the worker. NULL is allowed. */
void client_close(struct parse_client *client);
/* Say of debug files that were given up at debug level only: another client says it aloud. */
void client_hush(struct parse_client *client);
/* The opener of the files of targets; may be NULL. */
struct opener *client_opener(const struct parse_client *client);
void client_on_pause(struct parse_client *client, client_pause_fn pause, void *ctx);
/* Have what is asked done with the priority of any process, not of those that samples wait for.
 * Before the first request. */
void client_calm(struct parse_client *client);
/* Give up what is asked, with -ECANCELED, when the next pause is over: for a pause to call. */
void client_cancel(struct parse_client *client);

/* CPU time that the last request took; where it was the end of the worker, what it may take. */
uint64_t client_spent_ns(const struct parse_client *client);

/*
 * All requests below: -EOWNERDEAD the worker died or was ended, over a limit or for a malformed
 * answer; what parser_hire() returns; else what the function the worker calls returns.
 */

/* Describe the file open at @fd, which stays the caller's. Errors: those of fstat(2). */
FPL_MUST_CHECK int client_file_init(struct client_file *file, int fd, const char *path);

/*
 * Read the headers: a file without sections (elf_file_assemble()) that holds a duplicate of
 * file->fd, the identity, the debuglink. Errors: as elf_file_open() and identity_read(). At most 2
 * s of CPU.
 */
FPL_MUST_CHECK int client_facts(struct parse_client *client, const struct client_file *file,
				struct elf_file **ret, struct identity *ret_identity,
				struct debug_link *ret_link, struct fpl_err *err);

/* As the headers say: debugging information in the file itself. */
struct client_debugging {
	struct debug_alt_link alt_link; /* without a build-id: it names no supplement */
	bool has_info;			/* false: client_lines() finds none in it */
};

/* The same, and @ret_debugging. */
FPL_MUST_CHECK int client_headers(struct parse_client *client, const struct client_file *file,
				  struct elf_file **ret, struct identity *ret_identity,
				  struct debug_link *ret_link,
				  struct client_debugging *ret_debugging, struct fpl_err *err);

/*
 * client_headers() and client_table() in one question, for a small file: at most 2 s of CPU for
 * both. *ret_table: NULL where the file is stripped, since its debug file may be needed. An error
 * of either is one of the question.
 */
FPL_MUST_CHECK int client_facts_and_table(struct parse_client *client,
					  const struct client_file *file, struct elf_file **ret,
					  struct identity *ret_identity,
					  struct debug_link *ret_link,
					  struct client_debugging *ret_debugging,
					  struct table **ret_table, struct fpl_err *err);

/* identity_read_names(). At most 2 s of CPU. */
FPL_MUST_CHECK int client_names_digest(struct parse_client *client, const struct client_file *file,
				       uint8_t ret[IDENTITY_DIGEST_SIZE], struct fpl_err *err);

/*
 * Find the separate debug file (struct debug_search) of a file whose facts are @elf and @link, and
 * put it into @file: debug_fd is the caller's to close, -1 if none was found. Below /usr/lib/debug
 * and in debuginfod's cache it must be root's or of the owner of @file; beside the object of that
 * owner, on the same device. Symbolic links are followed where they are root's or ours
 * (obj/trusted_path.h). A file of another trust than @file's is read by a worker of its own first,
 * and taken only if it has the build-id or the CRC-32. @ret_path: where it is, "" nowhere; NULL is
 * allowed.
 */
void client_find_debug(struct parse_client *client, struct client_file *file,
		       const struct elf_file *elf, const struct debug_link *link,
		       char ret_path[PATH_MAX]);

/*
 * Find the supplement that the debug file of @file names (the file itself, where it has none) and
 * put it into @file: alt_fd is the caller's to close, -1 if none was found. Only such a one is
 * taken that client_find_debug() would take. @own: of @file itself, which spares a question where
 * it has no debug file; NULL: unknown.
 */
void client_find_alt(struct parse_client *client, struct client_file *file,
		     const struct client_debugging *own);

/* table_compile(). The table has been checked (unwind/table_check.h). At most 5 s of CPU. */
FPL_MUST_CHECK int client_table(struct parse_client *client, const struct client_file *file,
				struct table **ret, struct fpl_err *err);

/*
 * As in symbolize/symbol_place.h, names of the file's symbols, its debug file's and its
 * .gnu_debugdata's, demangled. At most 10 s of CPU. Errors: -E2BIG too many
 * addresses.
 */
FPL_MUST_CHECK int client_names(struct parse_client *client, const struct client_file *file,
				const uint64_t *vaddrs, size_t nr, struct symbol_places *ret,
				struct fpl_err *err);
/*
 * The same of variables: start is the variable's. An address that is in no memory of the object has
 * no name, and its same is empty; else that has the address alone.
 */
FPL_MUST_CHECK int client_data(struct parse_client *client, const struct client_file *file,
			       const uint64_t *vaddrs, size_t nr, struct symbol_places *ret,
			       struct fpl_err *err);
/*
 * As in symbolize/symbol_place.h, by symbolize/debug_index.h: at most 10 s of CPU. For both:
 * client_mangled() has the names stay as the file has them.
 */
FPL_MUST_CHECK int client_lines(struct parse_client *client, const struct client_file *file,
				const uint64_t *vaddrs, size_t nr, struct symbol_chains *ret,
				struct fpl_err *err);
void client_mangled(struct parse_client *client);
/*
 * The instructions of the function at @vaddr, which a symbol or an FDE covers: of the first 4 MiB
 * of its code, and at most PARSE_INSNS_MAX. @intel: in the syntax of Intel. @ret: the caller ends
 * it by listing_fini(). At most 10 s of CPU. Errors: -ENOENT nothing covers it; -ENODATA the
 * code is not in the file (debug files lack it); -ENOEXEC it is code of another machine.
 */
FPL_MUST_CHECK int client_listing(struct parse_client *client, const struct client_file *file,
				  uint64_t vaddr, bool intel, struct listing *ret,
				  struct fpl_err *err);
/*
 * From here on the worker keeps what it has read of a file for names, lines or a listing, for the
 * next question about it: at most 48 files (PARSE_KEPT_FILES) and 64 MiB (FILE_CACHE_BYTES), as
 * long as it lives.
 */
void client_keep(struct parse_client *client);
FPL_MUST_CHECK int client_frames(struct parse_client *client, const struct client_file *file,
				 const uint64_t *vaddrs, size_t nr, uint8_t *ret,
				 struct fpl_err *err);

/*
 * perf_map_read() and jitdump_read(), and code_table_arrange(). @ret: as code_table_init() leaves
 * it, its budget and PARSE_CODE_MAX bound what comes; checked; the caller ends it, also after an
 * error. At most 5 s of CPU. Errors of the file name it.
 */
FPL_MUST_CHECK int client_perf_map(struct parse_client *client, const struct client_file *file,
				   struct code_table *ret, struct code_file_result *ret_result,
				   struct fpl_err *err);
FPL_MUST_CHECK int client_jitdump(struct parse_client *client, const struct client_file *file,
				  uint32_t own_pid, struct code_table *ret,
				  struct code_file_result *ret_result, struct fpl_err *err);

/*
 * hotspot_describe() (jit/hotspot.h) of the process whose memory is open at file->fd (its
 * /proc/PID/mem): what is loaded at @base, checked. At most 1 s of CPU. Errors: as there.
 */
FPL_MUST_CHECK int client_jvm(struct parse_client *client, const struct client_file *file,
			      uint64_t base, struct hotspot *ret, struct fpl_err *err);
/* hotspot_names() of the same, of @asked [@nr_asked], of which all beyond CLIENT_ASKED_MAX are left
 * out; @ret as for client_perf_map(). At most 1 s of CPU. */
#define CLIENT_ASKED_MAX 4096u
FPL_MUST_CHECK int client_jvm_code(struct parse_client *client, const struct client_file *file,
				   uint64_t base, const uint64_t *asked, size_t nr_asked,
				   struct code_table *ret, struct code_file_result *ret_result,
				   struct fpl_err *err);

/* php_find() (jit/php.h) or trampoline_find() (jit/trampoline.h) in the memory of a process, open
 * as for client_jvm(). At most 1 s of CPU. */
FPL_MUST_CHECK int client_made(struct parse_client *client, const struct client_file *file,
			       const struct made_question *asked, struct made_code *ret,
			       struct fpl_err *err);

/* examine(). At most 20 s of CPU. */
FPL_MUST_CHECK int client_examine(struct parse_client *client, const struct client_file *file,
				  struct examination *ret, struct fpl_err *err);

/*
 * probe_sites_find() and probe_sites_read_notes(). @name: at most 1,023 bytes. @ret: the caller
 * ends it by probe_sites_fini(). At most 10 s of CPU, and 2 s.
 */
FPL_MUST_CHECK int client_function(struct parse_client *client, const struct client_file *file,
				   const char *name, struct probe_sites *ret, struct fpl_err *err);
FPL_MUST_CHECK int client_probes(struct parse_client *client, const struct client_file *file,
				 struct probe_sites *ret, struct fpl_err *err);

/*
 * script_names_read() of a file that the profiler made of what the kernel has copied
 * (script/names.h).
 * @ret is checked; after 0 the caller ends it by script_names_fini(). At most 10 s of CPU. Errors:
 * as there.
 */
FPL_MUST_CHECK int client_script(struct parse_client *client, const struct client_file *file,
				 struct script_names *ret, struct fpl_err *err);
