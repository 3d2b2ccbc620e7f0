/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/name_entry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/sorted.h"
#include "name_version.h"
#include "obj/blake2b.h"

#define FORMAT	     1u
#define VERSION_SIZE 32u
#define DIGEST_SIZE  16u

static const char magic[8] = { 'f', 'p', 'l', 'n', 'a', 'm', 'e', 's' };

_Static_assert(sizeof(NAME_SOURCES_DIGEST) - 1 == VERSION_SIZE, "the digest fills its field");

/* Then the ranges, then the text. */
struct header {
	char magic[8];
	uint32_t format, header_size;
	char version[VERSION_SIZE]; /* digest of the sources that make names, hex */
	struct name_key key;
	struct name_search search;
	uint64_t nr, text_size;
	uint64_t has_no_lines;	     /* 0 or 1 */
	uint8_t digest[DIGEST_SIZE]; /* BLAKE2b-128 of all before it, and of what follows */
};
_Static_assert(sizeof(struct header) == 80 + sizeof(struct name_search) + 24 + DIGEST_SIZE,
	       "a format of the cache's files, without padding");

void name_entry_fini(struct name_entry *entry)
{
	free(entry->ranges);
	free(entry->text);
	*entry = (struct name_entry){ .nr = 0 };
}

size_t name_entry_bytes(const struct name_entry *entry)
{
	return sizeof(*entry) + entry->nr * sizeof(*entry->ranges) + entry->text_size;
}

const struct name_range *name_entry_find(const struct name_entry *entry, uint64_t vaddr)
{
	size_t nr = SORTED_UP_TO(entry->ranges, start, entry->nr, vaddr);

	return nr && vaddr < entry->ranges[nr - 1].end ? &entry->ranges[nr - 1] : NULL;
}

const char *name_entry_text(const struct name_entry *entry, const struct name_range *range)
{
	return range->text == NAME_ENTRY_NO_TEXT ? NULL : entry->text + range->text;
}

/* An entry that takes more. */
struct growing {
	struct name_range *ranges; /* owned [room] */
	size_t nr, room;
	char *text; /* owned [text_room] */
	size_t text_size, text_room;
	const char *last; /* of the name added last */
	uint32_t last_text;
};

static void growing_fini(struct growing *growing)
{
	free(growing->ranges);
	free(growing->text);
}

/* Bytes that the names of @places take at most: addresses of one function share a string. */
static size_t text_wanted(const struct symbol_place *places, size_t nr)
{
	size_t wanted = 0;

	for (size_t i = 0; i < nr; i++) {
		if (places[i].name && (!i || places[i].name != places[i - 1].name))
			wanted += strlen(places[i].name) + 1;
	}
	return wanted;
}

/* Adds @name; false where it has no room. */
static bool put_name(struct growing *growing, const char *name, uint32_t *ret)
{
	size_t size;

	*ret = NAME_ENTRY_NO_TEXT;
	if (!name)
		return true;
	if (name != growing->last) {
		size = strlen(name) + 1;
		if (size > growing->text_room - growing->text_size)
			return false;
		memcpy(growing->text + growing->text_size, name, size);
		growing->last = name;
		growing->last_text = (uint32_t)growing->text_size;
		growing->text_size += size;
	}
	*ret = growing->last_text;
	return true;
}

/* Adds what @place says of @vaddr, up to where the next range begins. */
static void put_place(struct growing *growing, uint64_t vaddr, const struct symbol_place *place,
		      uint64_t next)
{
	uint64_t before = growing->nr ? growing->ranges[growing->nr - 1].end : 0;
	struct name_range range = { .start = place->same.start,
				    .end = place->same.end < next ? place->same.end : next,
				    .origin = place->start };

	if (vaddr < before || vaddr < range.start || vaddr >= range.end)
		return;
	if (range.start < before)
		range.start = before;
	if (growing->nr < growing->room && put_name(growing, place->name, &range.text))
		growing->ranges[growing->nr++] = range;
}

static int growing_init(struct growing *growing, const struct name_entry *old, size_t nr,
			size_t text)
{
	size_t room = old->nr + nr, text_room = old->text_size + text;

	growing->room = room < NAME_ENTRY_RANGES_MAX ? room : NAME_ENTRY_RANGES_MAX;
	growing->text_room = text_room < NAME_ENTRY_TEXT_MAX ? text_room : NAME_ENTRY_TEXT_MAX;
	growing->ranges = calloc(growing->room + 1, sizeof(*growing->ranges));
	growing->text = malloc(growing->text_room + 1);
	if (!growing->ranges || !growing->text)
		return -ENOMEM;
	if (old->text_size)
		memcpy(growing->text, old->text, old->text_size);
	growing->text_size = old->text_size;
	return 0;
}

int name_entry_add(struct name_entry *entry, const uint64_t *vaddrs,
		   const struct symbol_place *places, size_t nr)
{
	static const struct name_entry nothing;
	size_t text = text_wanted(places, nr), done = 0;
	bool fits = entry->nr + nr <= NAME_ENTRY_RANGES_MAX &&
		    entry->text_size + text <= NAME_ENTRY_TEXT_MAX;
	const struct name_entry *old = fits ? entry : &nothing;
	CLEANUP(growing_fini) struct growing growing = { .nr = 0 };

	if (growing_init(&growing, old, nr, text))
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		while (done < old->nr && old->ranges[done].start <= vaddrs[i])
			growing.ranges[growing.nr++] = old->ranges[done++];
		put_place(&growing, vaddrs[i], &places[i],
			  done < old->nr ? old->ranges[done].start : UINT64_MAX);
	}
	while (done < old->nr)
		growing.ranges[growing.nr++] = old->ranges[done++];
	free(entry->ranges);
	free(entry->text);
	entry->ranges = TAKE_PTR(growing.ranges);
	entry->nr = growing.nr;
	entry->text = TAKE_PTR(growing.text);
	entry->text_size = growing.text_size;
	return 0;
}

