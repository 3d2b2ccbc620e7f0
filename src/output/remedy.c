/* SPDX-License-Identifier: Apache-2.0 */
#include "output/remedy.h"

#include <stddef.h>

#include "base/cleanup.h"

#define ANY_STOP    FPL_STOP_COUNT
#define ANY_RUNTIME RUNTIME_COUNT

/* The first that fits counts. */
static const struct remedy {
	int stop, runtime;
	int generated; /* 1 yes, 0 no, -1 either */
	const char *text;
} remedies[] = {
	/* what does not depend on the code */
	{ FPL_STOP_DEPTH, ANY_RUNTIME, -1,
	  "the stack is deeper than a walk may go: a lower -F leaves more time for each; with "
	  "--max-depth N,0 or --unwind fp it ends after so many frames" },
	{ FPL_STOP_COMPAT32, ANY_RUNTIME, -1, "32-bit programs are not walked" },
	{ FPL_STOP_NO_TABLE, ANY_RUNTIME, -1,
	  "the unwind table was not there in time: where the warnings above name a table that had "
	  "no room, raise --table-memory; with --snapshot 0 no sample waits for one" },
	{ FPL_STOP_BURST, ANY_RUNTIME, -1,
	  "samples came faster than snapshots could be kept: raise --ring-memory (64M), or lower "
	  "-F" },
	{ FPL_STOP_READ_FAULT, ANY_RUNTIME, -1,
	  "stack memory was not there, or between the two ends that the snapshot of a sample has "
	  "that came before its tables: run longer, or again: tables are kept" },
	{ FPL_STOP_EXPR, RUNTIME_GO, 0,
	  "Go: the run time is on another stack than the code it serves, or about to be, and its "
	  "way back is not one that is known: please report the version of Go" },
	{ FPL_STOP_EXPR, ANY_RUNTIME, -1,
	  "its CFI holds an expression that tables do not express: `fpless tables --stats` counts "
	  "them; please report the file" },

	/* code made at run time */
	{ ANY_STOP, RUNTIME_JAVA, 1,
	  "start java with -XX:+PreserveFramePointer: compiled code is then walked" },
	{ ANY_STOP, RUNTIME_ERLANG, 1,
	  "start Erlang with +JPperf true, for frame pointers and names" },
	{ ANY_STOP, RUNTIME_LUAJIT, 1,
	  "LuaJIT's compiled code keeps no frame pointer: -joff runs the interpreter, which has "
	  "CFI" },
	{ ANY_STOP, RUNTIME_PHP, 1,
	  "the JIT's code keeps no frame pointer: -d opcache.jit=off runs the interpreter" },
	{ ANY_STOP, RUNTIME_PYPY, 1,
	  "PyPy's compiled code keeps no frame pointer: --jit off runs the interpreter" },
	{ ANY_STOP, RUNTIME_SBCL, 1,
	  "at the first and last instructions of a function its caller cannot be found" },
	{ ANY_STOP, ANY_RUNTIME, 1,
	  "this code has no CFI and keeps no frame pointer: does its run time have an option for "
	  "frame pointers" },

	/* code of files */
	{ FPL_STOP_BAD_RA, RUNTIME_GO, 0,
	  "Go: its stacks end like this where it was built by Go 1.17 or older" },
	{ ANY_STOP, RUNTIME_GO, 0, "Go: nothing: assembly without a frame, or a switch of stacks" },
	{ ANY_STOP, RUNTIME_GHC, 0,
	  "Haskell keeps its own stack in rbp, and GHC's CFI (-g) covers a few bytes of a "
	  "function: "
	  "nothing" },
	{ FPL_STOP_NO_CFI, RUNTIME_NODE, 0,
	  "V8's own code keeps a frame pointer, but not at its first and last instructions: "
	  "nothing; "
	  "other code needs CFI: -fasynchronous-unwind-tables" },
	/* not frame pointers: a function that ends a walk may well keep one, as its callers do */
	{ FPL_STOP_NO_CFI, ANY_RUNTIME, 0,
	  "no CFI, and no row could be made from its instructions: build with "
	  "-fasynchronous-unwind-tables; assembly needs CFI directives" },
	{ FPL_STOP_REG_UNKNOWN, ANY_RUNTIME, 0,
	  "its CFI needs a register that a frame below, walked by frame pointer, did not give: "
	  "that "
	  "code needs CFI" },
	{ FPL_STOP_NO_MAPPING, ANY_RUNTIME, 0, "the code was unmapped, or mapped unseen" },
	{ FPL_STOP_BAD_RA, ANY_RUNTIME, 0,
	  "no return address was where one should be: its CFI is wrong there, or there is none" },
	{ FPL_STOP_NO_PROGRESS, ANY_RUNTIME, 0, "its CFI does not lead up the stack there" },
	{ FPL_STOP_FP_END, ANY_RUNTIME, 0,
	  "the chain of frame pointers ended: code that keeps none was on the stack" },
};

/* The advice where the walk ended for want of what was turned off; NULL: it did not. */
static const char *turn_on(enum fpl_stop stop, enum runtime runtime, bool generated,
			   enum remedy_without without)
{
	if (without == WITHOUT_SYNTH && stop == FPL_STOP_NO_CFI && !generated)
		return "no CFI: without --no-synth rows are made from its instructions";
	if (without == WITHOUT_ALL_BUT_CFI && stop == FPL_STOP_NO_CFI)
		return "no CFI: without --unwind cfi rows are made from its instructions, or a "
		       "frame pointer that holds up is followed";
	if (without == WITHOUT_FILES && runtime == RUNTIME_NATIVE && generated)
		return "files were not opened for want of room (\"no room\" above says whose): "
		       "their code stays addresses, and is not walked by CFI";
	if (without == WITHOUT_CFI && stop == FPL_STOP_FP_END && runtime == RUNTIME_NATIVE)
		return "frame pointers lead no further: without --unwind fp stacks are walked by "
		       "CFI";
	return NULL;
}

const char *remedy_find(enum fpl_stop stop, enum runtime runtime, bool generated,
			enum remedy_without without)
{
	const char *text = turn_on(stop, runtime, generated, without);

	for (size_t i = 0; i < ARRAY_SIZE(remedies) && !text; i++) {
		const struct remedy *remedy = &remedies[i];

		if ((remedy->stop == ANY_STOP || remedy->stop == (int)stop) &&
		    (remedy->runtime == ANY_RUNTIME || remedy->runtime == (int)runtime) &&
		    (remedy->generated < 0 || remedy->generated == (int)generated))
			text = remedy->text;
	}
	return text;
}
