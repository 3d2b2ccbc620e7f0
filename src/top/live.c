/* SPDX-License-Identifier: Apache-2.0 */
#include "top/live.h"

#include <errno.h>
#include <string.h>

int live_init(struct live *ret, const struct naming_options *options, uint64_t span_ns,
	      struct fpl_err *err)
{
	*ret = (struct live){ .nr_looks = 0 };
	window_init(&ret->window, span_ns);
	model_init(&ret->model, &ret->naming.recording);
	return naming_init(&ret->naming, options, err);
}

void live_fini(struct live *live)
{
	model_fini(&live->model);
	window_fini(&live->window);
	naming_fini(&live->naming);
}

int live_add(struct live *live, const struct feed_batch *batch, struct fpl_err *err)
{
	int code = batch->broken ? -ENOMEM : naming_add(&live->naming, batch, err);

	if (!code)
		code = model_extend(&live->model);
	return code ? fpl_fail(err, -ENOMEM, "out of memory for stacks with names") : 0;
}

int live_look(struct live *live, const struct engine_look *look, struct fpl_err *err)
{
	if (window_add(&live->window, look->sampled_ns, look->counts, look->nr_stacks))
		return fpl_fail(err, -ENOMEM, "out of memory for %u stacks", look->nr_stacks);
	live->before = live->look;
	live->look = *look;
	live->look.counts = NULL;
	live->nr_looks++;
	return 0;
}

int live_table(struct live *live, const struct table_query *query, bool since_start,
	       struct table *ret)
{
	const struct naming *naming = &live->naming;
	size_t nr = live->window.nr;

	if (naming->counts)
		memset(naming->counts, 0, live->model.nr_stacks * sizeof(*naming->counts));
	for (size_t i = 0; i < nr && i < naming->nr; i++)
		naming->counts[naming->places[i]] += window_count(&live->window, i, since_start);
	return table_make(&live->model, naming->counts, query, ret);
}
