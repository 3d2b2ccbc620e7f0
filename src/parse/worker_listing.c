/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "parse/job.h"
#include "symbolize/demangle.h"
#include "symbolize/disassembly.h"
#include "unwind/function_list.h"

enum { CODE_MAX = 4 << 20 }; /* bytes of a function that are read */

void listing_draft_fini(struct listing_draft *draft)
{
	free(draft->code);
	free(draft->insns);
	free(draft->text);
}

/* The function at @vaddr: what a symbol covers or, without one, an FDE. */
static int find_function(struct listing_draft *draft, uint64_t vaddr, struct fpl_err *err)
{
	struct reading *reading = draft->reading;
	struct symtab_match match;

	/* a file without symbols may have FDEs */
	(void)!job_open_tables(reading, err);
	if (reading->tab && symtab_find(reading->tab, vaddr, &match)) {
		draft->range = (struct vaddr_range){ match.start, match.end };
		return 0;
	}
	job_read_functions(reading);
	if (function_list_find(&reading->functions, vaddr, &draft->range))
		return 0;
	return fpl_fail(err, -ENOENT, "%s: no symbol and no FDE covers 0x%" PRIx64,
			reading->elf->name, vaddr);
}

/* Reads the function as far as it lies in the segment of its start, CODE_MAX bytes at most. */
static int read_code(struct listing_draft *draft, struct fpl_err *err)
{
	const struct elf_file *elf = draft->reading->elf;
	uint64_t start = draft->range.start, size = draft->range.end - start, left;
	const struct elf_segment *segment = elf_file_load_at(elf, start, 1);

	if (elf->machine != EM_X86_64)
		return fpl_fail(err, -ENOEXEC, "%s: no code of x86-64", elf->name);
	if (!segment || !(segment->flags & PF_X))
		return fpl_fail(err, -ENODATA, "%s: the code at 0x%" PRIx64 " is not in this file",
				elf->name, start);
	left = segment->file_size - (start - segment->vaddr);
	if (size > left)
		size = left;
	draft->nr_bytes = size < CODE_MAX ? size : CODE_MAX;
	draft->code = malloc(draft->nr_bytes + 1);
	if (!draft->code)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", elf->name);
	return elf_file_read(elf, segment->off + (start - segment->vaddr), draft->code,
			     draft->nr_bytes, err);
}

/* Adds @text; PARSE_NO_TEXT where there is no room for it. */
static uint32_t add_text(struct listing_draft *draft, const char *text)
{
	size_t size = strlen(text) + 1, wanted = draft->text_size + size;

	if (wanted > PARSE_TEXT_MAX ||
	    array_reserve(&draft->text, sizeof(*draft->text), &draft->text_room, wanted))
		return PARSE_NO_TEXT;
	memcpy(draft->text + draft->text_size, text, size);
	draft->text_size = wanted;
	return (uint32_t)(wanted - size);
}

/* The name of the function at @target, outside of this one. */
static uint32_t target_name(struct listing_draft *draft, uint64_t target)
{
	const struct symtab *tab = draft->reading->tab;
	struct symtab_match match;

	if (!tab || target == LISTING_NO_TARGET ||
	    (target >= draft->range.start && target < draft->range.end) ||
	    !symtab_find(tab, target, &match) || match.start != target)
		return PARSE_NO_TEXT;

	AUTO_FREE char *raw = symtab_name(tab, &match);
	AUTO_FREE char *readable = raw && !draft->mangled ? demangle_name(raw) : NULL;

	return raw ? add_text(draft, readable ? readable : raw) : PARSE_NO_TEXT;
}

/* An instruction without room is left out, and all behind it. */
static int disassemble_all(struct listing_draft *draft, const struct disassembler *disassembler)
{
	struct disassembled insn;

	for (size_t at = 0; at < draft->nr_bytes && draft->nr < PARSE_INSNS_MAX; at += insn.size) {
		uint32_t text;

		disassemble(disassembler, draft->code + at, draft->nr_bytes - at,
			    draft->range.start + at, &insn);
		text = add_text(draft, insn.text);
		if (text == PARSE_NO_TEXT)
			return 0;
		if (array_reserve(&draft->insns, sizeof(*draft->insns), &draft->room,
				  draft->nr + 1))
			return -ENOMEM;
		draft->insns[draft->nr++] =
			(struct parse_insn){ .target = insn.target,
					     .text = text,
					     .target_name = target_name(draft, insn.target),
					     .size = insn.size,
					     .kind = insn.kind };
	}
	return 0;
}

int listing_draft_make(struct reading *reading, uint64_t vaddr, uint32_t flags,
		       struct listing_draft *ret, struct fpl_err *err)
{
	struct disassembler *disassembler;
	int code;

	*ret = (struct listing_draft){ .reading = reading, .mangled = flags & PARSE_MANGLED };
	code = find_function(ret, vaddr, err);
	if (!code)
		code = read_code(ret, err);
	if (code)
		return code;
	disassembler = disassembler_create(flags & PARSE_INTEL);
	code = disassembler ? disassemble_all(ret, disassembler) : -ENOMEM;
	disassembler_destroy(disassembler);
	return code ? fpl_fail(err, code, "%s: out of memory", reading->elf->name) : 0;
}

static int send_listing(const struct job *job, const struct listing_draft *draft)
{
	const struct parse_listing head = { .start = draft->range.start,
					    .end = draft->range.end,
					    .nr_insns = (uint32_t)draft->nr,
					    .text_size = (uint32_t)draft->text_size };
	int rc = job_send(job, &head, sizeof(head));

	if (!rc)
		rc = job_send(job, draft->insns, draft->nr * sizeof(*draft->insns));
	return rc ? rc : job_send(job, draft->text, draft->text_size);
}

int job_listing(struct job *job)
{
	CLEANUP(listing_draft_fini) struct listing_draft draft = { .reading = NULL };
	struct fpl_err err = { 0 };
	int code, rc;

	if (job->request.nr_vaddrs != 1)
		return -EBADMSG;
	code = listing_draft_make(job->reading, job->vaddrs[0], job->request.flags, &draft, &err);
	rc = job_answer(job, code, &err);
	return rc || code ? rc : send_listing(job, &draft);
}
