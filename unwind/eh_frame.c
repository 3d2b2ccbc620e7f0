/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/eh_frame.h"

#include <errno.h>
#include <stdlib.h>

/* Often enough to keep the time limit, too rarely to cost anything. */
enum { CHECK_EVERY_FDES = 4096 };

/* Letters of an augmentation, the NUL included; the longest known one is "zPLRS". */
enum { AUGMENTATION_MAX = 64 };

/* Length, CIE pointer, start, size, size of the augmentation data. */
enum { USUAL_HEAD_SIZE = 17 };

/* The mean over libc, python3, gdb, cc1 and libLLVM is 39 to 53 bytes; unused memory is not
 * touched. */
enum { FDE_USUAL_SIZE = 36 };

/* The header of an entry, whatever it is. */
struct entry {
	size_t off;	 /* of its length field */
	size_t end;	 /* offset behind it */
	size_t id_off;	 /* of its CIE id or pointer */
	uint64_t id;	 /* as read */
	size_t body_off; /* behind the id */
	bool wide;	 /* 64-bit DWARF */
};

static uint64_t address_of(const struct cfi_section *section, const uint8_t *pos)
{
	return section->vaddr + (uint64_t)(pos - section->bytes);
}

/* The number at the cursor in @format (low nibble of a DW_EH_PE_*), sign-extended where signed. */
static uint64_t read_format(struct cursor *c, uint8_t format, uint8_t address_size)
{
	switch (format) {
	case PE_ABSPTR:
		return cursor_uint(c, address_size);
	case PE_SIGNED:
		return address_size == 4 ? (uint64_t)(int32_t)cursor_u32(c) : cursor_u64(c);
	case PE_ULEB128:
		return cursor_uleb(c);
	case PE_SLEB128:
		return (uint64_t)cursor_sleb(c);
	case PE_UDATA2:
		return cursor_u16(c);
	case PE_SDATA2:
		return (uint64_t)(int16_t)cursor_u16(c);
	case PE_UDATA4:
		return cursor_u32(c);
	case PE_SDATA4:
		return (uint64_t)(int32_t)cursor_u32(c);
	case PE_UDATA8:
	case PE_SDATA8:
		return cursor_u64(c);
	default:
		cursor_fail(c);
		return 0;
	}
}

/* The word at @vaddr of the file: the target of an indirect pointer before relocation. */
static uint64_t read_indirect(struct cursor *c, const struct cfi_section *section, uint64_t vaddr)
{
	const struct elf_segment *load =
		section->elf ? elf_file_load_at(section->elf, vaddr, sizeof(uint64_t)) : NULL;
	uint64_t value;

	if (!load || elf_file_read(section->elf, load->off + (vaddr - load->vaddr), &value,
				   sizeof(value), NULL)) {
		cursor_fail(c);
		return 0;
	}
	return value;
}

uint64_t cfi_pointer(struct cursor *c, const struct cfi_section *section, uint8_t encoding,
		     uint8_t address_size, uint64_t func_vaddr)
{
	uint64_t at = address_of(section, c->pos);
	uint64_t base = 0;
	uint64_t value;

	switch (encoding & PE_RELATION) {
	case PE_ABSPTR:
		break;
	case PE_PCREL:
		base = at;
		break;
	case PE_TEXTREL:
		base = section->text_vaddr;
		break;
	case PE_DATAREL:
		base = section->data_vaddr;
		break;
	case PE_FUNCREL:
		base = func_vaddr;
		break;
	case PE_ALIGNED:
		cursor_skip(c, -at & (address_size - 1u));
		return cursor_uint(c, address_size);
	default:
		cursor_fail(c);
		return 0;
	}
	value = base + read_format(c, encoding & PE_FORMAT, address_size);
	if (address_size == 4)
		value = (uint32_t)value;
	if ((encoding & PE_INDIRECT) && !c->bad)
		value = read_indirect(c, section, value);
	return c->bad ? 0 : value;
}

/*
 * Read the entry at @off. Returns 1 for an entry, 0 at a terminator, -1 if the section is malformed
 * from here on.
 */
