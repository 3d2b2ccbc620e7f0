/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of scripts in a recording, by the lines they were at. A sample is that of the
 * innermost frame of a script in its stack: what the interpreter, native code and the kernel do for
 * a line counts there. Numbers of samples are what readers are shown of them (view/measure.h).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "annotate/hot_code.h"
#include "recording/recording.h"

struct script_line {
	uint32_t function; /* of the recording */
	uint32_t number;   /* 0: unknown */
	uint64_t samples;
};

struct script_function {
	uint32_t function; /* of the recording */
	uint64_t samples;
	size_t first_line, nr_lines; /* in script_lines.lines */
};

struct script_lines {
	struct script_function *functions; /* owned [nr]: the hottest first */
	size_t nr;
	struct script_line *lines; /* owned [nr_lines]: of a function ascending, each once */
	size_t nr_lines;
};

/* A lack of memory ends the process. Cost: O(frames of stacks). */
void script_lines_find(const struct recording *recording, struct script_lines *ret);
void script_lines_fini(struct script_lines *lines);

/* How @name names the script's function @function: "run" names "App.run" plainly. */
enum hot_match script_match(const char *function, const char *name);
