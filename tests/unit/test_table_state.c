/* SPDX-License-Identifier: Apache-2.0 */
/* The phases of a table: every edge there is, and that there is no other. */
#include "cmocka_all.h"

#include "base/cleanup.h"
#include "profile/table_state.h"

static const struct edge {
	enum table_phase from;
	enum table_event event;
	enum table_phase to;
} edges[] = {
	/* asked for, once */
	{ TABLE_IDLE, TABLE_WANTED, TABLE_QUEUED },
	{ TABLE_IDLE, TABLE_NEEDED, TABLE_QUEUED },
	{ TABLE_EVICTED, TABLE_NEEDED, TABLE_QUEUED },
	{ TABLE_REFUSED, TABLE_RETRIED, TABLE_QUEUED },
	/* compiled */
	{ TABLE_QUEUED, TABLE_MADE_PARTIAL, TABLE_PARTIAL },
	{ TABLE_QUEUED, TABLE_MADE_WHOLE, TABLE_READY },
	{ TABLE_QUEUED, TABLE_MADE_NONE, TABLE_NO_CFI },
	{ TABLE_QUEUED, TABLE_HAS_NO_ROOM, TABLE_REFUSED },
	/* rows from code */
	{ TABLE_PARTIAL, TABLE_MADE_PARTIAL, TABLE_PARTIAL },
	{ TABLE_PARTIAL, TABLE_MADE_WHOLE, TABLE_READY },
	/* others need the room */
	{ TABLE_PARTIAL, TABLE_GAVE_WAY, TABLE_EVICTED },
	{ TABLE_READY, TABLE_GAVE_WAY, TABLE_EVICTED },
	/* the object goes; the compiler has it while QUEUED */
	{ TABLE_IDLE, TABLE_FORGOTTEN, TABLE_IDLE },
	{ TABLE_PARTIAL, TABLE_FORGOTTEN, TABLE_IDLE },
	{ TABLE_READY, TABLE_FORGOTTEN, TABLE_IDLE },
	{ TABLE_NO_CFI, TABLE_FORGOTTEN, TABLE_IDLE },
	{ TABLE_EVICTED, TABLE_FORGOTTEN, TABLE_IDLE },
	{ TABLE_REFUSED, TABLE_FORGOTTEN, TABLE_IDLE },
};

static const struct edge *find_edge(enum table_phase from, enum table_event event)
{
	for (size_t i = 0; i < ARRAY_SIZE(edges); i++) {
		if (edges[i].from == from && edges[i].event == event)
			return &edges[i];
	}
	return NULL;
}

static void each_event_leads_where_it_should_from_each_phase(void **state)
{
	(void)state;
	for (enum table_phase from = 0; from < TABLE_PHASE_COUNT; from++) {
		for (enum table_event event = 0; event < TABLE_EVENT_COUNT; event++) {
			const struct edge *edge = find_edge(from, event);
			struct table_state table = { .phase = from };

			assert_int_equal(table_state_may(&table, event), edge != NULL);
			assert_int_equal(table.phase, from);
			assert_int_equal(table_state_move(&table, event), edge != NULL);
			assert_int_equal(table.phase, edge ? edge->to : from);
		}
	}
}

static void a_table_is_placed_and_awaited_in_these_phases(void **state)
{
	static const bool is_placed[TABLE_PHASE_COUNT] = {
		[TABLE_PARTIAL] = true, [TABLE_READY] = true
	};
	static const bool is_awaited[TABLE_PHASE_COUNT] = {
		[TABLE_QUEUED] = true, [TABLE_PARTIAL] = true
	};

	(void)state;
	for (enum table_phase phase = 0; phase < TABLE_PHASE_COUNT; phase++) {
		const struct table_state table = { .phase = phase };

		assert_int_equal(table_state_is_placed(&table), is_placed[phase]);
		assert_int_equal(table_state_is_awaited(&table), is_awaited[phase]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_event_leads_where_it_should_from_each_phase),
		cmocka_unit_test(a_table_is_placed_and_awaited_in_these_phases),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
