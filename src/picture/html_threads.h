/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads, and the samples of each in time, for a page whose reader chooses one of them or looks at
 * when it ran what.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "picture/call_tree.h"
#include "picture/html_parts.h"
#include "picture/html_time.h"
#include "recording/recording.h"
#include "view/measure.h"
#include "view/threads.h"

/* Times of samples are counted in this part of a slice of html_time. */
#define HTML_THREADS_PARTS 65536u

struct html_threads {
	struct threads threads;
	uint32_t *kept; /* owned [nr]: which of them are written, those of most samples first */
	size_t nr;
	uint64_t left_shown; /* of those that are not: view/measure.h */
	struct measure measure;
	uint32_t *names; /* owned [nr]: texts of the paths */

	const struct recording *recording; /* borrowed, as all below */
	const struct call_tree *tree;
	const uint32_t *groups;
	const struct html_time *time;
};

/*
 * Nothing of a recording that knows of no threads. @groups: of each stack; @tree knows where each
 * ends; @paths: where the names of threads go. Threads are left out where all have more than
 * @nr_max entries of samples. Cost: O(n log n) in events and stacks.
 */
void html_threads_make(const struct recording *recording, const uint32_t *groups,
		       const struct call_tree *tree, const struct html_time *time, size_t nr_max,
		       struct flame_paths *paths, struct html_threads *ret);
void html_threads_fini(struct html_threads *threads);

/* Write "threads"; nothing where there are no threads. */
void html_threads_write(struct html_parts *parts, const struct html_threads *threads);
