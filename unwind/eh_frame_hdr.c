/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/eh_frame_hdr.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>

#include "base/cleanup.h"

enum { HDR_VERSION = 1, HDR_POINTERS_OFF = 4, TABLE_ENCODING = PE_DATAREL | PE_SDATA4 };

/* Read [vaddr, vaddr + size) of the file's PT_LOADs into a new buffer. */
static int read_vaddr(const struct elf_file *elf, struct budget *budget, uint64_t vaddr,
		      uint64_t size, uint8_t **ret, struct fpl_err *err)
{
	const struct elf_segment *load = elf_file_load_at(elf, vaddr, size);
	int code;

	if (!load)
		return fpl_fail(err, -EINVAL, "%s: PT_GNU_EH_FRAME points outside the segments",
				elf->name);
	code = budget_memory(budget, size, err);
	if (code)
		return code;

	AUTO_FREE uint8_t *bytes = malloc(size ? size : 1);

	if (!bytes)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", elf->name);
	code = elf_file_read(elf, load->off + (vaddr - load->vaddr), bytes, size, err);
	if (code)
		return code;
	*ret = TAKE_PTR(bytes);
	return 0;
}

/* The highest FDE in the search table, as an offset from .eh_frame; 0 if there is no table. */
static size_t last_fde_off(struct cursor *c, uint64_t nr, uint64_t hdr_vaddr, uint64_t vaddr)
{
	size_t last = 0;

	for (uint64_t i = 0; i < nr && cursor_left(c) >= 8; i++) {
		cursor_u32(c); /* where the FDE's code begins */

		uint64_t fde_vaddr = hdr_vaddr + (uint64_t)(int32_t)cursor_u32(c);

		if (fde_vaddr > vaddr && fde_vaddr - vaddr > last)
			last = (size_t)(fde_vaddr - vaddr);
	}
	return last;
}

int eh_frame_hdr_find(const struct elf_file *elf, struct budget *budget, struct cfi_section *ret,
		      struct fpl_err *err)
{
	const struct elf_segment *segment = NULL;

	for (size_t i = 0; i < elf->nr_segments && !segment; i++)
		if (elf->segments[i].type == PT_GNU_EH_FRAME)
			segment = &elf->segments[i];
	if (!segment)
		return fpl_fail(err, -ENODATA, "%s: no PT_GNU_EH_FRAME", elf->name);

	AUTO_FREE uint8_t *hdr = NULL;
	int code = read_vaddr(elf, budget, segment->vaddr, segment->file_size, &hdr, err);

	if (code)
		return code;

	struct cfi_section section = {
		.bytes = hdr,
		.size = segment->file_size,
		.vaddr = segment->vaddr,
		.data_vaddr = segment->vaddr, /* the header is its own base */
		.elf = elf,
	};
	struct cursor c = cursor_make(hdr, section.size);
	uint8_t version = cursor_u8(&c);
	uint8_t ptr_encoding = cursor_u8(&c);
	uint8_t count_encoding = cursor_u8(&c);
	uint8_t table_encoding = cursor_u8(&c);
	uint64_t vaddr = cfi_pointer(&c, &section, ptr_encoding, 8, 0);

	if (c.bad || version != HDR_VERSION)
		return fpl_fail(err, -EINVAL, "%s: .eh_frame_hdr of %zu bytes, version %u: %s",
				elf->name, section.size, version, "makes no sense");
	if (count_encoding != PE_OMIT && table_encoding == TABLE_ENCODING) {
		uint64_t nr = cfi_pointer(&c, &section, count_encoding, 8, 0);

		section.terminator_off = last_fde_off(&c, nr, segment->vaddr, vaddr);
	}

	const struct elf_segment *load = elf_file_load_at(elf, vaddr, 1);

	if (!load)
		return fpl_fail(err, -EINVAL,
				"%s: .eh_frame_hdr+%#x: .eh_frame at %#" PRIx64 " is in no segment",
				elf->name, HDR_POINTERS_OFF, vaddr);
	section.vaddr = vaddr;
	section.data_vaddr = 0;
	section.size = (size_t)(load->vaddr + load->file_size - vaddr);
	section.source = CFI_SOURCE_EH_FRAME;
	code = read_vaddr(elf, budget, vaddr, section.size, &section.bytes, err);
	if (code)
		return code;
	*ret = section;
	return 0;
}
