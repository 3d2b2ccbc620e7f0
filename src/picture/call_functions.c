/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "picture/call_tree.h"

void call_functions_fini(struct call_functions *functions)
{
	free(functions->list);
	free(functions->of_cells);
}

/* Add the samples of a path to the functions on it, as far as the cell @delimiter. @seen: by
 * function, the last path + 1 that had it. */
static void count_path(struct call_functions *functions, const struct flame_paths *paths,
		       size_t idx, uint32_t delimiter, size_t *seen)
{
	const struct flame_path *path = &paths->list[idx];
	const uint32_t *steps = &paths->steps.list[path->first];
	uint32_t nr = 0;

	while (nr < path->nr && steps[nr] != delimiter)
		nr++;
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t function = functions->of_cells[steps[i]];

		if (seen[function] == idx + 1)
			continue;
		seen[function] = idx + 1;
		functions->list[function].total += path->count;
	}
	if (nr)
		functions->list[functions->of_cells[steps[nr - 1]]].self += path->count;
}

size_t call_functions_find(const struct call_functions *functions, const struct flame_paths *paths,
			   const char *text, const char *object, uint8_t kind)
{
	size_t from = 0, to = functions->nr;

	while (from < to) {
		size_t at = from + (to - from) / 2;
		const struct call_function *function = &functions->list[at];
		int order = strcmp(text, flame_text(paths, function->text));

		if (!order)
			order = strcmp(object, flame_text(paths, function->object));
		if (!order)
			order = (int)kind - (int)function->kind;
		if (!order)
			return at;
		if (order < 0)
			to = at;
		else
			from = at + 1;
	}
	return functions->nr;
}

void call_functions_make(const struct flame_paths *paths, unsigned sides,
			 struct call_functions *ret)
{
	uint32_t delimiter = flame_paths_delimiter(paths);
	size_t nr = paths->cells.nr;
	AUTO_FREE size_t *seen = must_calloc(nr, sizeof(*seen));

	*ret = (struct call_functions){
		.list = must_calloc(nr, sizeof(*ret->list)),
		.of_cells = flame_paths_rank(paths, true),
	};
	for (size_t i = 0; i < nr; i++) {
		const struct shown_function *cell = &paths->cells.list[i];
		uint32_t function = ret->of_cells[i];

		ret->list[function] = (struct call_function){
			.text = cell->text,
			.object = cell->place,
			.kind = flame_kind(cell),
		};
		if (function >= ret->nr)
			ret->nr = (size_t)function + 1;
	}
	for (size_t i = 0; i < paths->nr; i++)
		if (sides & 1u << paths->list[i].side)
			count_path(ret, paths, i, delimiter, seen);
}
