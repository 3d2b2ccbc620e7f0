/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file of the table cache as hostile bytes: as it is, and with version, key and digest put right,
 * as an attacker would. Judged: what is taken is as long as it says, writes itself down as the same
 * bytes, and answers any address without leaving its chunks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "obj/blake2b.h"
#include "profile/table_entry.h"
#include "tests/support/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	uint8_t *bytes;
	size_t size;
};

static int read_input(void *ctx, uint64_t off, void *buf, size_t size)
{
	const struct input *input = ctx;

	REQUIRE(off <= input->size && size <= input->size - off);
	memcpy(buf, input->bytes + off, size);
	return 0;
}

static void check(struct input *input, const struct table_key *key)
{
	struct table *table = NULL;
	struct table_entry_header header;
	struct fpl_err err = { 0 };
	int code = table_entry_read(key, input->size, read_input, input, &table, &err);

	if (code) {
		REQUIRE(!table && err.code == code && err.msg[0]);
		return;
	}
	REQUIRE(sizeof(header) + table->image_bytes == input->size);
	table_entry_describe(table, key, &header);
	REQUIRE(memcmp(&header, input->bytes, sizeof(header)) == 0);
	for (uint64_t i = 0; i < 4096; i++)
		REQUIRE(table_find(table, table->first_vaddr + i * 0x1357));
	table_destroy(table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct table_key key = { { 0 } };
	const struct table empty = { .image_bytes = 0 };
	struct table_entry_header *header, right;
	struct blake2b hash;
	AUTO_FREE uint8_t *bytes = malloc(size ? size : 1);
	struct input input = { bytes, size };

	REQUIRE(bytes);
	memcpy(bytes, data, size);
	check(&input, &key);
	if (size < sizeof(*header))
		return 0;
	header = (struct table_entry_header *)(void *)bytes;
	table_entry_describe(&empty, &key, &right);
	memcpy(header, &right, offsetof(struct table_entry_header, image_bytes));
	blake2b_init(&hash, TABLE_ENTRY_DIGEST_SIZE);
	blake2b_update(&hash, header, offsetof(struct table_entry_header, digest));
	blake2b_update(&hash, bytes + sizeof(*header), size - sizeof(*header));
	blake2b_final(&hash, header->digest);
	check(&input, &key);
	return 0;
}
