/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An ELF file as hostile bytes. Judged: what the headers say never leads outside of the file, sums
 * of segment and section bounds do not wrap, contents and inflated contents stay within the limit,
 * .gnu_debugdata too, a search for a debug file ends without one, and two identities of the same
 * bytes are equal.
 */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "obj/debug_file.h"
#include "obj/elf_file.h"
#include "obj/identity.h"
#include "obj/mini_debug.h"
#include "tests/support/debug_open.h"
#include "tests/support/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CONTENTS_MAX	  (1u << 20)
#define SECTIONS_READ_MAX 64u

static void check_segments(const struct elf_file *elf)
{
	REQUIRE(elf->nr_segments <= ELF_FILE_SEGMENTS_MAX);
	for (size_t i = 0; i < elf->nr_segments; i++) {
		const struct elf_segment *seg = &elf->segments[i];
		const struct elf_segment *load;
		uint64_t bias;

		REQUIRE(seg->off + seg->file_size >= seg->off);
		REQUIRE(seg->vaddr + seg->mem_size >= seg->vaddr);
		load = elf_file_load_at(elf, seg->vaddr, seg->file_size);
		if (load) {
			REQUIRE(load->type == PT_LOAD && load->vaddr <= seg->vaddr);
			REQUIRE(seg->vaddr - load->vaddr <= load->file_size);
		}
		/* Mapped where it wants to be, from its own first page, it is not moved. */
		if (elf_file_bias(elf, seg->vaddr, seg->off, &bias) == 0 && seg->type == PT_LOAD &&
		    (seg->flags & PF_X) && elf->nr_segments == 1)
			REQUIRE(bias == 0);
	}
}

static void check_sections(const struct elf_file *elf)
{
	REQUIRE(elf->nr_sections <= ELF_FILE_SECTIONS_MAX);
	for (size_t i = 0; i < elf->nr_sections; i++) {
		const struct elf_section *section = &elf->sections[i];
		uint8_t *bytes = NULL;
		size_t nr = 0;

		REQUIRE(strlen(section->name) < (1u << 25));
		REQUIRE(section->off + section->size >= section->off || i == 0);
		if (i >= SECTIONS_READ_MAX)
			continue;
		if (elf_file_section_bytes(elf, section, CONTENTS_MAX, &bytes, &nr, NULL) == 0)
			REQUIRE(bytes && nr <= CONTENTS_MAX);
		free(bytes);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_file *elf = NULL, *debug = NULL;
	struct identity first, second;
	uint8_t names[IDENTITY_DIGEST_SIZE];
	struct fpl_err err = { 0 };
	int rc = elf_file_from_memory(data, size, "fuzz", &elf, &err);

	if (rc) {
		REQUIRE(rc == -ENOEXEC || rc == -EINVAL || rc == -ENODATA);
		REQUIRE(err.code == rc && err.msg[0]);
		return 0;
	}
	REQUIRE(elf->size == size && elf->build_id_size <= ELF_FILE_BUILD_ID_MAX);
	check_segments(elf);
	check_sections(elf);
	REQUIRE(debug_file_open(elf, "/nonexistent/dir/prog", "/nonexistent", &debug, NULL) ==
		-ENOENT);
	if (mini_debug_open(elf, &debug, NULL) == 0)
		REQUIRE(debug->size <= MINI_DEBUG_MAX);
	elf_file_close(debug);
	rc = identity_read(elf, &first, NULL);
	REQUIRE(rc == 0 || rc == -EFBIG);
	if (rc == 0) {
		REQUIRE(identity_read(elf, &second, NULL) == 0);
		REQUIRE(memcmp(&first, &second, sizeof(first)) == 0);
	}
	rc = identity_read_names(elf, names, NULL);
	REQUIRE(rc == 0 || rc == -EFBIG);
	elf_file_close(elf);
	return 0;
}