static int entry_read(const struct cfi_section *section, size_t off, struct entry *ret)
{
	struct cursor c = cursor_make(section->bytes + off, section->size - off);
	uint64_t length = cursor_u32(&c);

	*ret = (struct entry){ .off = off, .end = off + 4 };
	if (c.bad)
		return -1;
	if (length == 0)
		return 0;
	if (length == UINT32_MAX) {
		ret->wide = true;
		length = cursor_u64(&c);
	} else if (length >= 0xfffffff0) {
		return -1;
	}
	if (c.bad || length > cursor_left(&c))
		return -1;
	ret->id_off = (size_t)(c.pos - section->bytes);
	ret->end = ret->id_off + (size_t)length;
	c.end = c.pos + length;
	ret->id = cursor_uint(&c, ret->wide ? 8 : 4);
	ret->body_off = (size_t)(c.pos - section->bytes);
	if (c.bad) /* too short for its id: skipped by the caller as a bad entry */
		ret->body_off = ret->end;
	return 1;
}

static bool entry_is_cie(const struct cfi_section *section, const struct entry *entry)
{
	if (section->source == CFI_SOURCE_EH_FRAME)
		return entry->id == 0;
	return entry->id == (entry->wide ? UINT64_MAX : UINT32_MAX);
}

/* Read the letters of an augmentation and their data. Sets cie->bad if they are unknown. */
static void cie_read_augmentation(struct cfi_cie *cie, struct cursor *c, const char *letters)
{
	const uint8_t *end = NULL;

	if (letters[0] == 'z') {
		uint64_t size = cursor_uleb(c);

		cie->sized = true;
		letters++;
		if (size > cursor_left(c)) {
			cursor_fail(c);
			return;
		}
		end = c->pos + size;
	}
	for (; *letters; letters++) {
		uint8_t encoding;

		switch (*letters) {
		case 'R':
			cie->fde_encoding = cursor_u8(c);
			continue;
		case 'P':
			encoding = cursor_u8(c);
			/* Step over the pointer: unwinding does not need its target. */
			if (encoding != PE_OMIT)
				cfi_pointer(c, cie->section, encoding & (uint8_t)~PE_INDIRECT,
					    cie->address_size, 0);
			continue;
		case 'L':
			cursor_u8(c);
			continue;
		case 'S':
			cie->signal = true;
			continue;
		case 'B':
		case 'G':
			continue;
		default:
			break;
		}
		/* An unknown letter: its data can be skipped only if their size is given. */
		cie->bad |= !cie->sized;
		break;
	}
	if (end && !c->bad) {
		cie->bad |= c->pos > end;
		c->pos = end;
	}
}

static void cie_parse(struct cfi_cie *cie, const struct cfi_section *section,
		      const struct entry *entry)
{
	struct cursor c =
		cursor_make(section->bytes + entry->body_off, entry->end - entry->body_off);
	uint8_t version = cursor_u8(&c);
	const char *letters = cursor_text(&c, AUGMENTATION_MAX);

	cie->address_size = 8;
	cie->fde_encoding = PE_ABSPTR;
	if (c.bad || (version != 1 && version != 3 && version != 4)) {
		cie->bad = true;
		return;
	}
	if (version == 4) {
		cie->address_size = cursor_u8(&c);
		cie->segment_size = cursor_u8(&c);
	}
	if ((cie->address_size != 4 && cie->address_size != 8) || cie->segment_size > 8) {
		cie->bad = true;
		return;
	}
	/* gcc 2: a pointer to an exception table, before the alignment factors. */
	if (letters[0] == 'e' && letters[1] == 'h') {
		cursor_skip(&c, cie->address_size);
		letters += 2;
	}
	cie->code_align = cursor_uleb(&c);
	cie->data_align = cursor_sleb(&c);
	cie->ra_column = version == 1 ? cursor_u8(&c) : cursor_uleb(&c);
	cie_read_augmentation(cie, &c, letters);
	cie->bad |= c.bad;
	cie->code_off = (uint32_t)(c.pos - section->bytes);
	cie->code_end = (uint32_t)entry->end;
}

