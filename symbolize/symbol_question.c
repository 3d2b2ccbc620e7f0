/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/symbol_question.h"

#include <errno.h>
#include <stdlib.h>

#include "base/log.h"

void symbol_question_fini(struct symbol_question *question)
{
	free(question->vaddrs);
	*question = (struct symbol_question){ .fd = -1 };
}

/* Of a file that was written to since it was registered, whatever is read now is of other code. */
static int check_file(const struct symbol_question *question, struct fpl_err *err)
{
	if (file_stamp_holds(&question->stamp, question->fd))
		return 0;
	return fpl_fail(err, -ESTALE, "%s: was written to while it was profiled", question->path);
}

static void ask_lines(const struct symbol_question *question, const struct symbol_source *source,
		      struct symbol_answer *ret)
{
	struct fpl_err err = { 0 };
	int code;

	if (!source->lines || !question->lines)
		return;
	code = source->lines(source->ctx, question->fd, question->path, question->vaddrs,
			     question->nr, &ret->places.chains, &err);
	if (!code)
		return;
	ret->has_no_lines = true;
	fpl_log(code == -ENOENT ? FPL_LOG_DEBUG : FPL_LOG_WARN, "%s: its code has no lines",
		err.msg);
}

void symbol_question_ask(const struct symbol_question *question, const struct symbol_source *source,
			 struct symbol_answer *ret)
{
	*ret = (struct symbol_answer){ .code = 0 };
	if (source->trust)
		source->trust(source->ctx, &question->trust);
	ret->code = check_file(question, &ret->err);
	if (!ret->code)
		ret->code = source->names(source->ctx, question->fd, question->path,
					  question->vaddrs, question->nr, &ret->places, &ret->err);
	if (!ret->code)
		ret->code = check_file(question, &ret->err);
	if (ret->code)
		symbol_places_fini(&ret->places);
	else
		ask_lines(question, source, ret);
	if (source->trust)
		source->trust(source->ctx, NULL);
}
