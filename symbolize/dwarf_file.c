/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/dwarf_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include <elf.h>

/* The work any file may take, and how often the whole of one may be looked at. */
#define WORK_MIN   (1ull << 22)
#define WORK_TIMES 8u

static const char *const names[DWARF_SECTION_COUNT] = {
	[DWARF_INFO] = ".debug_info",
	[DWARF_ABBREV] = ".debug_abbrev",
	[DWARF_ARANGES] = ".debug_aranges",
	[DWARF_LINE] = ".debug_line",
	[DWARF_STR] = ".debug_str",
	[DWARF_LINE_STR] = ".debug_line_str",
	[DWARF_STR_OFFSETS] = ".debug_str_offsets",
	[DWARF_ADDR] = ".debug_addr",
	[DWARF_RANGES] = ".debug_ranges",
	[DWARF_RNGLISTS] = ".debug_rnglists",
};

int dwarf_fail(const struct dwarf_file *file, enum dwarf_section section, uint64_t off, int code,
	       const char *what, struct fpl_err *err)
{
	return fpl_fail(err, code, "%s: %s+%#" PRIx64 ": %s", file->elf->name, names[section], off,
			what);
}

bool dwarf_file_is_there(const struct elf_file *elf)
{
	const struct elf_section *info = elf_file_section(elf, names[DWARF_INFO]);

	return info && info->type != SHT_NOBITS && info->size;
}

int dwarf_file_init(struct dwarf_file *file, const struct elf_file *elf, struct fpl_err *err)
{
	struct cursor c;

	*file = (struct dwarf_file){
		.elf = elf,
		.bytes_left = DWARF_BYTES_MAX,
		.work_left = WORK_MIN,
	};
	if (!dwarf_file_is_there(elf))
		return fpl_fail(err, -ENOENT, "%s: no debugging information", elf->name);
	return dwarf_section(file, DWARF_INFO, &c, err);
}

void dwarf_file_fini(struct dwarf_file *file)
{
	for (size_t i = 0; i < DWARF_SECTION_COUNT; i++)
		free(file->sections[i].bytes);
	*file = (struct dwarf_file){ .elf = NULL };
}

/* Not at NULL: no offset may be added to that. */
static struct cursor nothing(void)
{
	return cursor_make((const uint8_t *)"", 0);
}

int dwarf_section(struct dwarf_file *file, enum dwarf_section section, struct cursor *ret,
		  struct fpl_err *err)
{
	struct dwarf_bytes *bytes = &file->sections[section];
	const struct elf_section *header;
	int code = 0;

	*ret = bytes->bytes ? cursor_make(bytes->bytes, bytes->size) : nothing();
	if (bytes->is_read)
		return 0;
	bytes->is_read = true;
	header = elf_file_section(file->elf, names[section]);
	if (!header || header->type == SHT_NOBITS)
		return 0;
	code = elf_file_section_bytes(file->elf, header, file->bytes_left, &bytes->bytes,
				      &bytes->size, err);
	if (code)
		return code;
	file->bytes_left -= bytes->size;
	file->work_left += bytes->size * WORK_TIMES;
	*ret = cursor_make(bytes->bytes, bytes->size);
	return 0;
}

struct cursor dwarf_at(struct dwarf_file *file, enum dwarf_section section, uint64_t off)
{
	struct cursor c;

	if (dwarf_section(file, section, &c, NULL))
		c = nothing();
	cursor_skip(&c, off);
	return c;
}

const char *dwarf_text(struct dwarf_file *file, enum dwarf_section section, uint64_t off)
{
	struct cursor c = dwarf_at(file, section, off);

	return c.bad ? NULL : cursor_text(&c, DWARF_TEXT_MAX);
}

bool dwarf_is_code(const struct dwarf_file *file, uint64_t vaddr)
{
	for (size_t i = 0; i < file->elf->nr_segments; i++) {
		const struct elf_segment *segment = &file->elf->segments[i];

		if (segment->type == PT_LOAD && (segment->flags & PF_X) &&
		    vaddr - segment->vaddr < segment->mem_size)
			return true;
	}
	return false;
}

int dwarf_work(struct dwarf_file *file, uint64_t nr, struct fpl_err *err)
{
	if (nr > file->work_left)
		return fpl_fail(err, -E2BIG,
				"%s: its debugging information takes more work than its size "
				"warrants",
				file->elf->name);
	file->work_left -= nr;
	return 0;
}

const uint8_t *dwarf_unit_length(struct cursor *c, uint8_t *ret_offset_size)
{
	uint64_t length = cursor_u32(c);

	*ret_offset_size = 4;
	if (length == UINT32_MAX) {
		*ret_offset_size = 8;
		length = cursor_u64(c);
	} else if (length >= 0xfffffff0u) { /* reserved */
		cursor_fail(c);
	}
	if (c->bad || length > cursor_left(c)) {
		cursor_fail(c);
		return NULL;
	}
	return c->pos + length;
}
