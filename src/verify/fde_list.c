/* SPDX-License-Identifier: Apache-2.0 */
#include "verify/fde_list.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* A section being read. */
struct section {
	const unsigned char *ident;
	Elf_Data *data;
	uint64_t vaddr;
	enum fde_section where;
	bool terminated; /* a terminator was passed */
};

struct bytes {
	const uint8_t *at, *end;
};

void fde_list_fini(struct fde_list *list)
{
	free(list->ranges);
	memset(list, 0, sizeof(*list));
}

static bool take(struct bytes *bytes, size_t size, uint64_t *ret)
{
	uint64_t value = 0;

	if ((size_t)(bytes->end - bytes->at) < size)
		return false;
	memcpy(&value, bytes->at, size);
	bytes->at += size;
	*ret = value;
	return true;
}

static bool take_leb(struct bytes *bytes, bool is_signed, uint64_t *ret)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		if (bytes->at == bytes->end)
			return false;
		byte = *bytes->at++;
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (is_signed && shift < 64 && (byte & 0x40))
		value |= UINT64_MAX << shift;
	*ret = value;
	return true;
}

/* The value format of a DW_EH_PE encoding (LSB Core 5.0, section 10.5.1). */
static bool take_format(struct bytes *bytes, uint8_t encoding, uint64_t *ret)
{
	bool ok;

	switch (encoding & 0x0f) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return take(bytes, 8, ret);
	case DW_EH_PE_uleb128:
		return take_leb(bytes, false, ret);
	case DW_EH_PE_sleb128:
		return take_leb(bytes, true, ret);
	case DW_EH_PE_udata2:
		return take(bytes, 2, ret);
	case DW_EH_PE_udata4:
		return take(bytes, 4, ret);
	case DW_EH_PE_sdata2:
		ok = take(bytes, 2, ret);
		*ret = ok ? (uint64_t)(int64_t)(int16_t)*ret : 0;
		return ok;
	case DW_EH_PE_sdata4:
		ok = take(bytes, 4, ret);
		*ret = ok ? (uint64_t)(int64_t)(int32_t)*ret : 0;
		return ok;
	default:
		return false;
	}
}

/* The pointer encoding of the FDEs of @cie: the operand of 'R', which only a 'z' may precede
 * safely. */
static bool cie_encoding(const Dwarf_CIE *cie, uint8_t *ret)
{
	const char *letter = cie->augmentation;
	struct bytes data;
	uint64_t skipped;

	*ret = DW_EH_PE_absptr;
	if (*letter != 'z' || cie->augmentation_data == NULL)
		return *letter == '\0' || strcmp(letter, "eh") == 0;
	data.at = cie->augmentation_data;
	data.end = data.at + cie->augmentation_data_size;
	for (letter++; *letter != '\0'; letter++) {
		if (*letter == 'R')
			return data.at < data.end && (*ret = *data.at, true);
		if (*letter == 'L' && data.at < data.end) {
			data.at++;
		} else if (*letter == 'P' && data.at < data.end) {
			uint8_t encoding = *data.at++;

			if (!take_format(&data, encoding, &skipped))
				return false;
		} else if (*letter != 'S' && *letter != 'B') {
			return true; /* unknown: the data behind it is unreadable, and not needed */
		}
	}
	return true;
}

static int list_append(struct fde_list *list, struct fde_range range)
{
	if (array_reserve(&list->ranges, sizeof(*list->ranges), &list->capacity, list->nr + 1))
		return -ENOMEM;
	list->ranges[list->nr++] = range;
	return 0;
}

static bool fde_range(const struct section *section, const Dwarf_FDE *fde, uint8_t encoding,
		      struct fde_range *ret)
{
	struct bytes bytes = { .at = fde->start, .end = fde->end };
	uint64_t at =
		section->vaddr + (uint64_t)(fde->start - (const uint8_t *)section->data->d_buf);
	uint64_t start, size;

	if (!take_format(&bytes, encoding, &start) || !take_format(&bytes, encoding & 0x0f, &size))
		return false;
	switch (encoding & 0xf0) {
	case DW_EH_PE_absptr:
		break;
	case DW_EH_PE_pcrel:
		start += at;
		break;
	default: /* linkers of this system write no other encodings for an FDE */
		return false;
	}
	ret->start = start;
	ret->section = (uint8_t)section->where;
	ret->behind_terminator = section->terminated;
	return !__builtin_add_overflow(start, size, &ret->end) && size != 0;
}

/* The CIE at @off, as the iterator reads it. */
static bool read_cie(const struct section *section, Dwarf_Off off, Dwarf_CIE *ret)
{
	Dwarf_CFI_Entry entry;
	Dwarf_Off next;

	if (dwarf_next_cfi(section->ident, section->data, section->where == FDE_EH_FRAME, off,
			   &next, &entry) != 0 ||
	    !dwarf_cfi_cie_p(&entry))
		return false;
	*ret = entry.cie;
	return true;
}

static int add_fde(struct fde_list *list, const struct section *section, const Dwarf_FDE *fde,
		   Dwarf_Off *cie_off, uint8_t *encoding)
{
	struct fde_range range;

	if (fde->CIE_pointer != *cie_off) { /* neighbours share one: read it once */
		Dwarf_CIE cie;

		if (!read_cie(section, fde->CIE_pointer, &cie) || !cie_encoding(&cie, encoding)) {
			list->nr_unreadable++;
			return 0;
		}
		*cie_off = fde->CIE_pointer;
	}
	if (!fde_range(section, fde, *encoding, &range)) {
		list->nr_unreadable++;
		return 0;
	}
	return list_append(list, range);
}

/* A length of zero ends .eh_frame; linkers leave one in the middle if an object file brought it. */
static bool skip_terminator(struct section *section, Dwarf_Off *off)
{
	uint32_t length;

	if (section->where != FDE_EH_FRAME || *off + sizeof(length) > section->data->d_size)
		return false;
	memcpy(&length, (const char *)section->data->d_buf + *off, sizeof(length));
	if (length != 0)
		return false;
	*off += sizeof(length);
	section->terminated = true;
	return true;
}

int fde_list_add(struct fde_list *list, const unsigned char *ident, Elf_Data *data,
		 uint64_t section_vaddr, enum fde_section where)
{
	struct section section = { ident, data, section_vaddr, where, false };
	Dwarf_Off off = 0, cie_off = UINT64_MAX;
	uint8_t encoding = DW_EH_PE_absptr;
	int rc = 0;

	while (rc == 0) {
		Dwarf_CFI_Entry entry;
		Dwarf_Off next = off;
		int got;

		if (skip_terminator(&section, &off))
			continue;
		got = dwarf_next_cfi(ident, data, where == FDE_EH_FRAME, off, &next, &entry);
		if (got > 0 || (got < 0 && next <= off))
			break; /* the end, or bytes that say no length */
		if (got < 0)
			list->nr_unreadable++;
		else if (!dwarf_cfi_cie_p(&entry))
			rc = add_fde(list, &section, &entry.fde, &cie_off, &encoding);
		off = next;
	}
	return rc;
}

static int by_start(const void *a, const void *b)
{
	const struct fde_range *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

void fde_list_sort(struct fde_list *list)
{
	if (list->nr != 0)
		qsort(list->ranges, list->nr, sizeof(list->ranges[0]), by_start);
}
