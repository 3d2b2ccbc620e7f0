/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/synth/words.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/sorted.h"
#include "unwind/synth/graph.h"

/* A word of an SHT_RELR section is an address, or, odd, a mask of the words behind the last ones.
 */
enum { WORD = 8, MASK_WORDS = 63, CHECK_EVERY = 4096 };

struct reader {
	const struct synth_words_source *source;
	struct synth_words *words;
	struct fpl_err *err;
};

static int word_add(struct reader *reader, uint64_t vaddr, uint64_t value)
{
	const struct synth_words_source *source = reader->source;
	struct synth_words *words = reader->words;

	if (!source->is_wanted(source->ctx, value))
		return 0;

	int code = synth_grow(source->budget, &words->list, &words->room, words->nr,
			      sizeof(*words->list), reader->err);

	if (code == 0)
		words->list[words->nr++] = (struct synth_word){ vaddr, value };
	return code;
}

static int add_rela(struct reader *reader, const uint8_t *bytes, size_t size)
{
	int code = 0;

	for (size_t at = 0; code == 0 && size - at >= sizeof(Elf64_Rela);
	     at += sizeof(Elf64_Rela)) {
		Elf64_Rela rela;

		memcpy(&rela, bytes + at, sizeof(rela));

		uint64_t type = ELF64_R_TYPE(rela.r_info);

		if (type == R_X86_64_RELATIVE || type == R_X86_64_IRELATIVE)
			code = word_add(reader, rela.r_offset, (uint64_t)rela.r_addend);
	}
	return code;
}

/* The word at @vaddr is relocated by what it holds in the file. */
static int add_place(struct reader *reader, uint64_t vaddr)
{
	const struct synth_words_source *source = reader->source;
	uint64_t value;

	if (!source->read(source->ctx, vaddr, &value, sizeof(value)))
		return 0;
	return word_add(reader, vaddr, value);
}

/* gABI, "Relative relocation table": each mask is of the 63 words behind what came before. */
static int add_relr(struct reader *reader, const uint8_t *bytes, size_t size)
{
	uint64_t place = 0;
	int code = 0;

	for (size_t at = 0; code == 0 && size - at >= WORD; at += WORD) {
		uint64_t word;

		memcpy(&word, bytes + at, sizeof(word));
		if (at / WORD % CHECK_EVERY == 0)
			code = budget_check(reader->source->budget, reader->err);
		if (code)
			break;
		if (!(word & 1)) {
			code = add_place(reader, word);
			place = word + WORD;
			continue;
		}
		for (unsigned i = 0; i < MASK_WORDS && code == 0; i++)
			if (word >> (i + 1) & 1)
				code = add_place(reader, place + (uint64_t)i * WORD);
		place += MASK_WORDS * WORD;
	}
	return code;
}

static int by_vaddr(const void *a, const void *b)
{
	const struct synth_word *left = a, *right = b;

	return left->vaddr < right->vaddr ? -1 : left->vaddr > right->vaddr;
}

int synth_words_read(const struct synth_words_source *source, struct synth_words *ret,
		     struct fpl_err *err)
{
	const struct elf_file *elf = source->elf;
	struct reader reader = { .source = source, .words = ret, .err = err };
	int code = 0;

	*ret = (struct synth_words){ 0 };
	for (size_t i = 0; i < elf->nr_sections && code == 0; i++) {
		const struct elf_section *section = &elf->sections[i];
		AUTO_FREE uint8_t *bytes = NULL;
		size_t size, max = (size_t)budget_memory_left(source->budget);

		if (!(section->flags & SHF_ALLOC) ||
		    (section->type != SHT_RELA && section->type != SHT_RELR))
			continue;
		code = elf_file_section_bytes(elf, section, max, &bytes, &size, NULL);
		if (code == -ENOMEM)
			return fpl_fail(err, code, "%s: out of memory", elf->name);
		if (code == 0)
			code = section->type == SHT_RELA ? add_rela(&reader, bytes, size)
							 : add_relr(&reader, bytes, size);
		else
			code = 0; /* it cannot be read: nothing is known of it */
	}
	if (ret->nr)
		qsort(ret->list, ret->nr, sizeof(*ret->list), by_vaddr);
	return code;
}

void synth_words_fini(struct synth_words *words)
{
	free(words->list);
	*words = (struct synth_words){ 0 };
}

const struct synth_word *synth_words_find(const struct synth_words *words, uint64_t vaddr)
{
	size_t nr = SORTED_UP_TO(words->list, vaddr, words->nr, vaddr);

	return nr > 0 && words->list[nr - 1].vaddr == vaddr ? &words->list[nr - 1] : NULL;
}
