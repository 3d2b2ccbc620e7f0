/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/hottest.h"

#include <stdlib.h>

#include "base/alloc.h"

void hottest_init(const struct recording *recording, size_t max, struct hottest *ret)
{
	const struct frame_text_options options = { .by_function = true };

	frame_texts_init(recording, &options, &ret->texts);
	measure_init(recording, &ret->measure);
	function_index_init(&ret->texts, &ret->index);
	function_tallies_init(&ret->index, &ret->measure, &ret->tallies);
	ret->list = must_calloc(max, sizeof(*ret->list));
	ret->nr = function_tallies_hottest(&ret->tallies, ret->list, max);
	ret->sum = measure_sum(recording);
}

void hottest_fini(struct hottest *hottest)
{
	free(hottest->list);
	function_tallies_fini(&hottest->tallies);
	function_index_fini(&hottest->index);
	frame_texts_fini(&hottest->texts);
}
