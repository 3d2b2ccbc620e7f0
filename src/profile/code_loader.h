/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Has perf maps and jitdumps read by workers (parse/client.h), one after the other in a thread of
 * its own: the loop that samples wait in never waits for a file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/err.h"
#include "symbolize/code_table.h"

struct code_loader;
struct jvm_codes;
struct parser;

/* The files of one program image, and how to tell whether they are still its own. */
struct code_order {
	uint64_t gen;
	uint64_t parent_gen; /* not the loader's: of the image that it was forked from */
	uint32_t pid;
	pid_t own_pid;	     /* as it sees itself */
	int map_fd, dump_fd; /* -1: no such file */
	char map_name[64];
	bool ended;
	struct stat at_exit;  /* of the map, where it has ended */
	uint64_t replaced_ns; /* CLOCK_MONOTONIC: by an exec; 0: not so */
};

struct code_loader_stats {
	uint64_t files;	    /* read */
	uint64_t refused;   /* files not read, or not to the end, each said */
	uint64_t functions; /* taken in */
	uint64_t bytes;	    /* of tables made */
};

/* Contents of an image's files. */
struct code_loaded {
	uint64_t gen;
	struct code_table dump, map; /* the taker's to end; empty: nothing */
};

/* @max_bytes: of all tables. @parser: borrowed, until code_loader_finish(). */
struct code_loader *code_loader_create(struct parser *parser, size_t max_bytes);
void code_loader_destroy(struct code_loader *loader);

/* The descriptors of @order are the loader's from here on, also after an error. Errors: -ENOMEM. */
FPL_MUST_CHECK int code_loader_submit(struct code_loader *loader, const struct code_order *order);

/* Have jvm_codes_read() called in the thread. Without memory it is not. */
void code_loader_read_jvms(struct code_loader *loader, struct jvm_codes *jvms);

/*
 * Wait until all has been read; what has not after CODE_LOADER_FINISH_S is refused. Nothing may be
 * submitted any more.
 */
#define CODE_LOADER_FINISH_S 60u
void code_loader_finish(struct code_loader *loader);

/* After that: hand over what the files of one more image said. Returns false: that was all. */
bool code_loader_take(struct code_loader *loader, struct code_loaded *ret);
void code_loader_stats(const struct code_loader *loader, struct code_loader_stats *ret);
