/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "parse/answer.h"

bool answer_text(const char *text, size_t text_size, uint32_t at, const char **ret)
{
	*ret = NULL;
	if (at == PARSE_NO_TEXT)
		return true;
	if (at >= text_size)
		return false;
	*ret = text + at;
	return true;
}

static bool link_lines(const struct parse_line *sent, size_t nr, const char *text, size_t text_size,
		       struct symbol_line *ret)
{
	for (size_t i = 0; i < nr; i++) {
		ret[i] = (struct symbol_line){
			.line = sent[i].line,
			.column = sent[i].column,
			.start_line = sent[i].start_line,
		};
		if (!answer_text(text, text_size, sent[i].name, &ret[i].name) ||
		    !answer_text(text, text_size, sent[i].file, &ret[i].file))
			return false;
	}
	return true;
}

static bool chains_hold(const struct symbol_chain *chains, size_t nr, size_t nr_lines)
{
	for (size_t i = 0; i < nr; i++) {
		if (chains[i].nr > SYMBOL_LINES_MAX || chains[i].first > nr_lines ||
		    chains[i].nr > nr_lines - chains[i].first)
			return false;
	}
	return true;
}

int answer_lines(struct answer_reader *reader, size_t nr, struct symbol_chains *ret,
		 struct fpl_err *err)
{
	struct parse_lines head;
	int code = reader->read(reader->ctx, &head, sizeof(head));

	if (code)
		return code;
	if (head.nr_chains != nr || head.nr_lines > PARSE_LINES_MAX ||
	    head.text_size > PARSE_TEXT_MAX)
		return answer_refuse(reader, err, "more lines than were asked for");

	AUTO_FREE struct symbol_chain *chains = calloc(nr + 1, sizeof(*chains));
	AUTO_FREE struct parse_line *sent = calloc(head.nr_lines + 1u, sizeof(*sent));
	AUTO_FREE struct symbol_line *lines = calloc(head.nr_lines + 1u, sizeof(*lines));
	AUTO_FREE char *text = malloc(head.text_size + 1u);

	if (!chains || !sent || !lines || !text)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", reader->path);
	code = reader->read(reader->ctx, chains, nr * sizeof(*chains));
	if (!code)
		code = reader->read(reader->ctx, sent, head.nr_lines * sizeof(*sent));
	if (!code)
		code = reader->read(reader->ctx, text, head.text_size);
	if (code)
		return code;
	text[head.text_size] = '\0';
	if (!chains_hold(chains, nr, head.nr_lines) ||
	    !link_lines(sent, head.nr_lines, text, head.text_size, lines))
		return answer_refuse(reader, err, "a line that lies outside of its answer");
	*ret = (struct symbol_chains){ .chains = TAKE_PTR(chains),
				       .lines = TAKE_PTR(lines),
				       .text = TAKE_PTR(text) };
	return 0;
}
