/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "obj/blake2b.h"
#include "profile/table_entry.h"
#include "tests/support/elf_builder.h"
#include "tests/support/patient_limits.h"
#include "tests/support/table_image.h"
#include "tests/support/elf_path.h"

enum { SMALL = TABLE_OF_ROWS_BYTES_MIN };

static const struct table_key some_key = { { 1, 2, 3 } };

/* A file of the cache in memory. */
struct file {
	uint8_t *bytes;
	size_t size;
	size_t nr_readable; /* what is beyond gives EIO */
};

static int read_file(void *ctx, uint64_t off, void *buf, size_t size)
{
	const struct file *file = ctx;

	assert_true(off <= file->size && size <= file->size - off);
	if (off + size > file->nr_readable)
		return -EIO;
	memcpy(buf, file->bytes + off, size);
	return 0;
}

static struct file file_of(const struct table *table, const struct table_key *key)
{
	struct table_entry_header header;
	struct file file = { .size = sizeof(header) + table->image_bytes };

	table_entry_describe(table, key, &header);
	file.bytes = malloc(file.size);
	file.nr_readable = file.size;
	assert_non_null(file.bytes);
	memcpy(file.bytes, &header, sizeof(header));
	for (size_t i = 0; i < table->nr_chunks; i++) {
		size_t at = i * FPL_CHUNK_SIZE, left = table->image_bytes - at;

		memcpy(file.bytes + sizeof(header) + at, table->chunks[i],
		       left < FPL_CHUNK_SIZE ? left : FPL_CHUNK_SIZE);
	}
	return file;
}

static int read_entry(struct file *file, const struct table_key *key, struct table **ret)
{
	struct fpl_err err = { 0 };
	int code = table_entry_read(key, file->size, read_file, file, ret, &err);

	assert_int_equal(code, err.code);
	return code;
}

/* Make the digest valid again, as an attacker would. */
static void seal(struct file *file)
{
	struct table_entry_header *header = (struct table_entry_header *)(void *)file->bytes;
	struct blake2b hash;

	blake2b_init(&hash, TABLE_ENTRY_DIGEST_SIZE);
	blake2b_update(&hash, header, offsetof(struct table_entry_header, digest));
	blake2b_update(&hash, file->bytes + sizeof(*header), file->size - sizeof(*header));
	blake2b_final(&hash, header->digest);
}

static void entry_gives_the_table_back(void **state)
{
	static const uint32_t sizes[] = { SMALL, 4097, FPL_CHUNK_SIZE, FPL_CHUNK_SIZE + 300,
					  2 * FPL_CHUNK_SIZE + 5001 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct table *table = table_of_rows(sizes[i], 7), *got = NULL;
		struct file file = file_of(table, &some_key);

		assert_int_equal(read_entry(&file, &some_key, &got), 0);
		if (!table_same(table, got))
			fail_msg("%u bytes", sizes[i]);
		free(file.bytes);
		table_destroy(table);
		table_destroy(got);
	}
}

/* One that was compiled: that of the test program itself. */
static void entry_gives_a_compiled_table_back(void **state)
{
	struct elf_file *elf = NULL;
	struct table *table = NULL, *got = NULL;

	(void)state;
	assert_int_equal(elf_file_open_path("/proc/self/exe", &elf, NULL), 0);
	assert_int_equal(table_compile(elf, NULL, &patient_limits, &table, NULL), 0);
	elf_file_close(elf);

	struct file file = file_of(table, &some_key);

	assert_int_equal(read_entry(&file, &some_key, &got), 0);

	struct file again = file_of(got, &some_key);

	assert_int_equal(file.size, again.size);
	assert_memory_equal(file.bytes, again.bytes, file.size);
	free(file.bytes);
	free(again.bytes);
	table_destroy(table);
	table_destroy(got);
}

static void damage_of_any_byte_is_seen(void **state)
{
	struct table *table = table_of_rows(SMALL, 1), *got = NULL;
	struct file file = file_of(table, &some_key);

	(void)state;
	for (size_t i = 0; i < file.size; i++) {
		file.bytes[i] ^= 0x10;

		int code = read_entry(&file, &some_key, &got);

		if (code != -EBADMSG && code != -ESTALE)
			fail_msg("byte %zu: %d", i, code);
		assert_null(got);
		file.bytes[i] ^= 0x10;
	}
	free(file.bytes);
	table_destroy(table);
}

