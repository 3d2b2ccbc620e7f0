/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/table_state.h"

/* The phase behind each edge, plus one; 0: there is no such edge. */
#define TO(phase) (TABLE_##phase + 1)

static const uint8_t edges[TABLE_PHASE_COUNT][TABLE_EVENT_COUNT] = {
	[TABLE_IDLE] = { [TABLE_WANTED] = TO(QUEUED),
			 [TABLE_NEEDED] = TO(QUEUED),
			 [TABLE_FORGOTTEN] = TO(IDLE) },
	[TABLE_QUEUED] = { [TABLE_MADE_PARTIAL] = TO(PARTIAL),
			   [TABLE_MADE_WHOLE] = TO(READY),
			   [TABLE_MADE_NONE] = TO(NO_CFI),
			   [TABLE_HAS_NO_ROOM] = TO(REFUSED) },
	[TABLE_PARTIAL] = { [TABLE_MADE_PARTIAL] = TO(PARTIAL),
			    [TABLE_MADE_WHOLE] = TO(READY),
			    [TABLE_GAVE_WAY] = TO(EVICTED),
			    [TABLE_FORGOTTEN] = TO(IDLE) },
	[TABLE_READY] = { [TABLE_GAVE_WAY] = TO(EVICTED), [TABLE_FORGOTTEN] = TO(IDLE) },
	[TABLE_NO_CFI] = { [TABLE_FORGOTTEN] = TO(IDLE) },
	[TABLE_EVICTED] = { [TABLE_NEEDED] = TO(QUEUED), [TABLE_FORGOTTEN] = TO(IDLE) },
	[TABLE_REFUSED] = { [TABLE_RETRIED] = TO(QUEUED), [TABLE_FORGOTTEN] = TO(IDLE) },
};

bool table_state_may(const struct table_state *state, enum table_event event)
{
	return edges[state->phase][event] != 0;
}

bool table_state_move(struct table_state *state, enum table_event event)
{
	uint8_t to = edges[state->phase][event];

	if (to)
		state->phase = to - 1;
	return to != 0;
}
