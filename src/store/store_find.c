/* SPDX-License-Identifier: Apache-2.0 */
/* When was a function on stacks? */
#include <errno.h>

#include "base/cleanup.h"
#include "store/store_state.h"

struct finding {
	struct store *store;
	struct store_filter filter;
	regex_t function;
	bool has_function;
	VECTOR(uint8_t) functions, paths; /* by row: does it match; does it or one of its callers */
};

static void finding_fini(struct finding *finding)
{
	store_filter_fini(&finding->filter);
	if (finding->has_function)
		regfree(&finding->function);
	vector_fini(&finding->functions);
	vector_fini(&finding->paths);
}

static bool function_matches(const struct finding *finding, uint32_t id)
{
	const struct dictionary *dictionary = &finding->store->dictionary;
	uint64_t name = rows_cells(dictionary, ROWS_FUNCTION, id)[FUNCTION_NAME];

	return name && !regexec(&finding->function, rows_text(dictionary, name), 0, NULL, 0);
}

/* A parent comes before its children, so one pass is enough. */
static void match_all(struct finding *finding)
{
	const struct dictionary *dictionary = &finding->store->dictionary;
	size_t nr_functions = dictionary->tables[ROWS_FUNCTION].used.nr;
	size_t nr_nodes = dictionary->tables[ROWS_NODE].used.nr;

	must_push(&finding->functions, 0);
	must_push(&finding->paths, 0);
	for (uint32_t id = 1; id < nr_functions; id++)
		must_push(&finding->functions,
			  rows_has(dictionary, ROWS_FUNCTION, id) && function_matches(finding, id));
	for (uint32_t id = 1; id < nr_nodes; id++) {
		const uint64_t *cells = rows_cells(dictionary, ROWS_NODE, id);

		must_push(&finding->paths, finding->functions.list[cells[NODE_FUNCTION]] ||
						   finding->paths.list[cells[NODE_PARENT]]);
	}
}

static void count(struct finding *finding, const struct window_data *data, struct store_found *ret)
{
	for (size_t i = 0; i < data->entries.nr; i++) {
		const struct window_entry *entry = &data->entries.list[i];
		uint64_t function = rows_cells(&finding->store->dictionary, ROWS_NODE,
					       entry->node)[NODE_FUNCTION];

		if (!store_filter_wants(&finding->filter, finding->store, ret->window.run,
					entry->series))
			continue;
		/* sums of a window's counts fit, as it was checked when it was read */
		ret->wanted += entry->count;
		if (finding->functions.list[function])
			ret->self += entry->count;
		if (finding->paths.list[entry->node])
			ret->total += entry->count;
	}
}

int store_find(struct store *store, const struct store_range *range, const char *function,
	       int (*each)(void *ctx, const struct store_found *found), void *ctx,
	       struct fpl_err *err)
{
	CLEANUP(finding_fini) struct finding finding = { .store = store };
	CLEANUP(cleanup_statement) sqlite3_stmt *statement = NULL;
	int code = store_filter_init(&finding.filter, range, err);

	if (!code)
		code = store_regex("find", function, &finding.function, &finding.has_function, err);
	if (!code)
		code = store_rows_load(store, err);
	if (code)
		return code;
	match_all(&finding);
	code = store_windows_begin(store, "WHERE t0>=?1 AND t0<?2 ORDER BY t0,id", range->from_ns,
				   range->to_ns, &statement, err);
	while (!code) {
		CLEANUP(window_data_fini) struct window_data data = { 0 };
		struct store_found found = { 0 };

		code = store_windows_next(store, statement, &found.window, &data, err);
		if (code != 1)
			return code;
		count(&finding, &data, &found);
		code = found.total ? each(ctx, &found) : 0;
	}
	return code;
}
