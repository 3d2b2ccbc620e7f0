/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of code made at run time, per program image. An image is met when a sample of it holds a
 * raw frame: then the way to its files is opened, while the process lives. They are read when the
 * image is replaced by exec, else at the end of the run, for programs add to them all the time. A
 * run that is cut into windows has them read for each window, by whom its profile is handed to.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "symbolize/code_table.h"

struct jvm_codes;
struct parser;
struct code_names;

#define CODE_NAMES_MEMORY_DEFAULT (64u << 20)
/* Images whose files are looked for: each may hold three descriptors while it runs. */
#define CODE_NAMES_IMAGES_MAX 1024u

struct code_names_stats {
	uint64_t images;    /* met */
	uint64_t beyond;    /* not met for CODE_NAMES_IMAGES_MAX; samples, not images */
	uint64_t files;	    /* read */
	uint64_t refused;   /* files not read, or not to the end, each said */
	uint64_t functions; /* taken in */
	uint64_t bytes;	    /* of memory held */
};

struct code_name {
	const char *symbol; /* owned by the code_names */
	uint64_t offset;    /* of the address in it, bytes */
	bool was_replaced;  /* later other code was put there */
	struct code_lines lines;
};

/* @max_bytes: of names and addresses, over all images; 0: CODE_NAMES_MEMORY_DEFAULT. @parser:
 * borrowed until code_names_finish(): its workers read the files. */
FPL_MUST_CHECK int code_names_create(size_t max_bytes, struct parser *parser,
				     struct code_names **ret);
void code_names_destroy(struct code_names *names);

/*
 * The run is cut: files are kept open, and handed out by code_names_orders(). Before the first
 * event.
 */
void code_names_keep_files(struct code_names *names);

/* The code of JVMs is read into @jvms, which it holds. Before the first event. */
void code_names_keep_jvms(struct code_names *names, struct jvm_codes *jvms);

/* The files of program images, open, to be read later. */
struct code_orders;
/* NULL is allowed. */
void code_orders_destroy(struct code_orders *orders);

/*
 * The files, as they are now, of all images that a CODE_MET told of at @since_ns (CLOCK_MONOTONIC)
 * or later, and of those that they were forked from. Images that have ended and were not met since
 * then are forgotten. NULL: out of memory.
 */
struct code_orders *code_names_orders(struct code_names *names, uint64_t since_ns);

/* Read the files of @orders, by @parser's workers, into names that can be found. Cost: waits for
 * them, as code_names_finish(). *ret NULL: @orders is empty. Errors: -ENOMEM. */
FPL_MUST_CHECK int code_names_read(struct code_orders *orders, size_t max_bytes,
				   struct parser *parser, struct code_names **ret);

enum code_event_kind {
	/* A sample of the image holds a frame in no object. Cost: of the first some 100 us. */
	CODE_MET,
	/* The process runs the image @gen from @time_ns (CLOCK_MONOTONIC) on: the files of the
	 * image before are read, unless the new one may have written to them already. */
	CODE_EXEC,
	/* The process has ended: what its files hold is all there will be. */
	CODE_EXIT,
	/* The list of code that the image has registered for debuggers is to be read; code was
	 * mapped last at time_ns (CLOCK_MONOTONIC). */
	CODE_LISTED,
};

struct code_event {
	enum code_event_kind kind;
	uint32_t pid;
	uint64_t gen;		       /* all but EXIT */
	uint64_t parent_gen, start_ns; /* MET, LISTED: as struct process has them */
	uint64_t names_base; /* MET, LISTED: of what knows names, as struct process has it */
	uint64_t time_ns;    /* EXEC, LISTED */
};

/* Image @gen has @frames [@nr] in a stack: jvm_codes_meet(). By any thread. */
void code_names_meet(struct code_names *names, uint64_t gen, const uint64_t *frames, size_t nr);

/* Report an event of a process, in the order of time. */
void code_names_tell(struct code_names *names, const struct code_event *event);

/* Wait until all files are read. Then, and only then, names can be found. */
void code_names_finish(struct code_names *names);

/* The name that @match gives the code at @lookup_addr. */
struct code_name code_name_of(const struct code_match *match, uint64_t lookup_addr);

/* Name the code at @lookup_addr (frame_code_addr()) of image @gen at @time_ns (CLOCK_MONOTONIC).
 */
bool code_names_find(const struct code_names *names, uint64_t gen, uint64_t lookup_addr,
		     uint64_t time_ns, struct code_name *ret);

void code_names_stats(const struct code_names *names, struct code_names_stats *ret);