static void torn_file_is_seen_wherever_it_ends(void **state)
{
	struct table *table = table_of_rows(SMALL, 1), *got = NULL;
	struct file file = file_of(table, &some_key);
	size_t whole = file.size;

	(void)state;
	for (file.size = 0; file.size < whole; file.size++) {
		if (read_entry(&file, &some_key, &got) != -EBADMSG)
			fail_msg("of %zu bytes", file.size);
		assert_null(got);
	}
	/* as a crash leaves it: as long as it was to be, without the bytes */
	memset(file.bytes + whole / 2, 0, whole - whole / 2);
	file.size = whole;
	assert_int_equal(read_entry(&file, &some_key, &got), -EBADMSG);
	free(file.bytes);
	table_destroy(table);
}

/* Files that an attacker could write, with a valid digest. */
static void file_that_makes_no_sense_is_refused(void **state)
{
	enum { IMAGE = sizeof(struct table_entry_header), PAGE = IMAGE + TABLE_OF_ROWS_PAGE };
	static const struct {
		const char *what;
		size_t off;
		uint32_t value;
		int code;
	} cases[] = {
		{ "another format", offsetof(struct table_entry_header, format), 99, -ESTALE },
		{ "a longer header", offsetof(struct table_entry_header, header_size), 999,
		  -ESTALE },
		{ "another compiler", offsetof(struct table_entry_header, compiler), 0, -ESTALE },
		{ "another key", offsetof(struct table_entry_header, key), 9, -EBADMSG },
		{ "more bytes than follow", offsetof(struct table_entry_header, image_bytes),
		  SMALL + 1, -EBADMSG },
		{ "fewer bytes than follow", offsetof(struct table_entry_header, image_bytes),
		  SMALL - 1, -EBADMSG },
		{ "rules beyond the image", offsetof(struct table_entry_header, rules_off),
		  SMALL + 16 - FPL_RULE_REACH, -EBADMSG },
		{ "fewer rules than rows name", offsetof(struct table_entry_header, rules_off),
		  SMALL - FPL_RULE_REACH, -EBADMSG },
		{ "a directory beyond the image", offsetof(struct table_entry_header, dir_off),
		  SMALL - 8, -EBADMSG },
		{ "a directory that wraps", offsetof(struct table_entry_header, nr_pages),
		  0x20000000, -EBADMSG },
		{ "pages between pages", offsetof(struct table_entry_header, first_vaddr), 5,
		  -EBADMSG },
		{ "the last place for a directory", offsetof(struct table_entry_header, dir_off),
		  SMALL - 16, 0 },
		{ "a page beyond the image", IMAGE + 8, SMALL, -EBADMSG },
		{ "a page far beyond the image", IMAGE + 8, 0xaaaa8, -EBADMSG },
		{ "a row of no rule", PAGE + FPL_PAGE_FIRST_BYTES, 3, -EBADMSG },
		{ "a row behind the dictionary", PAGE + FPL_PAGE_FIRST_BYTES, 1 | 1u << 24,
		  -EBADMSG },
		{ "more rows than bytes", PAGE + 2 * FPL_NR_SPANS, 0xffff, -EBADMSG },
		{ "a rule of no kind", IMAGE + SMALL - FPL_RULE_REACH - 16, FPL_CFA_COUNT,
		  -EBADMSG },
		{ "the last rule", PAGE + FPL_PAGE_FIRST_BYTES, 2, 0 },
	};
	struct table *table = table_of_rows(SMALL, 1);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct file file = file_of(table, &some_key);
		struct table *got = NULL;

		memcpy(file.bytes + cases[i].off, &cases[i].value, sizeof(cases[i].value));
		seal(&file);

		int code = read_entry(&file, &some_key, &got);

		if (code != cases[i].code || (got != NULL) != !code)
			fail_msg("%s: %d", cases[i].what, code);
		table_destroy(got);
		free(file.bytes);
	}
	table_destroy(table);
}

static void errors_of_reading_are_handed_on(void **state)
{
	struct table *table = table_of_rows(FPL_CHUNK_SIZE + 300, 1), *got = NULL;
	struct file file = file_of(table, &some_key);

	(void)state;
	for (file.nr_readable = 0; file.nr_readable < file.size; file.nr_readable += 100000)
		assert_int_equal(read_entry(&file, &some_key, &got), -EIO);
	assert_null(got);
	free(file.bytes);
	table_destroy(table);
}

/* An ELF file of its own, on a file system whose device number is not for good. */
static struct elf_file *open_elf(uint8_t byte)
{
	struct elf_builder b;
	struct elf_file *elf = NULL;

	elf_builder_init(&b, ET_DYN);
	elf_builder_section(&b, ".comment", SHT_PROGBITS, 0, 0, &byte, 1);
	elf_builder_finish(&b);
	assert_int_equal(elf_file_open(elf_builder_memfd(&b), "e", &elf, NULL), 0);
	elf_builder_fini(&b);
	return elf;
}

