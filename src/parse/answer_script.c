/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "parse/answer.h"

static int read_names(struct answer_reader *reader, struct script_names *names, struct fpl_err *err)
{
	int code = reader->read(reader->ctx, names->codes, names->nr_codes * sizeof(*names->codes));

	if (!code)
		code = reader->read(reader->ctx, names->lines,
				    names->nr_lines * sizeof(*names->lines));
	if (!code)
		code = reader->read(reader->ctx, names->text, names->text_size);
	if (!code && !script_names_check(names))
		code = answer_refuse(reader, err, "names of scripts that do not hold together");
	return code;
}

int answer_script(struct answer_reader *reader, struct script_names *ret, struct fpl_err *err)
{
	CLEANUP(script_names_fini) struct script_names names = { 0 };
	struct parse_script head;
	int code = reader->read(reader->ctx, &head, sizeof(head));

	*ret = (struct script_names){ 0 };
	if (code)
		return code;
	if (head.nr_codes > SCRIPT_CODES_MAX || head.nr_lines > SCRIPT_LINES_MAX ||
	    head.text_size > SCRIPT_TEXT_MAX)
		return answer_refuse(reader, err, "more names than there is room for");
	names.codes = calloc(head.nr_codes + 1u, sizeof(*names.codes));
	names.lines = calloc(head.nr_lines + 1u, sizeof(*names.lines));
	names.text = malloc(head.text_size + 1u);
	if (!names.codes || !names.lines || !names.text)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", reader->path);
	names.nr_codes = head.nr_codes;
	names.nr_lines = head.nr_lines;
	names.text_size = head.text_size;
	code = read_names(reader, &names, err);
	if (code)
		return code;
	*ret = names;
	names = (struct script_names){ 0 };
	return 0;
}
