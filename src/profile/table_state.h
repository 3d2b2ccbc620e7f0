/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of the table of one object: whether it was asked for, where it is, and how much it is
 * used. Its phases, and what leads from one to another, are one table in table_state.c.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "unwind/table.h"

enum table_phase {
	TABLE_IDLE,    /* it was not asked for, or is forgotten */
	TABLE_QUEUED,  /* it is being compiled */
	TABLE_PARTIAL, /* it is published, but for rows from code: a sample has them made */
	TABLE_READY,   /* it is published */
	TABLE_NO_CFI,  /* it is published that the object has no usable CFI */
	TABLE_EVICTED, /* it gave way to others; a sample brings it back */
	TABLE_REFUSED, /* there was no room for it: pcs in the object are `no_table` */
	TABLE_PHASE_COUNT
};

enum table_event {
	TABLE_WANTED,	    /* a process has mapped the object */
	TABLE_NEEDED,	    /* a sample ended for want of the table */
	TABLE_RETRIED,	    /* there may be room by now */
	TABLE_MADE_PARTIAL, /* a table without all rows from code has been published */
	TABLE_MADE_WHOLE,   /* what is published now is all there will be */
	TABLE_MADE_NONE,    /* it could not be compiled */
	TABLE_HAS_NO_ROOM,
	TABLE_GAVE_WAY,
	TABLE_FORGOTTEN, /* the object is about to go */
	TABLE_EVENT_COUNT
};

struct table_state {
	enum table_phase phase; /* changed by table_state_move() alone */
	/* while PARTIAL or READY; pool_size is what would be needed while REFUSED */
	uint32_t pool_first, pool_size;
	uint32_t nr_published; /* tables: when it is another, walks may get further */
	bool is_urgent;	       /* while QUEUED: a sample waits for it */
	bool whole_queued;     /* its whole table is being made */
	bool near_queued;      /* rows around some vaddrs are being made */
	bool is_replaced;      /* the other image of its slot was in force */
	bool is_late;	       /* while PARTIAL: samples do not wait for rows from code any more */
	bool is_chosen;	       /* for eviction.h: it gives way, if any does */
	uint64_t wait_ns;      /* CLOCK_MONOTONIC, since when they do; 0: none has yet */
	uint32_t nr_near;      /* times that rows around some vaddrs were made */
	struct table_stats stats;
	uint64_t refused_ns;  /* CLOCK_MONOTONIC, when there was no room last; 0: never */
	uint32_t nr_refusals; /* in a row */
	uint64_t placed_ns;   /* CLOCK_MONOTONIC, when it was placed */
	uint64_t used_look;   /* of the last look that found it used */
	uint64_t used;	      /* frames by it, of late: each look halves it */
	uint64_t missed;      /* samples that ended for want of it, likewise */
};

/* Does @event lead anywhere from the phase of @state? */
bool table_state_may(const struct table_state *state, enum table_event event);
/* Do what @event leads to. Returns false, and changes nothing, where it leads nowhere. */
bool table_state_move(struct table_state *state, enum table_event event);

/* Is a table in the pool? */
static inline bool table_state_is_placed(const struct table_state *state)
{
	return state->phase == TABLE_READY || state->phase == TABLE_PARTIAL;
}

/* Is there a table to come, or one that says more, once a sample has asked for it? */
static inline bool table_state_is_awaited(const struct table_state *state)
{
	return state->phase == TABLE_QUEUED || state->phase == TABLE_PARTIAL;
}
