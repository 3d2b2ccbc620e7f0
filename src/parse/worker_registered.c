/* SPDX-License-Identifier: Apache-2.0 */
/* Files that a process has registered for debuggers say by their CFI what frames its code has
 * (decision 0052). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "jit/entry.h"
#include "jit/jit_file.h"
#include "parse/job.h"
#include "unwind/cfa_program.h"
#include "unwind/compact.h"

#define CFI_BYTES_MAX (4u << 20) /* of one file */
#define FRAMES_MAX    32u	 /* different rules of one function */

static const struct table_limits limits = { .cpu_ns = NS_PER_S / 4,
					    .memory_bytes = 32u << 20,
					    .rows = 1u << 18 };

/* The rules of a function's rows: how many bytes each is of. */
struct frames {
	struct {
		struct fpl_rule rule;
		uint64_t bytes;
	} list[FRAMES_MAX];
	size_t nr;
	bool is_other; /* a row is no constant away from a register */
};

static int count_row(const struct cfi_row *row, void *ctx)
{
	struct frames *frames = ctx;
	struct compact_rule packed;
	size_t i = 0;

	compact_pack(row, &packed);
	while (i < frames->nr && memcmp(&frames->list[i].rule, &packed.rule, sizeof(packed.rule)))
		i++;
	if (packed.nr_slots != 1 || packed.rule.cfa != FPL_CFA_REG || i >= FRAMES_MAX) {
		frames->is_other = true;
		return 0;
	}
	if (i == frames->nr) {
		frames->list[i].rule = packed.rule;
		frames->list[frames->nr++].bytes = 0;
	}
	frames->list[i].bytes += row->end - row->start;
	return 0;
}

/*
 * The rule of the whole frame: the rule of the most bytes. The code before it and behind it has
 * less of a frame. Where code has more of one, both frames may have calls, and one rule is not
 * enough. NULL: there is no such rule.
 */
static const struct fpl_rule *whole_frame(const struct frames *frames)
{
	const struct fpl_rule *rule;
	size_t most = 0;

	if (!frames->nr || frames->is_other)
		return NULL;
	for (size_t i = 1; i < frames->nr; i++)
		if (frames->list[i].bytes > frames->list[most].bytes)
			most = i;
	rule = &frames->list[most].rule;
	for (size_t i = 0; i < frames->nr; i++)
		if (frames->list[i].rule.regs == rule->regs &&
		    frames->list[i].rule.cfa_off > rule->cfa_off)
			return NULL;
	return fpl_region_rule_holds(rule) ? rule : NULL;
}

/*
 * The region of the function @fde, whose frame is @rule. Its first instructions are walked by what
 * they do if they make that frame; else the region begins far in front of them, and the rule holds
 * for them, too.
 */
static struct fpl_region region_of(struct jit_memory *memory, const struct cfi_fde *fde,
				   const struct fpl_rule *rule)
{
	struct fpl_region region = { .kind = FPL_REGION_FRAME,
				     .end = FPL_REGION_END_MAX,
				     .rule = *rule };
	struct fpl_rule made;

	if (jit_entry_read(memory, fde->start, &made) && !memcmp(&made, rule, sizeof(made))) {
		region.start = fde->start;
		region.end = fde->end;
	}
	return region;
}

static bool is_within(const uint64_t *bounds, size_t nr, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < nr; i++)
		if (start < end && start >= bounds[2 * i] && end <= bounds[2 * i + 1])
			return true;
	return false;
}

/* Add the functions of @section that lie in @bounds [2 * @nr]. */
static void add_functions(struct jit_memory *memory, const struct cfi_section *section,
			  const uint64_t *bounds, size_t nr, struct made_code *made)
{
	struct budget budget;
	struct cfa_machine machine = { .budget = &budget };
	struct cfi_list list = { 0 };
	struct fpl_err err;
	int code;

	budget_init(&budget, "a registered file", &limits);
	code = cfi_list_add(&list, section, &budget, &err);
	for (size_t i = 0; !code && i < list.nr_fdes && made->nr < MADE_PIECES_MAX; i++) {
		const struct cfi_fde *fde = &list.fdes[i];
		struct frames frames = { .nr = 0 };
		const struct fpl_rule *rule;
		uint64_t end;

		if (!is_within(bounds, nr, fde->start, fde->end))
			continue;
		code = cfa_program_run(&machine, &list.cies[fde->cie], fde, fde->start, fde->end,
				       count_row, &frames, &end, &err);
		rule = code || end < fde->end ? NULL : whole_frame(&frames);
		if (rule)
			made->pieces[made->nr++] = (struct made_piece){
				.start = fde->start,
				.end = fde->end,
				.region = region_of(memory, fde, rule),
			};
		if (code > 0)
			code = 0; /* one function is malformed */
	}
	cfi_list_fini(&list);
}

/* The bytes of the section @name of @file; ret->bytes is NULL where they are not there. */
static void read_cfi(const struct jit_file *file, const char *name, enum cfi_source source,
		     struct cfi_section *ret)
{
	Elf64_Shdr header;
	uint64_t addr = 0;

	*ret = (struct cfi_section){ .source = source, .terminator_off = SIZE_MAX };
	for (uint32_t i = 0; !addr && jit_file_section(file, i, &header); i++)
		if (jit_file_is_named(file, &header, name))
			addr = jit_file_bytes(file, &header);
	if (!addr || !header.sh_size || header.sh_size > CFI_BYTES_MAX)
		return;
	ret->size = header.sh_size;
	ret->vaddr = header.sh_addr;
	ret->bytes = malloc(ret->size);
	if (ret->bytes && !jit_read(file->memory, addr, ret->bytes, ret->size)) {
		free(ret->bytes);
		ret->bytes = NULL;
	}
}

static void add_file(const struct jit_file *file, const uint64_t *bounds, size_t nr,
		     struct made_code *made)
{
	static const struct {
		const char *name;
		enum cfi_source source;
	} kinds[] = { { ".eh_frame", CFI_SOURCE_EH_FRAME },
		      { ".debug_frame", CFI_SOURCE_DEBUG_FRAME } };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct cfi_section section;

		read_cfi(file, kinds[i].name, kinds[i].source, &section);
		if (section.bytes)
			add_functions(file->memory, &section, bounds, nr, made);
		free(section.bytes);
	}
}

int registered_find(struct jit_memory *memory, const uint64_t *bases, size_t nr_bases,
		    const uint64_t *bounds, size_t nr, struct made_code *ret, struct fpl_err *err)
{
	struct jit_files files;
	struct jit_file file;
	int code = -ENOENT;

	*ret = (struct made_code){ .nr = 0 };
	for (size_t i = 0; code && i < nr_bases; i++) {
		code = jit_files_open(memory, bases[i], &files);
		ret->base = bases[i];
	}
	if (code)
		return fpl_fail(err, -ENOENT, "nothing is registered for debuggers");
	while (ret->nr < MADE_PIECES_MAX && jit_files_next(&files, &file))
		add_file(&file, bounds, nr, ret);
	return 0;
}
