/* SPDX-License-Identifier: Apache-2.0 */
#include "view/viewer.h"

void viewer_init(const struct recording *recording, const struct format_options *options,
		 struct viewer *ret)
{
	struct frame_text_options text_options = format_texts(options, true);

	text_options.lines = false; /* they have a place of their own */
	*ret = (struct viewer){ .recording = recording };
	frame_texts_init(recording, &text_options, &ret->texts);
	function_index_init(&ret->texts, &ret->index);
	threads_init(recording, &ret->threads);
}

void viewer_fini(struct viewer *viewer)
{
	frame_texts_fini(&viewer->texts);
	function_index_fini(&viewer->index);
	threads_fini(&viewer->threads);
}
