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

/* Limit of entries read from PT_DYNAMIC: the longest of Debian 12's libraries have some 80. */
enum { DYNAMIC_MAX = 512 };

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

	int code = budget_grow(source->budget, &words->list, &words->room, words->nr,
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

/* The word at @vaddr is relocated relative to its value in the file. */
static int add_place(struct reader *reader, uint64_t vaddr)
{
	const struct synth_words_source *source = reader->source;
	uint64_t value;

	if (!source->read(source->ctx, vaddr, &value, sizeof(value)))
		return 0;
	return word_add(reader, vaddr, value);
}

/* gABI, "Relative relocation table": each mask is for the 63 words behind the last ones. */
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

static int add_section(struct reader *reader, const struct elf_section *section)
{
	const struct elf_file *elf = reader->source->elf;
	AUTO_FREE uint8_t *bytes = NULL;
	size_t size, max = (size_t)budget_memory_left(reader->source->budget);
	int code;

	if (!(section->flags & SHF_ALLOC) ||
	    (section->type != SHT_RELA && section->type != SHT_RELR))
		return 0;
	code = elf_file_section_bytes(elf, section, max, &bytes, &size, NULL);
	if (code == -ENOMEM)
		return fpl_fail(reader->err, code, "%s: out of memory", elf->name);
	if (code)
		return 0; /* it cannot be read: nothing is known of it */
	return section->type == SHT_RELA ? add_rela(reader, bytes, size)
					 : add_relr(reader, bytes, size);
}

/* gABI, "Dynamic Section": the tags with the place and the size of each table. DT_JMPREL has
 * DT_RELA's entries here. */
static const struct loader_table {
	Elf64_Sxword at_tag, size_tag;
	uint32_t type;
} loader_tables[] = {
	{ DT_RELA, DT_RELASZ, SHT_RELA },
	{ DT_JMPREL, DT_PLTRELSZ, SHT_RELA },
	{ DT_RELR, DT_RELRSZ, SHT_RELR },
};

/* A loader's table as a section; outside all segments, it does not exist. */
static int add_loader_table(struct reader *reader, const struct loader_table *table,
			    const Elf64_Dyn *entries, size_t nr)
{
	const struct elf_file *elf = reader->source->elf;
	struct elf_section section = { .name = "", .type = table->type, .flags = SHF_ALLOC };
	const struct elf_segment *load;

	for (size_t i = 0; i < nr && entries[i].d_tag != DT_NULL; i++) {
		if (entries[i].d_tag == table->at_tag)
			section.vaddr = entries[i].d_un.d_ptr;
		else if (entries[i].d_tag == table->size_tag)
			section.size = entries[i].d_un.d_val;
	}
	load = section.size ? elf_file_load_at(elf, section.vaddr, section.size) : NULL;
	if (!load)
		return 0;
	section.off = load->off + (section.vaddr - load->vaddr);
	return add_section(reader, &section);
}

static int add_dynamic(struct reader *reader)
{
	const struct elf_file *elf = reader->source->elf;
	const struct elf_segment *dynamic = NULL;
	Elf64_Dyn entries[DYNAMIC_MAX];
	size_t nr;
	int code = 0;

	for (size_t i = 0; i < elf->nr_segments && !dynamic; i++) {
		if (elf->segments[i].type == PT_DYNAMIC)
			dynamic = &elf->segments[i];
	}
	if (!dynamic)
		return 0;
	nr = dynamic->file_size / sizeof(*entries);
	if (nr > DYNAMIC_MAX)
		nr = DYNAMIC_MAX;
	if (elf_file_read(elf, dynamic->off, entries, nr * sizeof(*entries), NULL))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(loader_tables) && code == 0; i++)
		code = add_loader_table(reader, &loader_tables[i], entries, nr);
	return code;
}

int synth_words_read(const struct synth_words_source *source, struct synth_words *ret,
		     struct fpl_err *err)
{
	const struct elf_file *elf = source->elf;
	struct reader reader = { .source = source, .words = ret, .err = err };
	int code = 0;

	*ret = (struct synth_words){ 0 };
	for (size_t i = 0; i < elf->nr_sections && code == 0; i++)
		code = add_section(&reader, &elf->sections[i]);
	if (!elf->nr_sections)
		code = add_dynamic(&reader);
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