static void key_depends_on_all_inputs(void **state)
{
	struct elf_file *elf = open_elf(1), *debug = open_elf(1), *other_debug = open_elf(1);
	struct table_key key, same, other;
	struct identity identity, other_identity;
	struct file_stamp stamp;

	(void)state;
	assert_int_equal(identity_read(elf, &identity, NULL), 0);
	assert_int_equal(file_stamp_read(elf->fd, &stamp), 0);
	assert_int_equal(table_key_read(elf, &identity, &stamp, -1, false, &key), 0);
	assert_int_equal(table_key_read(elf, &identity, &stamp, -1, false, &same), 0);
	assert_memory_equal(&key, &same, sizeof(key));

	other_identity = identity;
	other_identity.digest[0] ^= 1;
	assert_int_equal(table_key_read(elf, &other_identity, &stamp, -1, false, &other), 0);
	assert_memory_not_equal(&key, &other, sizeof(key));

	assert_int_equal(table_key_read(elf, &identity, &stamp, debug->fd, false, &other), 0);
	assert_memory_not_equal(&key, &other, sizeof(key));
	assert_int_equal(table_key_read(elf, &identity, &stamp, other_debug->fd, false, &same), 0);
	assert_memory_not_equal(&other, &same, sizeof(key));
	elf_file_close(elf);
	elf_file_close(debug);
	elf_file_close(other_debug);
}

/* Two files that agree in what a table is made from, as one that was forged does. */
static void key_of_a_forged_file_is_its_own(void **state)
{
	struct elf_file *elf = open_elf(1), *forged = open_elf(2);
	struct identity identity, claimed;
	struct file_stamp stamp, forged_stamp;
	struct table_key key, other;

	(void)state;
	assert_int_equal(identity_read(elf, &identity, NULL), 0);
	assert_int_equal(identity_read(forged, &claimed, NULL), 0);
	assert_memory_equal(&identity, &claimed, sizeof(identity));
	assert_int_equal(file_stamp_read(elf->fd, &stamp), 0);
	assert_int_equal(file_stamp_read(forged->fd, &forged_stamp), 0);
	assert_int_equal(table_key_read(elf, &identity, &stamp, -1, false, &key), 0);
	assert_int_equal(table_key_read(forged, &claimed, &forged_stamp, -1, false, &other), 0);
	assert_memory_not_equal(&key, &other, sizeof(key));

	if (geteuid() == 0) {
		/* its owner alone makes a difference, too */
		assert_int_equal(fchown(elf->fd, 12345, (gid_t)-1), 0);
		assert_int_equal(file_stamp_read(elf->fd, &stamp), 0);
		assert_int_equal(table_key_read(elf, &identity, &stamp, -1, false, &other), 0);
		assert_memory_not_equal(&key, &other, sizeof(key));
	}
	elf_file_close(elf);
	elf_file_close(forged);
}

static void file_that_was_changed_has_no_key(void **state)
{
	static const struct timespec times[2] = { { .tv_sec = 5 }, { .tv_sec = 6 } };
	struct elf_file *elf = open_elf(1), *memory = NULL;
	struct identity identity;
	struct file_stamp stamp;
	struct table_key key;
	uint8_t bytes[4096];

	(void)state;
	assert_int_equal(identity_read(elf, &identity, NULL), 0);
	assert_int_equal(file_stamp_read(elf->fd, &stamp), 0);
	assert_int_equal(futimens(elf->fd, times), 0);
	assert_int_equal(table_key_read(elf, &identity, &stamp, -1, false, &key), -ESTALE);
	assert_int_equal(file_stamp_read(elf->fd, &stamp), 0);
	assert_int_equal(table_key_read(elf, &identity, &stamp, -1, false, &key), 0);

	ssize_t n = pread(elf->fd, bytes, sizeof(bytes), 0);

	assert_true(n > 0);
	assert_int_equal(elf_file_from_memory(bytes, (size_t)n, "m", &memory, NULL), 0);
	assert_int_equal(table_key_read(memory, &identity, &stamp, -1, false, &key), -ENODATA);
	elf_file_close(memory);
	elf_file_close(elf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entry_gives_the_table_back),
		cmocka_unit_test(entry_gives_a_compiled_table_back),
		cmocka_unit_test(damage_of_any_byte_is_seen),
		cmocka_unit_test(torn_file_is_seen_wherever_it_ends),
		cmocka_unit_test(file_that_makes_no_sense_is_refused),
		cmocka_unit_test(errors_of_reading_are_handed_on),
		cmocka_unit_test(key_depends_on_all_inputs),
		cmocka_unit_test(key_of_a_forged_file_is_its_own),
		cmocka_unit_test(file_that_was_changed_has_no_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
