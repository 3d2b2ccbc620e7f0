/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/synth/code.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/large.h"
#include "unwind/synth/graph.h"

enum { STRETCH = 256 << 10 }; /* stays in a core's own cache */
enum { BLOCK = 64 << 10 };

static int by_start(const void *a, const void *b)
{
	const struct synth_code *left = a, *right = b;

	return left->start < right->start ? -1 : left->start > right->start;
}

/* A section header may lie: only what a segment maps executable is code. */
static bool is_code(const struct elf_file *elf, const struct elf_section *section)
{
	const struct elf_segment *load;

	if (!(section->flags & SHF_EXECINSTR) || !(section->flags & SHF_ALLOC) ||
	    section->type != SHT_PROGBITS || !section->size)
		return false;
	load = elf_file_load_at(elf, section->vaddr, section->size);
	return load && load->flags & PF_X;
}

static int list_code(struct synth_codes *codes, struct fpl_err *err)
{
	const struct elf_file *elf = codes->elf;

	codes->list = calloc(elf->nr_sections + elf->nr_segments + 1, sizeof(*codes->list));
	if (!codes->list)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", elf->name);
	for (size_t i = 0; i < elf->nr_sections; i++) {
		const struct elf_section *section = &elf->sections[i];

		if (is_code(elf, section))
			codes->list[codes->nr++] =
				(struct synth_code){ section->vaddr, section->size, section->off };
	}
	for (size_t i = 0; i < elf->nr_segments && elf->nr_sections == 0; i++) {
		const struct elf_segment *segment = &elf->segments[i];

		if (segment->type == PT_LOAD && (segment->flags & PF_X) && segment->file_size)
			codes->list[codes->nr++] =
				(struct synth_code){ segment->vaddr, segment->file_size,
						     segment->off };
	}
	if (codes->nr)
		qsort(codes->list, codes->nr, sizeof(*codes->list), by_start);
	for (size_t i = 1; i < codes->nr; i++)
		if (codes->list[i].start < codes->list[i - 1].start + codes->list[i - 1].size)
			return fpl_fail(err, -EINVAL, "%s: executable sections overlap", elf->name);
	return 0;
}

int synth_codes_open(struct synth_codes *codes, const struct elf_file *elf, struct budget *budget,
		     struct fpl_err *err)
{
	*codes = (struct synth_codes){ .elf = elf, .budget = budget };
	return list_code(codes, err);
}

void synth_codes_fini(struct synth_codes *codes)
{
	for (size_t i = 0; i < codes->nr_blocks; i++)
		free(codes->blocks[i]);
	free(codes->blocks);
	free(codes->list);
	free(codes->stretch);
}

static int stretch_room(struct synth_codes *codes, uint64_t size, struct fpl_err *err)
{
	int status;

	if (size <= codes->room)
		return 0;
	status = budget_memory(codes->budget, size - codes->room, err);
	if (status)
		return status;
	free(codes->stretch);
	codes->stretch = malloc(size);
	codes->room = codes->stretch ? size : 0;
	return codes->stretch ? 0 : fpl_fail(err, -ENOMEM, "%s: out of memory", codes->elf->name);
}

static bool has_stretch(const struct synth_codes *codes, uint64_t start, uint64_t size)
{
	return start >= codes->stretch_at && start - codes->stretch_at <= codes->stretch_size &&
	       codes->stretch_size - (start - codes->stretch_at) >= size;
}

int synth_codes_bytes(struct synth_codes *codes, const struct synth_code *code, uint64_t start,
		      uint64_t size, const uint8_t **ret, struct fpl_err *err)
{
	uint64_t left = code->size - (start - code->start), wanted = left;
	int status;

	if (!has_stretch(codes, start, size)) {
		if (wanted > STRETCH)
			wanted = size > STRETCH ? size : STRETCH;
		codes->stretch_size = 0;
		status = stretch_room(codes, wanted, err);
		if (status == 0)
			status = elf_file_read(codes->elf, code->off + (start - code->start),
					       codes->stretch, wanted, err);
		if (status)
			return status;
		codes->stretch_at = start;
		codes->stretch_size = wanted;
	}
	*ret = codes->stretch + (start - codes->stretch_at);
	return 0;
}

static int block_room(struct synth_codes *codes, uint64_t size, uint8_t **ret, struct fpl_err *err)
{
	uint64_t wanted = size > BLOCK ? size : BLOCK;
	int status;

	if (size > codes->block_left) {
		status = budget_grow(codes->budget, &codes->blocks, &codes->room_blocks,
				     codes->nr_blocks, sizeof(*codes->blocks), err);
		if (status == 0)
			status = budget_memory(codes->budget, wanted, err);
		if (status)
			return status;
		codes->block_next = large_alloc(wanted);
		codes->block_left = codes->block_next ? wanted : 0;
		if (!codes->block_next)
			return fpl_fail(err, -ENOMEM, "%s: out of memory", codes->elf->name);
		codes->blocks[codes->nr_blocks++] = codes->block_next;
	}
	*ret = codes->block_next;
	codes->block_next += size;
	codes->block_left -= size;
	return 0;
}

int synth_codes_keep(struct synth_codes *codes, const struct synth_code *code, uint64_t start,
		     uint64_t size, const uint8_t **ret, struct fpl_err *err)
{
	const uint8_t *bytes;
	uint8_t *room = NULL;
	int status = block_room(codes, size, &room, err);

	if (status)
		return status;
	*ret = room;
	if (size > STRETCH && !has_stretch(codes, start, size))
		return elf_file_read(codes->elf, code->off + (start - code->start), room, size,
				     err);
	status = synth_codes_bytes(codes, code, start, size, &bytes, err);
	if (status == 0)
		memcpy(room, bytes, size);
	return status;
}
