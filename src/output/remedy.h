/* SPDX-License-Identifier: Apache-2.0 */
/* What a user can do about stacks that end early. docs/languages.md says it at length. */
#pragma once

#include <stdbool.h>

#include "bpf/shared.h"
#include "output/runtime.h"

/* What the user has turned off: nothing else is advised where that is the cause. */
enum remedy_without {
	WITHOUT_NOTHING,
	WITHOUT_SYNTH,	     /* --no-synth */
	WITHOUT_ALL_BUT_CFI, /* --unwind cfi */
	WITHOUT_CFI,	     /* --unwind fp */
	WITHOUT_FILES,	     /* nothing; but some files had no room, and their code has no name */
};

/*
 * The advice for walks that end with @stop in code of a process of @runtime; @generated: the code
 * was made at run time. A sentence without a full stop; NULL where nothing is to be done.
 */
const char *remedy_find(enum fpl_stop stop, enum runtime runtime, bool generated,
			enum remedy_without without);
