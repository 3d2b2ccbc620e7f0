/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code of a process that left a core file: the files it had mapped, found where it saw them and
 * taken only with the build-id that the core file has; their unwind tables, made for the first
 * frame that needs one; and the walk of a thread over them. Workers without rights read the files.
 */
#pragma once

#include "base/err.h"
#include "core/core_file.h"
#include "parse/parser.h"
#include "profile/profile.h"
#include "unwind/replay.h"

struct core_code;

/* Meet the files of @core, which is borrowed, as is @parser. Says of each file that cannot be used
 * why. Errors: none but those of catalog_create() and client_open(). */
FPL_MUST_CHECK int core_code_open(const struct core_file *core, struct parser *parser,
				  struct core_code **ret, struct fpl_err *err);
/* NULL is allowed. */
void core_code_close(struct core_code *code);

/* Walk the stack of @thread. The result has its frames, and the stop says why the walk ended. */
void core_code_walk(struct core_code *code, const struct core_thread *thread,
		    struct replay_result *ret);

/* Fill in the objects of @profile: once; descriptors stay open until core_code_close(). */
void core_code_export(struct core_code *code, struct profile *profile);
