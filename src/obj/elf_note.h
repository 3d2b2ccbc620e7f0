/* SPDX-License-Identifier: Apache-2.0 */
/* ELF notes: where the build-id stands. */
#pragma once

#include <stdint.h>

#include "obj/elf_file.h"

/*
 * Look for NT_GNU_BUILD_ID in the notes at [off, off + size) of @elf and put it into elf->build_id.
 * @align: p_align or sh_addralign; 8 means descriptors aligned to 8, all else 4 (gABI, "Note
 * Section", as read by glibc and binutils). Notes that do not hold together end the search; only
 * the first 64 KiB are looked at.
 */
void elf_note_find_build_id(struct elf_file *elf, uint64_t off, uint64_t size, uint64_t align);
