/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one user may use of what all share: at most half while others want some, so that nobody's
 * programs take the room of everybody else's. Root, and who runs this, may have all of it: they
 * could end the run anyway.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

/* An owner that nobody could tell; as any other user. */
#define SHARE_UNKNOWN UINT64_MAX

/* Is there a limit to what @uid may use? */
static inline bool share_is_limited(uint64_t uid)
{
	return uid && uid != geteuid();
}

/* What a user who is limited may use of @all. */
static inline uint64_t share_of(uint64_t all)
{
	return all / 2;
}
