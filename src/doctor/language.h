/* SPDX-License-Identifier: Apache-2.0 */
/* Have the functions of a process of this language names, and what gives them some? */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "doctor/checkup.h"
#include "view/languages.h"

/*
 * Judge whether the functions of @language have names: @is_shown where stacks have script frames of
 * it; @is_named where process @pid writes a perf map or jitdump that may be read; else the fix is
 * what its version can be told.
 */
void language_judge(const struct language *language, pid_t pid, bool is_named, bool is_shown,
		    struct check *check);
