/* SPDX-License-Identifier: Apache-2.0 */
#include "view/frame_list.h"

#include <stdlib.h>

#include "base/alloc.h"

void frame_list_fini(struct frame_list *list)
{
	free(list->text);
	free(list->ends);
}

void frame_list_make(const struct recording *recording, frame_write_fn *write,
		     const struct format_options *options, struct frame_list *ret)
{
	FILE *to = must_memstream(&ret->text, &ret->size);

	ret->ends = must_calloc(recording->nr_frames + 1, sizeof(*ret->ends));
	for (size_t i = 0; i < recording->nr_frames; i++) {
		write(to, recording, &recording->frames[i], options);
		ret->ends[i + 1] = (size_t)ftell(to);
	}
	must_memstream_close(to);
}

void frame_list_put(const struct frame_list *list, uint32_t idx, FILE *to)
{
	fwrite(list->text + list->ends[idx], 1, list->ends[idx + 1] - list->ends[idx], to);
}
