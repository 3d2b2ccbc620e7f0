/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/table_entry.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "obj/blake2b.h"
#include "table_version.h"
#include "unwind/table_check.h"

static const char magic[8] = { 'f', 'p', 'l', 't', 'a', 'b', 'l', 'e' };

_Static_assert(sizeof(TABLE_COMPILER_DIGEST) - 1 == TABLE_ENTRY_COMPILER_SIZE,
	       "the digest fills its field");

static void digest_of(const struct table_entry_header *header, const struct table *table,
		      uint8_t *ret)
{
	struct blake2b hash;

	blake2b_init(&hash, TABLE_ENTRY_DIGEST_SIZE);
	blake2b_update(&hash, header, offsetof(struct table_entry_header, digest));
	for (size_t i = 0; i < table->nr_chunks; i++)
		blake2b_update(&hash, table->chunks[i], table_chunk_bytes(table, i));
	blake2b_final(&hash, ret);
}

void table_entry_describe(const struct table *table, const struct table_key *key,
			  struct table_entry_header *ret)
{
	*ret = (struct table_entry_header){
		.format = TABLE_ENTRY_FORMAT,
		.header_size = sizeof(*ret),
		.key = *key,
		.image_bytes = table->image_bytes,
		.rules_off = table->rules_off,
		.dir_off = table->dir_off,
		.nr_pages = table->nr_pages,
		.first_vaddr = table->first_vaddr,
		.entry_vaddr = table->entry_vaddr,
		.stats = table->stats,
		.script = table->script,
	};
	memcpy(ret->magic, magic, sizeof(magic));
	memcpy(ret->compiler, TABLE_COMPILER_DIGEST, sizeof(ret->compiler));
	digest_of(ret, table, ret->digest);
}

/* Is it ours, and of a size that may be read? What it says of the image is left to table_check().
 */
static int check_header(const struct table_entry_header *header, const struct table_key *key,
			uint64_t size, struct fpl_err *err)
{
	if (memcmp(header->magic, magic, sizeof(magic)) != 0)
		return fpl_fail(err, -EBADMSG, "no table");
	if (header->format != TABLE_ENTRY_FORMAT || header->header_size != sizeof(*header) ||
	    memcmp(header->compiler, TABLE_COMPILER_DIGEST, sizeof(header->compiler)) != 0)
		return fpl_fail(err, -ESTALE, "of another version");
	if (memcmp(&header->key, key, sizeof(*key)) != 0)
		return fpl_fail(err, -EBADMSG, "the table of another file");
	if (size != sizeof(*header) + header->image_bytes)
		return fpl_fail(err, -EBADMSG, "%" PRIu64 " bytes, wanted %zu", size,
				sizeof(*header) + header->image_bytes);
	if (header->image_bytes > table_limits_default.memory_bytes)
		return fpl_fail(err, -EBADMSG, "a table of impossible size");
	return 0;
}

/* Make a table of what the header says, its image not filled in. */
static int make_table(const struct table_entry_header *header, struct table **ret,
		      struct fpl_err *err)
{
	CLEANUP(table_cleanup) struct table *table = calloc(1, sizeof(*table));

	if (!table)
		return fpl_fail(err, -ENOMEM, "out of memory");
	*table = (struct table){
		.image_bytes = header->image_bytes,
		.rules_off = header->rules_off,
		.dir_off = header->dir_off,
		.nr_pages = header->nr_pages,
		.first_vaddr = header->first_vaddr,
		.entry_vaddr = header->entry_vaddr,
		.stats = header->stats,
		.script = header->script,
	};
	if (table_make_room(table))
		return fpl_fail(err, -ENOMEM, "out of memory");
	*ret = TAKE_PTR(table);
	return 0;
}

int table_entry_read(const struct table_key *key, uint64_t size, table_entry_read_fn read,
		     void *ctx, struct table **ret, struct fpl_err *err)
{
	CLEANUP(table_cleanup) struct table *table = NULL;
	struct table_entry_header header;
	uint8_t digest[TABLE_ENTRY_DIGEST_SIZE];

	if (size < sizeof(header))
		return fpl_fail(err, -EBADMSG, "%" PRIu64 " bytes are no table", size);

	int code = read(ctx, 0, &header, sizeof(header));

	if (code)
		return fpl_fail(err, code, "%s", strerror(-code));
	code = check_header(&header, key, size, err);
	if (!code)
		code = make_table(&header, &table, err);
	for (size_t i = 0; !code && i < table->nr_chunks; i++) {
		code = read(ctx, sizeof(header) + i * FPL_CHUNK_SIZE, table->chunks[i],
			    table_chunk_bytes(table, i));
		if (code)
			fpl_fail(err, code, "%s", strerror(-code));
	}
	if (code)
		return code;
	digest_of(&header, table, digest);
	if (memcmp(digest, header.digest, sizeof(digest)) != 0)
		return fpl_fail(err, -EBADMSG, "its digest is wrong");
	/* a digest is no proof: whoever may write to the folder can compute it */
	if (table_check(table, NULL))
		return fpl_fail(err, -EBADMSG, "a table that does not hold together");
	*ret = TAKE_PTR(table);
	return 0;
}
