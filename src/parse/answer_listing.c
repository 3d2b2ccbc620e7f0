/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "parse/answer.h"

/* Places @sent one behind the other in @range; false: they make no sense. */
static bool link_insns(const struct parse_insn *sent, size_t nr, const struct vaddr_range *range,
		       const char *text, size_t text_size, struct listing_insn *ret,
		       uint64_t *ret_end)
{
	uint64_t vaddr = range->start;

	for (size_t i = 0; i < nr; i++) {
		ret[i] = (struct listing_insn){ .vaddr = vaddr,
						.target = sent[i].target,
						.size = sent[i].size,
						.kind = sent[i].kind };
		if (!sent[i].size || sent[i].size > LISTING_INSN_MAX ||
		    sent[i].kind >= LISTING_KIND_COUNT || sent[i].size > range->end - vaddr ||
		    !answer_text(text, text_size, sent[i].text, &ret[i].text) || !ret[i].text ||
		    !answer_text(text, text_size, sent[i].target_name, &ret[i].target_name))
			return false;
		vaddr += sent[i].size;
	}
	*ret_end = vaddr;
	return true;
}

int answer_listing(struct answer_reader *reader, uint64_t vaddr, struct listing *ret,
		   struct fpl_err *err)
{
	struct parse_listing head;
	int code = reader->read(reader->ctx, &head, sizeof(head));
	uint64_t end;

	if (code)
		return code;
	if (vaddr < head.start || vaddr >= head.end)
		return answer_refuse(reader, err, "another function than was asked for");
	if (head.nr_insns > PARSE_INSNS_MAX || head.text_size > PARSE_TEXT_MAX)
		return answer_refuse(reader, err, "more instructions than a function may have");

	const struct vaddr_range range = { head.start, head.end };
	AUTO_FREE struct parse_insn *sent = calloc(head.nr_insns + 1u, sizeof(*sent));
	AUTO_FREE struct listing_insn *insns = calloc(head.nr_insns + 1u, sizeof(*insns));
	AUTO_FREE char *text = malloc(head.text_size + 1u);

	if (!sent || !insns || !text)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", reader->path);
	code = reader->read(reader->ctx, sent, head.nr_insns * sizeof(*sent));
	if (!code)
		code = reader->read(reader->ctx, text, head.text_size);
	if (code)
		return code;
	text[head.text_size] = '\0';
	if (!link_insns(sent, head.nr_insns, &range, text, head.text_size, insns, &end))
		return answer_refuse(reader, err, "an instruction that makes no sense");
	*ret = (struct listing){ .range = range,
				 .insns = TAKE_PTR(insns),
				 .nr = head.nr_insns,
				 .is_cut = end < head.end,
				 .text = TAKE_PTR(text) };
	return 0;
}
