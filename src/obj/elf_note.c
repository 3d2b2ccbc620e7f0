/* SPDX-License-Identifier: Apache-2.0 */
#include "obj/elf_note.h"

#include <elf.h>
#include <string.h>

/* Real note segments are below 1 KiB; core files have large ones, without a build-id. */
#define NOTES_MAX 65536u

static uint64_t align_up(uint64_t off, uint64_t align)
{
	return (off + align - 1) & ~(align - 1);
}

void elf_note_find_build_id(struct elf_file *elf, uint64_t off, uint64_t size, uint64_t align)
{
	uint64_t pos = 0;
	Elf64_Nhdr note;

	align = align == 8 ? 8 : 4;
	if (size > NOTES_MAX)
		size = NOTES_MAX;
	while (pos < size && size - pos >= sizeof(note)) {
		char name[sizeof(ELF_NOTE_GNU)];
		uint64_t desc_pos;

		if (elf_file_read(elf, off + pos, &note, sizeof(note), NULL))
			return;
		/* 32-bit sizes in 64-bit sums: no wrap. */
		desc_pos = align_up(pos + sizeof(note) + note.n_namesz, align);
		if (desc_pos > size || note.n_descsz > size - desc_pos)
			return;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(name) &&
		    note.n_descsz > 0 && note.n_descsz <= sizeof(elf->build_id)) {
			if (elf_file_read(elf, off + pos + sizeof(note), name, sizeof(name), NULL))
				return;
			if (memcmp(name, ELF_NOTE_GNU, sizeof(name)) == 0) {
				if (elf_file_read(elf, off + desc_pos, elf->build_id, note.n_descsz,
						  NULL) == 0)
					elf->build_id_size = note.n_descsz;
				return;
			}
		}
		pos = align_up(desc_pos + note.n_descsz, align);
	}
}
