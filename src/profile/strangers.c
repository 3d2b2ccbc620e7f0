/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/strangers.h"

#include <string.h>

void strangers_note(struct strangers *strangers, const struct file_stamp *stamp,
		    const struct elf_file *elf)
{
	struct stranger *stranger = &strangers->list[strangers->nr++ % STRANGERS_MAX];

	*stranger = (struct stranger){ .stamp = *stamp, .build_id_size = elf->build_id_size };
	memcpy(stranger->build_id, elf->build_id, elf->build_id_size);
}

bool strangers_have(const struct strangers *strangers, const struct file_stamp *stamp,
		    const uint8_t *build_id, size_t size)
{
	for (size_t i = 0; i < STRANGERS_MAX; i++) {
		const struct stranger *stranger = &strangers->list[i];

		if (stranger->build_id_size && memcmp(&stranger->stamp, stamp, sizeof(*stamp)) == 0)
			return stranger->build_id_size < size ||
			       memcmp(stranger->build_id, build_id, size) != 0;
	}
	return false;
}
