/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An entry of names as hostile bytes: as it is, and with version, key and digest put right, as an
 * attacker would. Judged: what is taken writes itself down as the same bytes, every range finds its
 * name inside the text, and what is added afterwards leaves it ascending.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "naming/name_entry.h"
#include "tests/support/name_entry_seal.h"
#include "tests/support/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct name_key key = { { 0 } };

static void check_ranges(const struct name_entry *entry)
{
	uint64_t before = 0;

	for (size_t i = 0; i < entry->nr; i++) {
		const struct name_range *range = &entry->ranges[i];
		const char *name = name_entry_text(entry, range);

		REQUIRE(before <= range->start && range->start < range->end);
		REQUIRE(name_entry_find(entry, range->start) == range);
		REQUIRE(name_entry_find(entry, range->end - 1) == range);
		REQUIRE(!name || (name >= entry->text &&
				  name + strlen(name) < entry->text + entry->text_size));
		before = range->end;
	}
}

static void check(const uint8_t *bytes, size_t size)
{
	static const uint64_t vaddrs[] = { 0, 0x1000, 0x1010, 1ull << 40 };
	static const struct symbol_place places[] = {
		{ "low", 0, { 0, 0x800 } },
		{ NULL, SYMBOL_NO_START, { 0x900, UINT64_MAX } },
		{ "all", 0, { 0, UINT64_MAX } },
		{ "high", 1ull << 40, { 1ull << 40, (1ull << 40) + 1 } },
	};
	struct name_entry entry;
	struct fpl_err err = { 0 };
	uint8_t *again;
	size_t again_size;

	if (name_entry_read(&key, bytes, size, &entry, &err)) {
		REQUIRE(err.code && err.msg[0]);
		name_entry_fini(&entry);
		return;
	}
	check_ranges(&entry);
	REQUIRE(!name_entry_write(&entry, &key, &again, &again_size));
	REQUIRE(again_size == size && !memcmp(again, bytes, size));
	free(again);
	REQUIRE(!name_entry_add(&entry, vaddrs, places, ARRAY_SIZE(vaddrs)));
	check_ranges(&entry);
	for (size_t i = 0; i < ARRAY_SIZE(vaddrs); i++)
		REQUIRE(name_entry_find(&entry, vaddrs[i]));
	name_entry_fini(&entry);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct name_entry empty = { .nr = 0 };
	AUTO_FREE uint8_t *bytes = malloc(size ? size : 1), *right = NULL;
	size_t right_size;

	REQUIRE(bytes);
	memcpy(bytes, data, size);
	check(bytes, size);
	if (size < NAME_HEADER_SIZE)
		return 0;
	REQUIRE(!name_entry_write(&empty, &key, &right, &right_size));
	memcpy(bytes, right, NAME_AT_SEARCH);
	name_entry_seal(bytes, size);
	check(bytes, size);
	return 0;
}
