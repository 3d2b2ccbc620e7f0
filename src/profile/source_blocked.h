/* SPDX-License-Identifier: Apache-2.0 */
/* How the kernel tells that a wait has ended, in the thread that waited. */
#pragma once

enum blocked_way {
	BLOCKED_WAY_NONE, /* it does not: waits cannot be sampled */
	BLOCKED_WAY_TRACEPOINT,
	BLOCKED_WAY_KPROBE,
};

/* The way that a run takes here. Needs the right to load programs. Cost: about 1 ms. */
enum blocked_way source_blocked_way(void);