/* Make room for one more CIE, in the array and in the table that finds it. */
static int cies_grow(struct cfi_list *list, struct budget *budget, struct fpl_err *err)
{
	int code = budget_memory(budget, 4 * sizeof(struct id_slot), err);

	return code ? code
		    : budget_grow(budget, &list->cies, &list->room_cies, list->nr_cies,
				  sizeof(*list->cies), err);
}

/* The CIE at @off of @section, parsed when first asked for; malformed ones are marked bad. */
static int cie_at(struct cfi_list *list, const struct cfi_section *section, uint32_t off,
		  struct budget *budget, uint32_t *ret, struct fpl_err *err)
{
	struct entry entry;

	if (list->nr_cies > 0) {
		const struct cfi_cie *last = &list->cies[*ret < list->nr_cies ? *ret : 0];

		if (last->section == section && last->off == off) {
			*ret = (uint32_t)(last - list->cies);
			return 0;
		}
	}

	uint64_t key = (uint64_t)(uintptr_t)section * 31 + off;
	uint64_t hash = key * 0x9e3779b97f4a7c15ull >> 32;
	uint32_t at = ID_TABLE_FIND(&list->cie_table, hash, i,
				    list->cies[i].section == section && list->cies[i].off == off);

	if (at != ID_TABLE_NONE) {
		*ret = at;
		return 0;
	}

	int code = cies_grow(list, budget, err);

	if (code)
		return code;
	at = (uint32_t)list->nr_cies;
	if (id_table_add(&list->cie_table, hash, at))
		return fpl_fail(err, -ENOMEM, "%s: out of memory", budget->name);

	struct cfi_cie *cie = &list->cies[list->nr_cies++];

	*cie = (struct cfi_cie){ .section = section, .off = off };
	if (entry_read(section, off, &entry) == 1 && entry_is_cie(section, &entry))
		cie_parse(cie, section, &entry);
	else
		cie->bad = true;
	*ret = at;
	return 0;
}

/* Make room for more FDEs: at first for the usual number in @section_size bytes. */
static int fdes_grow(struct cfi_list *list, size_t section_size, struct budget *budget,
		     struct fpl_err *err)
{
	size_t cap = list->cap_fdes ? 2 * list->cap_fdes : section_size / FDE_USUAL_SIZE + 16;

	return budget_reserve(budget, &list->fdes, &list->cap_fdes, cap, sizeof(*list->fdes), err);
}

/* Parse the address range and the instructions of an FDE; false if malformed. */
static bool fde_parse(struct cfi_fde *fde, const struct cfi_cie *cie, const struct entry *entry)
{
	const struct cfi_section *section = cie->section;
	struct cursor c =
		cursor_make(section->bytes + entry->body_off, entry->end - entry->body_off);
	uint64_t size;

	cursor_skip(&c, cie->segment_size);
	fde->start = cfi_pointer(&c, section, cie->fde_encoding, cie->address_size, 0);
	if ((cie->fde_encoding & PE_RELATION) == PE_ALIGNED)
		size = cursor_uint(&c, cie->address_size);
	else
		size = read_format(&c, cie->fde_encoding & PE_FORMAT, cie->address_size);
	if (cie->sized)
		cursor_skip(&c, cursor_uleb(&c));
	/* The format may be a signed one: a negative size is malformed. */
	if (c.bad || size == 0 || size > INT64_MAX ||
	    __builtin_add_overflow(fde->start, size, &fde->end))
		return false;
	fde->off = (uint32_t)entry->off;
	fde->code_off = (uint32_t)(c.pos - section->bytes);
	fde->code_end = (uint32_t)entry->end;
	return true;
}

/* Place of an FDE's CIE, as the section's format says; false if it is outside. */
static bool fde_cie_off(const struct cfi_section *section, const struct entry *entry, uint32_t *ret)
{
	uint64_t off = entry->id;

	if (section->source == CFI_SOURCE_EH_FRAME) {
		if (off > entry->id_off)
			return false;
		off = entry->id_off - off;
	}
	*ret = (uint32_t)off;
	return off < section->size;
}

