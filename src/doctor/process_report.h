/* SPDX-License-Identifier: Apache-2.0 */
/* Examine one running process: the obstacles for a profile of it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "doctor/checkup.h"
#include "doctor/language.h"
#include "doctor/object_report.h"
#include "proc/host.h"

#define PROCESS_REPORT_OBJECTS_MAX 4096u /* more are counted, not examined */

/* A file behind an executable mapping that could not be examined. */
struct refused_object {
	char *path; /* owned */
	char why[380];
};

struct process_report {
	pid_t pid;
	char comm[64];
	bool is_32bit;
	bool other_pid_ns, other_mnt_ns; /* than this process is in */
	uint64_t jit_bytes;		 /* executable memory without a file, without the vDSO */
	size_t nr_jit;			 /* mappings of it */
	bool names_code;		 /* it has a perf map or jitdump that may be read */
	uint64_t jvm_base;		 /* address that libjvm is loaded at; 0: it is not */
	bool has_jvm;			 /* the JVM describes itself: walked and named by that */
	char jvm[64];			 /* its version; "": not known */
	uint64_t beam_base;		 /* that Erlang is loaded at; 0: it is not */
	bool has_beam;			 /* its JIT is described: walked and named by that */
	char jit_why[256];		 /* why either is not; "": it is, or there is neither */
	size_t nr_deleted;		 /* files deleted or replaced since they were mapped */
	size_t nr_deleted_refused;	 /* of them that cannot be read */

	struct object_report *objects; /* owned [nr]: each file once, in order of address */
	size_t nr;
	struct refused_object *refused; /* owned [nr_refused] */
	size_t nr_refused, nr_beyond;
	size_t room, room_refused; /* private */
};

/*
 * Examine process @pid; its files are read by the workers of @client. Errors, each with one line in
 * @err: -ESRCH no such process, or a thread; -ENODATA it has no user memory (kernel thread,
 * zombie); -EACCES; -ENOMEM. Ended by process_report_fini, also after an error. Cost:
 * object_report_make for each file.
 */
FPL_MUST_CHECK int process_report_make(pid_t pid, struct parse_client *client,
				       struct process_report *ret, struct fpl_err *err);
void process_report_fini(struct process_report *report);

/*
 * Describe obstacles for a profile of it, as checks: code made at run time, 32-bit code, deleted
 * files, other namespaces, missing rights; and for each language of it whether its functions have
 * names. Writes at most PROCESS_REMARKS_MAX to @ret; returns
 * their number.
 */
#define PROCESS_REMARKS_MAX (8u + LANGUAGES_MAX)
size_t process_remarks(const struct process_report *report, const struct host *host,
		       struct check *ret);
