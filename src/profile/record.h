/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the ring records that begin with struct fpl_sample: user, kernel and fp frames, and
 * in a snapshot or a recorded walk the registers and the copy of the stack. Counts in the record
 * itself give the place of each part: check it before anything else.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/shared.h"

struct mapset;

/* Are all frames of @sample within the @size bytes of the record, its header being whole? */
bool record_holds_frames(const struct fpl_sample *sample, size_t size);

/* Does the record say it has @size bytes, and are frames, registers and stack within them? */
bool record_holds_walk(const struct fpl_sample *sample, size_t size);

/* The same of a snapshot, whose stack may lack the bytes it shares with another. */
bool record_holds_snapshot(const struct fpl_sample *sample, size_t size);

/* The user frames, [nr_user]. */
static inline const uint64_t *record_user(const struct fpl_sample *sample)
{
	return (const uint64_t *)(sample + 1);
}

/* The words behind them: frames kernel[nr_kernel], then fp[nr_fp], and key[nr_key]. */
static inline const uint64_t *record_rest(const struct fpl_sample *sample)
{
	return record_user(sample) + sample->nr_user;
}

/* The words of script frames behind them, [nr_script]. */
static inline const uint64_t *record_script(const struct fpl_sample *sample)
{
	return record_rest(sample) + sample->nr_kernel + sample->nr_fp + sample->nr_key;
}

/* The registers of a walk; the stack follows them. */
static inline const struct fpl_regs *record_regs(const struct fpl_sample *sample)
{
	return (const struct fpl_regs *)(record_script(sample) + sample->nr_script);
}

/* Parts of a snapshot: the hole of its stack, the range of shared bytes, and the others. */
static inline const struct fpl_hole *record_hole(const struct fpl_sample *sample)
{
	return (const struct fpl_hole *)(record_regs(sample) + 1);
}

static inline const struct fpl_shared *record_shared(const struct fpl_sample *sample)
{
	return (const struct fpl_shared *)(record_hole(sample) + 1);
}

static inline const uint8_t *record_stack(const struct fpl_sample *sample)
{
	return (const uint8_t *)(record_shared(sample) + 1);
}

/* Its islands, fpl_hole.nr_islands of them. */
static inline const struct fpl_island *record_islands(const struct fpl_sample *sample)
{
	return (const struct fpl_island *)(record_stack(sample) + record_regs(sample)->stack_size -
					   record_shared(sample)->size);
}

/*
 * Name the raw user and fp frames of the record by @set, and the lock that is its key: with the
 * same mappings, so that equal addresses of both walks stay equal. Returns the number of frames
 * that stay raw.
 */
size_t record_resolve(struct fpl_sample *sample, const struct mapset *set);