static void digest_of(const struct header *header, const uint8_t *rest, size_t size, uint8_t *ret)
{
	struct blake2b hash;

	blake2b_init(&hash, DIGEST_SIZE);
	blake2b_update(&hash, header, offsetof(struct header, digest));
	blake2b_update(&hash, rest, size);
	blake2b_final(&hash, ret);
}

int name_entry_write(const struct name_entry *entry, const struct name_key *key, uint8_t **ret,
		     size_t *ret_size)
{
	struct header header = {
		.format = FORMAT,
		.header_size = sizeof(header),
		.key = *key,
		.search = entry->search,
		.nr = entry->nr,
		.text_size = entry->text_size,
		.has_no_lines = entry->has_no_lines,
	};
	size_t ranges_size = entry->nr * sizeof(*entry->ranges);
	size_t rest_size = ranges_size + entry->text_size;
	uint8_t *bytes = malloc(sizeof(header) + rest_size), *rest;

	if (!bytes)
		return -ENOMEM;
	rest = bytes + sizeof(header);
	if (ranges_size)
		memcpy(rest, entry->ranges, ranges_size);
	if (entry->text_size)
		memcpy(rest + ranges_size, entry->text, entry->text_size);
	memcpy(header.magic, magic, sizeof(magic));
	memcpy(header.version, NAME_SOURCES_DIGEST, sizeof(header.version));
	digest_of(&header, rest, rest_size, header.digest);
	memcpy(bytes, &header, sizeof(header));
	*ret = bytes;
	*ret_size = sizeof(header) + rest_size;
	return 0;
}

static bool search_is_sound(const struct name_search *search)
{
	return search->build_id_size <= ELF_FILE_BUILD_ID_MAX &&
	       memchr(search->link_name, '\0', sizeof(search->link_name)) &&
	       (!search->link_name[0] || debug_link_name_is_plain(search->link_name)) &&
	       search->link_crc <= UINT32_MAX;
}

static int check_header(const struct header *header, const struct name_key *key, size_t size,
			struct fpl_err *err)
{
	if (memcmp(header->magic, magic, sizeof(magic)) != 0)
		return fpl_fail(err, -EBADMSG, "no names");
	if (header->format != FORMAT || header->header_size != sizeof(*header) ||
	    memcmp(header->version, NAME_SOURCES_DIGEST, sizeof(header->version)) != 0)
		return fpl_fail(err, -ESTALE, "of another version");
	if (memcmp(&header->key, key, sizeof(*key)) != 0)
		return fpl_fail(err, -EBADMSG, "the names of another file");
	if (header->nr > NAME_ENTRY_RANGES_MAX || header->text_size > NAME_ENTRY_TEXT_MAX ||
	    header->has_no_lines > 1 || !search_is_sound(&header->search))
		return fpl_fail(err, -EBADMSG, "a header that makes no sense");
	if (size != sizeof(*header) + header->nr * sizeof(struct name_range) + header->text_size)
		return fpl_fail(err, -EBADMSG, "%zu bytes are too few or too many", size);
	return 0;
}

/* Do its ranges ascend, and its names lie in its text? */
static bool entry_is_sound(const struct name_entry *entry)
{
	uint64_t before = 0;

	if (entry->text_size && entry->text[entry->text_size - 1])
		return false;
	for (size_t i = 0; i < entry->nr; i++) {
		const struct name_range *range = &entry->ranges[i];
		bool is_named = range->text != NAME_ENTRY_NO_TEXT;

		if (range->start < before || range->end <= range->start || range->_pad ||
		    (is_named && range->text >= entry->text_size) ||
		    (range->origin > range->start &&
		     (is_named || range->origin != SYMBOL_NO_START)))
			return false;
		before = range->end;
	}
	return true;
}

int name_entry_read(const struct name_key *key, const uint8_t *bytes, size_t size,
		    struct name_entry *ret, struct fpl_err *err)
{
	struct header header;
	uint8_t digest[DIGEST_SIZE];
	int code;

	*ret = (struct name_entry){ .nr = 0 };
	if (size < sizeof(header))
		return fpl_fail(err, -EBADMSG, "%zu bytes are no names", size);
	memcpy(&header, bytes, sizeof(header));
	code = check_header(&header, key, size, err);
	if (code)
		return code;
	digest_of(&header, bytes + sizeof(header), size - sizeof(header), digest);
	if (memcmp(digest, header.digest, sizeof(digest)) != 0)
		return fpl_fail(err, -EBADMSG, "its digest is wrong");

	size_t ranges_size = header.nr * sizeof(*ret->ranges);

	ret->search = header.search;
	ret->has_no_lines = header.has_no_lines;
	ret->ranges = malloc(ranges_size + 1);
	ret->text = malloc(header.text_size + 1);
	if (!ret->ranges || !ret->text)
		return fpl_fail(err, -ENOMEM, "out of memory");
	memcpy(ret->ranges, bytes + sizeof(header), ranges_size);
	memcpy(ret->text, bytes + sizeof(header) + ranges_size, header.text_size);
	ret->nr = header.nr;
	ret->text_size = header.text_size;
	if (!entry_is_sound(ret))
		return fpl_fail(err, -EBADMSG, "ranges that do not hold together");
	return 0;
}
