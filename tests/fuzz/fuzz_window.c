/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data of a window as hostile bytes: packed as they are, and packed by zstd first, as an
 * attacker would. Judged: what is taken stays itself when it is packed and unpacked again.
 */
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/cleanup.h"
#include "store/window_data.h"
#include "tests/support/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_equal(const struct window_data *a, const struct window_data *b)
{
	REQUIRE(a->entries.nr == b->entries.nr && a->numbers.nr == b->numbers.nr);
	for (size_t i = 0; i < a->numbers.nr; i++)
		REQUIRE(a->numbers.list[i].key == b->numbers.list[i].key &&
			a->numbers.list[i].value == b->numbers.list[i].value);
	for (size_t i = 0; i < a->entries.nr; i++) {
		const struct window_entry *x = &a->entries.list[i], *y = &b->entries.list[i];

		REQUIRE(x->series == y->series && x->node == y->node && x->stop == y->stop &&
			x->no_user == y->no_user && x->count == y->count &&
			x->weight == y->weight && x->elided == y->elided);
	}
}

static void check(const uint8_t *packed, size_t size, uint64_t head)
{
	CLEANUP(window_data_fini) struct window_data data = { 0 }, again = { 0 };
	AUTO_FREE uint8_t *bytes = NULL;
	size_t bytes_size;

	if (window_data_unpack(packed, size, head, &data))
		return;
	if (window_data_settle(&data))
		return;
	REQUIRE(!window_data_pack(&data, head, &bytes, &bytes_size));
	REQUIRE(!window_data_unpack(bytes, bytes_size, head, &again));
	check_equal(&data, &again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_FREE uint8_t *packed = malloc(ZSTD_compressBound(size));
	uint64_t head = 0;
	size_t packed_size;

	REQUIRE(packed);
	check(data, size, 0);
	if (size >= 1 + sizeof(head))
		memcpy(&head, data + 1, sizeof(head));
	packed_size = ZSTD_compress(packed, ZSTD_compressBound(size), data, size, 1);
	REQUIRE(!ZSTD_isError(packed_size));
	check(packed, packed_size, head);
	return 0;
}
