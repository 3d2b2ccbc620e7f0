/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread of its own looks up facts in processes and in their files: opening and reading them may
 * take as long as others like. The thread of the run asks, goes on, and takes the answers from one
 * queue. The finder and the code names belong to this thread from lookups_begin() to lookups_end().
 *
 * A file may have to wait longer than its process lives, and then only its path is left, which may
 * lead nowhere, or to another file. So a second thread takes the places of the files that have to
 * wait for another lookup (mapped_file_place()): at most FINDER_PLACES_MAX, half of them for one
 * owner (share.h). Beyond that a file waits without.
 *
 * Whose turn it is, turns.h says. A lookup takes no longer than the patience of obj/opener.h and
 * the time limits of workers allow.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "jit/hotspot.h"
#include "jit/made_code.h"
#include "proc/sideband.h"
#include "profile/code_names.h"
#include "profile/finder.h"
#include "profile/scan.h"
#include "profile/turns.h"

/* Answers with a table that are not taken. Beyond it files are looked up without theirs. */
#define LOOKUPS_TABLES_MAX 16u

/* Lookups that are asked and not taken. Beyond it the side-band is left where it is. */
#define LOOKUPS_MAX 4096u

enum lookup_kind {
	LOOKUP_FILE,	/* the object behind a new mapping */
	LOOKUP_PROCESS, /* what a process has mapped */
	LOOKUP_FORGET,	/* objects that the finder is to forget */
	LOOKUP_CODE,	/* what a process says of its code: has no answer */
	LOOKUP_JVM,	/* the JVM in a process */
	LOOKUP_MADE,	/* code that runs in the frame of its entry */
	LOOKUP_CODES,	/* the files that say so, for a window */
};

struct lookup {
	struct turn turn; /* first */
	enum lookup_kind kind;
	bool is_done; /* set by lookups_take() */
	union {
		struct {
			struct file_hint hint;
			char *path; /* owned: hint.path */
			uint8_t build_id[SIDEBAND_BUILD_ID_MAX];
			bool vdso;
			int place;	       /* hint.place, if that is not NULL: owned */
			struct object *object; /* answer: borrowed; NULL: none */
			struct table *table;   /* answer: owned; NULL: it was not made */
		} file;
		struct {
			uint32_t pid, tid;
			uint64_t gen;
			int code;		  /* answer: of sighting_make() */
			struct sighting sighting; /* answer */
		} process;
		struct {
			uint32_t pid;
			uint64_t gen, base;
			int code;	       /* answer: of jvm_describe() */
			struct fpl_err err;    /* answer */
			struct hotspot *found; /* answer, owned */
		} jvm;
		struct {
			uint32_t pid;
			uint64_t gen;
			struct made_question *asked; /* owned */
			int code;		     /* answer: of jvm_made() */
			struct fpl_err err;	     /* answer */
			struct made_code *found;     /* answer, owned */
		} made;
		struct {
			struct object **objects; /* owned [nr]; each borrowed */
			size_t nr;
		} forget;
		struct code_event code;
		struct {
			uint64_t number, since_ns;
			struct code_orders *orders; /* answer: owned; NULL: none */
		} codes;
	};
};

struct lookups;

/* @finder, @code_names: borrowed, and not to be used by others until lookups_end(). Errors:
 * -ENOMEM, those of starting a thread. */
FPL_MUST_CHECK int lookups_begin(struct finder *finder, struct code_names *code_names,
				 struct lookups **ret, struct fpl_err *err);

/*
 * Give up what was not begun, wait for what is being done, and free what was not taken. Cost: the
 * time of one lookup. NULL is allowed.
 */
void lookups_end(struct lookups *lookups);

/*
 * Look up the object behind the mapping that @hint describes; @hint is copied, with its path and
 * build-id. @vdso: the mapping is the vDSO and has no file. @owner: whose turn this takes.
 * *ret is the caller's once it is done; until then it stays where it is. Errors: -ENOMEM.
 */
FPL_MUST_CHECK int lookups_file(struct lookups *lookups, const struct file_hint *hint, bool vdso,
				uint64_t owner, struct lookup **ret);
/* The same once more: @lookup was done. */
void lookups_again(struct lookups *lookups, struct lookup *lookup);
/* Look what process @pid has mapped; @tid, @gen: for whoever takes the answer. Errors: -ENOMEM. */
FPL_MUST_CHECK int lookups_process(struct lookups *lookups, uint32_t pid, uint32_t tid,
				   uint64_t gen, uint64_t owner);
/* Describe the JVM whose libjvm is loaded at @base of process @pid; @gen: for whoever takes the
 * answer. Errors: -ENOMEM. */
FPL_MUST_CHECK int lookups_jvm(struct lookups *lookups, uint32_t pid, uint64_t gen, uint64_t base,
			       uint64_t owner);
/* Ask process @pid of the code that it makes; @gen: as above. Errors: -ENOMEM. */
FPL_MUST_CHECK int lookups_made(struct lookups *lookups, uint32_t pid, uint64_t gen,
				const struct made_question *asked, uint64_t owner);
/* Have the finder forget @objects [@nr]. Errors: -ENOMEM. */
FPL_MUST_CHECK int lookups_forget(struct lookups *lookups, struct object *const *objects,
				  size_t nr);
/* Tell the code names of @event. Without memory it is lost. */
void lookups_code(struct lookups *lookups, const struct code_event *event);

/* code_names_orders() of @since_ns, for window @number. Errors: -ENOMEM. */
FPL_MUST_CHECK int lookups_codes(struct lookups *lookups, uint64_t number, uint64_t since_ns);

/* Readable when there is something to take. */
int lookups_fd(const struct lookups *lookups);
/* The next that is done, in the order in which they were; NULL: none. */
struct lookup *lookups_take(struct lookups *lookups);
/* Lookups that were asked and not taken, but for those without an answer. */
size_t lookups_nr_open(const struct lookups *lookups);
/* Has lookups_jvm() or lookups_made() no answer yet that was taken? */
bool lookups_awaits_makers(const struct lookups *lookups);

/* Free one that was taken. NULL is allowed. */
void lookup_free(struct lookup *lookup);
