/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/question.h"

#include <errno.h>
#include <stdlib.h>

#include "base/log.h"

void name_question_fini(struct name_question *question)
{
	free(question->vaddrs);
	*question = (struct name_question){ .file.fd = -1 };
}

static void ask_lines(const struct name_question *question, struct asker *asker,
		      struct name_answer *ret)
{
	struct fpl_err err = { 0 };
	int code;

	if (!question->lines)
		return;
	code = asker_lines(asker, question->path, &question->file, question->vaddrs, question->nr,
			   &ret->places.chains, &err);
	if (!code)
		return;
	ret->has_no_lines = true;
	fpl_log(code == -ENOENT ? FPL_LOG_DEBUG : FPL_LOG_WARN, "%s: its code has no lines",
		err.msg);
}

void name_question_ask(const struct name_question *question, struct asker *asker,
		       struct name_answer *ret)
{
	*ret = (struct name_answer){ .code = 0 };
	ret->code = asker_names(asker, question->path, &question->file, question->vaddrs,
				question->nr, &ret->places, &ret->err);
	if (!ret->code)
		ask_lines(question, asker, ret);
}