/*
 * Parse the FDE at @off if it has the form that gcc, clang and rustc write, and the same CIE as the
 * one before: pc-relative in 32 bits, augmentation data of less than 128 bytes. Returns the offset
 * behind it, or 0 for any other form, which the general parser then handles.
 */
static size_t fde_parse_usual(const struct cfi_section *section, size_t off,
			      const struct cfi_cie *cie, uint32_t cie_idx, struct cfi_fde *fde)
{
	const uint8_t *bytes = section->bytes + off;
	struct {
		uint32_t length, id;
		int32_t start, size;
		uint8_t augmentation;
	} head;

	if (section->size - off < USUAL_HEAD_SIZE)
		return 0;
	memcpy(&head, bytes, USUAL_HEAD_SIZE);

	size_t code_off = off + USUAL_HEAD_SIZE + head.augmentation;
	size_t end = off + sizeof(head.length) + head.length;

	if (head.length >= 0xfffffff0 || end > section->size || head.augmentation >= 0x80 ||
	    code_off > end || head.size <= 0 || head.id == 0 ||
	    off + sizeof(head.length) - head.id != cie->off)
		return 0;
	*fde = (struct cfi_fde){
		.start = section->vaddr + off + 8 + (uint64_t)(int64_t)head.start,
		.off = (uint32_t)off,
		.code_off = (uint32_t)code_off,
		.code_end = (uint32_t)end,
		.cie = cie_idx,
	};
	fde->end = fde->start + (uint64_t)head.size;
	return fde->end > fde->start ? end : 0;
}

static bool cie_is_usual(const struct cfi_cie *cie)
{
	return !cie->bad && cie->sized && cie->fde_encoding == (PE_PCREL | PE_SDATA4) &&
	       cie->address_size == 8 && cie->segment_size == 0 &&
	       cie->section->source == CFI_SOURCE_EH_FRAME;
}

int cfi_list_add(struct cfi_list *list, const struct cfi_section *section, struct budget *budget,
		 struct fpl_err *err)
{
	uint32_t cie_idx = 0;
	bool usual = false; /* the CIE cie_idx is of this section, and allows fde_parse_usual() */
	struct entry entry;

	for (size_t off = 0; off < section->size; off = entry.end) {
		if (usual && list->nr_fdes < list->cap_fdes &&
		    list->nr_fdes % CHECK_EVERY_FDES != 0) {
			entry.end = fde_parse_usual(section, off, &list->cies[cie_idx], cie_idx,
						    &list->fdes[list->nr_fdes]);
			if (entry.end) {
				list->nr_fdes++;
				continue;
			}
		}

		int kind = entry_read(section, off, &entry);
		uint32_t cie_off;
		int code;

		if (kind < 0 || (kind == 0 && off >= section->terminator_off))
			break;
		if (kind == 0 || entry_is_cie(section, &entry))
			continue;
		if (list->nr_fdes == list->cap_fdes) {
			code = fdes_grow(list, section->size, budget, err);
			if (code)
				return code;
		}
		if ((list->nr_fdes + list->nr_bad) % CHECK_EVERY_FDES == 0) {
			code = budget_check(budget, err);
			if (code)
				return code;
		}
		if (!fde_cie_off(section, &entry, &cie_off)) {
			list->nr_bad++;
			continue;
		}
		code = cie_at(list, section, cie_off, budget, &cie_idx, err);
		if (code)
			return code;

		usual = cie_is_usual(&list->cies[cie_idx]);

		struct cfi_fde *fde = &list->fdes[list->nr_fdes];

		fde->cie = cie_idx;
		if (list->cies[cie_idx].bad || !fde_parse(fde, &list->cies[cie_idx], &entry))
			list->nr_bad++;
		else
			list->nr_fdes++;
	}
	return 0;
}

void cfi_list_fini(struct cfi_list *list)
{
	free(list->cies);
	free(list->fdes);
	id_table_fini(&list->cie_table);
}
