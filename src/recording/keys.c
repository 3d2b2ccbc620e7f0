/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/keys.h"

#include <string.h>

#include "recording/recording.h"

static const struct {
	const char *key, *text;
} stops[FPL_STOP_COUNT] = {
#define X(name, key, text) [FPL_STOP_##name] = { #key, text },
	FPL_STOP_LIST(X)
#undef X
};

static const char *const losses[FPL_LOST_COUNT] = {
#define X(name, key, text) [FPL_LOST_##name] = #key,
	FPL_LOST_LIST(X)
#undef X
};

static const struct {
	const char *key, *mark, *text;
} origins[FPL_ORIGIN_COUNT] = {
#define X(name, key, mark, text) [FPL_ORIGIN_##name] = { #key, mark, text },
	FPL_ORIGIN_LIST(X)
#undef X
};

const char *stop_key(enum fpl_stop stop)
{
	return (unsigned)stop < FPL_STOP_COUNT ? stops[stop].key : "unknown";
}

const char *stop_text(enum fpl_stop stop)
{
	return (unsigned)stop < FPL_STOP_COUNT ? stops[stop].text : "unknown";
}

uint8_t stop_of_key(const char *key)
{
	for (uint8_t i = 0; i < FPL_STOP_COUNT; i++)
		if (!strcmp(key, stops[i].key))
			return i;
	return RECORDING_NO_STOP;
}

/* By enum recording_state. */
static const char *const states[RECORDING_STATE_COUNT] = { "",	      "on-cpu",	   "runnable",
							   "blocked", "throttled", "frozen" };

const char *state_key(uint8_t state)
{
	return state < RECORDING_STATE_COUNT ? states[state] : "";
}

uint8_t state_of_key(const char *key)
{
	for (uint8_t i = RECORDING_STATE_ON_CPU; i < RECORDING_STATE_COUNT; i++)
		if (!strcmp(key, states[i]))
			return i;
	return RECORDING_STATE_NONE;
}

const char *lost_key(enum fpl_lost lost)
{
	return (unsigned)lost < FPL_LOST_COUNT ? losses[lost] : "unknown";
}

const char *origin_key(enum fpl_origin origin)
{
	return (unsigned)origin < FPL_ORIGIN_COUNT ? origins[origin].key : "unknown";
}

const char *origin_text(enum fpl_origin origin)
{
	return (unsigned)origin < FPL_ORIGIN_COUNT ? origins[origin].text : "unknown";
}

uint8_t origin_of_key(const char *key, size_t length)
{
	for (uint8_t i = 0; i < FPL_ORIGIN_COUNT; i++)
		if (strlen(origins[i].key) == length && !memcmp(key, origins[i].key, length))
			return i;
	return RECORDING_NO_ORIGIN;
}

const char *origin_mark(uint8_t origin)
{
	return origin < FPL_ORIGIN_COUNT ? origins[origin].mark : "";
}

const char *weight_key(const struct recording *recording)
{
	return recording->weight_unit ? "weight" : "weight_ns";
}

const char *period_key(const struct recording *recording)
{
	return recording->weight_unit ? "period" : "period_ns";
}
