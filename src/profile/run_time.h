/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that make code at run time: their run time is asked where that code is, and how its
 * frames are found. */
#pragma once

#include "proc/process.h"
#include "profile/lookups.h"
#include "profile/regions.h"

struct catalog;
struct scripts;

/* All pointers are borrowed. */
struct run_times {
	const struct catalog *catalog;
	struct lookups *lookups;       /* NULL: no process is asked */
	struct regions *regions;       /* NULL: code made at run time has no methods */
	const struct scripts *scripts; /* NULL: script frames are not walked */
};

/*
 * The code that @process makes has script frames, if it has mapped V8 and the table of that is
 * there: it is one region. Else ask what the JVM in @process says of itself, if one is there that
 * was not asked, or had not begun and may be asked again. A process that makes code in another way
 * is asked whether it has registered that for debuggers; one that has is asked again when it maps
 * more, and now and then. Cost: O(mappings) for one of those, and where any process has mapped V8.
 */
void run_time_ask(const struct run_times *times, struct process *process);

/* The answer, if the image of @process that was asked still runs. @process: NULL is allowed. */
void run_time_take(const struct run_times *times, struct process *process,
		   const struct lookup *lookup);

/* The same of code that runs in the frame of its entry, and of such as is registered for debuggers.
 */
void run_time_take_made(const struct run_times *times, struct process *process,
			const struct lookup *lookup);

/* @map is new in @process: of code there that was registered for debuggers nothing holds any more.
 */
void run_time_mapped(const struct run_times *times, struct process *process,
		     const struct fpl_mapping *map);

/* The image of @process is gone, and its regions with it. */
void run_time_forget(const struct run_times *times, struct process *process);
