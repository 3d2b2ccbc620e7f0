/* SPDX-License-Identifier: Apache-2.0 */
/* Files that stood at the path of a mapping, were read for it, and are not the mapped ones: the
 * latest of them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "obj/elf_file.h"
#include "obj/identity.h"

#define STRANGERS_MAX 64u

struct stranger {
	struct file_stamp stamp;
	uint8_t build_id[ELF_FILE_BUILD_ID_MAX];
	size_t build_id_size; /* 0: there is no such file */
};

/* Zeroed: none. */
struct strangers {
	struct stranger list[STRANGERS_MAX];
	size_t nr; /* that were noted */
};

/* Note the file of @stamp, whose headers are @elf. */
void strangers_note(struct strangers *strangers, const struct file_stamp *stamp,
		    const struct elf_file *elf);

/* Was the file of @stamp noted, and is @build_id [@size] not the beginning of its own? */
bool strangers_have(const struct strangers *strangers, const struct file_stamp *stamp,
		    const uint8_t *build_id, size_t size);
