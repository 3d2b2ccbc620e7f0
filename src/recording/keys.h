/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words for the stops, losses and origins of bpf/shared.h, whose X-lists are expanded here and
 * nowhere else: keys (of JSON, labels and --stats), texts for people, marks of --origin. All texts
 * are static. A number that is not in the list has the key and the text "unknown".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/shared.h"

struct recording;

const char *stop_key(enum fpl_stop stop);
const char *stop_text(enum fpl_stop stop);

/* Could a stack that ended so be whole? A task that ends, or begins another program, has none. */
static inline bool stop_is_judged(uint8_t stop)
{
	return stop != FPL_STOP_EXITING && stop != FPL_STOP_EXECING;
}

/* The stop with the key @key; RECORDING_NO_STOP: no stop has it. */
uint8_t stop_of_key(const char *key);

/* The key of enum recording_state: "on-cpu"; "" of RECORDING_STATE_NONE. */
const char *state_key(uint8_t state);

/* The state with the key @key; RECORDING_STATE_NONE: no state has it. */
uint8_t state_of_key(const char *key);

const char *lost_key(enum fpl_lost lost);

const char *origin_key(enum fpl_origin origin);
const char *origin_text(enum fpl_origin origin);

/* The origin with the key @key [length]; RECORDING_NO_ORIGIN: no origin has it. */
uint8_t origin_of_key(const char *key, size_t length);

/* The mark of --origin behind the name of a frame: "_[fp]". @origin: enum fpl_origin or
 * RECORDING_NO_ORIGIN. "" for frames known from CFI, and for an unknown origin. */
const char *origin_mark(uint8_t origin);

/* The keys in JSON of a weight and a period, which name the unit where it is nanoseconds. */
const char *weight_key(const struct recording *recording);
const char *period_key(const struct recording *recording);
