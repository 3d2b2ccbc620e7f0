/* SPDX-License-Identifier: Apache-2.0 */
#include "store/window_data.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/cursor.h"

/* The first byte: another one is of another program. */
enum { LAYOUT = 1, LEVEL = 3, NO_USER = 1 };

struct bytes {
	uint8_t *list;
	size_t nr, room;
};

void window_data_fini(struct window_data *data)
{
	vector_fini(&data->entries);
	vector_fini(&data->numbers);
}

static int compare_entries(const void *left, const void *right)
{
	const struct window_entry *a = left, *b = right;

	if (a->series != b->series)
		return a->series < b->series ? -1 : 1;
	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	if (a->stop != b->stop)
		return a->stop < b->stop ? -1 : 1;
	return a->no_user - b->no_user;
}

static int compare_numbers(const void *left, const void *right)
{
	const struct window_number *a = left, *b = right;

	return (a->key > b->key) - (a->key < b->key);
}

static int settle_entries(struct window_data *data)
{
	struct window_entry *list = data->entries.list;
	size_t kept = 0;

	for (size_t i = 0; i < data->entries.nr; i++) {
		struct window_entry *last = kept ? &list[kept - 1] : NULL;

		if (!last || compare_entries(last, &list[i]) != 0) {
			list[kept++] = list[i];
			continue;
		}
		if (__builtin_add_overflow(last->count, list[i].count, &last->count) ||
		    __builtin_add_overflow(last->weight, list[i].weight, &last->weight))
			return -EOVERFLOW;
		if (list[i].elided > last->elided)
			last->elided = list[i].elided;
	}
	data->entries.nr = kept;
	return 0;
}

static int settle_numbers(struct window_data *data)
{
	struct window_number *list = data->numbers.list;
	size_t kept = 0;

	for (size_t i = 0; i < data->numbers.nr; i++) {
		if (!kept || list[kept - 1].key != list[i].key)
			list[kept++] = list[i];
		else if (__builtin_add_overflow(list[kept - 1].value, list[i].value,
						&list[kept - 1].value))
			return -EOVERFLOW;
	}
	data->numbers.nr = kept;
	return 0;
}

int window_data_settle(struct window_data *data)
{
	if (data->entries.nr)
		qsort(data->entries.list, data->entries.nr, sizeof(*data->entries.list),
		      compare_entries);
	if (data->numbers.nr)
		qsort(data->numbers.list, data->numbers.nr, sizeof(*data->numbers.list),
		      compare_numbers);

	int error = settle_entries(data);

	return error ? error : settle_numbers(data);
}

static void write_number(struct bytes *to, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		must_push(to, (uint8_t)(value | 0x80));
	must_push(to, (uint8_t)value);
}

/* The weight of each sample, where all of the group weigh the same; 0: they do not. */
static uint64_t common_weight(const struct window_entry *list, size_t nr)
{
	uint64_t each = list[0].count ? list[0].weight / list[0].count : 0, product;

	for (size_t i = 0; i < nr; i++)
		if (__builtin_mul_overflow(each, list[i].count, &product) ||
		    product != list[i].weight)
			return 0;
	return each;
}

static bool is_elided(const struct window_entry *list, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (list[i].elided)
			return true;
	return false;
}

/* The entries of one series: a column after the other, since like packs well beside like. */
static void write_group(struct bytes *to, const struct window_entry *list, size_t nr)
{
	uint64_t each = common_weight(list, nr);
	bool elided = is_elided(list, nr);
	uint32_t before = 0;

	write_number(to, list[0].series);
	write_number(to, nr);
	for (size_t i = 0; i < nr; before = list[i++].node)
		write_number(to, list[i].node - before);
	for (size_t i = 0; i < nr; i++)
		must_push(to, list[i].stop);
	for (size_t i = 0; i < nr; i++)
		must_push(to, list[i].no_user ? NO_USER : 0);
	for (size_t i = 0; i < nr; i++)
		write_number(to, list[i].count);
	write_number(to, each);
	for (size_t i = 0; !each && i < nr; i++)
		write_number(to, list[i].weight);
	must_push(to, elided);
	for (size_t i = 0; elided && i < nr; i++)
		write_number(to, list[i].elided);
}

static void write_all(struct bytes *to, const struct window_data *data, uint64_t head)
{
	const struct window_entry *list = data->entries.list;

	must_push(to, LAYOUT);
	for (size_t i = 0; i < sizeof(head); i++)
		must_push(to, (uint8_t)(head >> 8 * i));
	write_number(to, data->numbers.nr);
	for (size_t i = 0; i < data->numbers.nr; i++) {
		write_number(to, data->numbers.list[i].key);
		write_number(to, data->numbers.list[i].value);
	}
	for (size_t i = 0, end; i < data->entries.nr; i = end) {
		for (end = i + 1; end < data->entries.nr && list[end].series == list[i].series;)
			end++;
		write_group(to, &list[i], end - i);
	}
}

int window_data_pack(const struct window_data *data, uint64_t head, uint8_t **ret, size_t *ret_size)
{
	struct bytes bytes = { 0 };
	ZSTD_CCtx *zstd;
	size_t room;

	if (data->entries.nr > WINDOW_ENTRIES_MAX)
		return -E2BIG;
	write_all(&bytes, data, head);
	if (bytes.nr > WINDOW_BYTES_MAX) {
		vector_fini(&bytes);
		return -E2BIG;
	}
	zstd = ZSTD_createCCtx();
	alloc_check(!zstd);
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, LEVEL);
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
	room = ZSTD_compressBound(bytes.nr);
	*ret = must_malloc(room);
	*ret_size = ZSTD_compress2(zstd, *ret, room, bytes.list, bytes.nr);
	ZSTD_freeCCtx(zstd);
	vector_fini(&bytes);
	/* it fails for want of memory alone: the room is enough */
	alloc_check(ZSTD_isError(*ret_size) ? 1 : 0);
	return 0;
}

/* A number of at most 32 bits. */
static uint32_t read_small(struct cursor *c)
{
	uint64_t value = cursor_uleb(c);

	if (value > UINT32_MAX)
		cursor_fail(c);
	return (uint32_t)value;
}

static void read_weights(struct cursor *c, struct window_entry *list, size_t nr)
{
	uint64_t each = cursor_uleb(c);

	for (size_t i = 0; i < nr; i++) {
		if (!each)
			list[i].weight = cursor_uleb(c);
		else if (__builtin_mul_overflow(each, list[i].count, &list[i].weight))
			cursor_fail(c);
	}
}

static void read_columns(struct cursor *c, struct window_entry *list, size_t nr)
{
	uint32_t node = 0;

	for (size_t i = 0; i < nr; i++) {
		if (__builtin_add_overflow(node, read_small(c), &node))
			cursor_fail(c);
		list[i].node = node;
	}
	for (size_t i = 0; i < nr; i++)
		list[i].stop = cursor_u8(c);
	for (size_t i = 0; i < nr; i++)
		list[i].no_user = cursor_u8(c) & NO_USER;
	for (size_t i = 0; i < nr; i++)
		list[i].count = cursor_uleb(c);
	read_weights(c, list, nr);
	if (!cursor_u8(c))
		return;
	for (size_t i = 0; i < nr; i++)
		list[i].elided = read_small(c);
}

static void read_group(struct cursor *c, struct window_data *ret)
{
	uint32_t series = read_small(c);
	uint64_t nr = cursor_uleb(c);
	struct window_entry *list;

	/* an entry takes four bytes at least */
	if (!series || !nr || nr > cursor_left(c) / 4 ||
	    nr > WINDOW_ENTRIES_MAX - ret->entries.nr) {
		cursor_fail(c);
		return;
	}
	must_reserve(&ret->entries, ret->entries.nr + nr);
	list = &ret->entries.list[ret->entries.nr];
	ret->entries.nr += nr;
	for (size_t i = 0; i < nr; i++)
		list[i] = (struct window_entry){ .series = series };
	read_columns(c, list, nr);
}

static int read_all(struct cursor *c, uint64_t head, struct window_data *ret)
{
	uint64_t nr;

	if (cursor_u8(c) != LAYOUT || cursor_u64(c) != head)
		return -EBADMSG;
	nr = cursor_uleb(c);
	if (nr > cursor_left(c) / 2)
		return -EBADMSG;
	for (uint64_t i = 0; i < nr; i++) {
		uint32_t key = read_small(c);

		must_push(&ret->numbers,
			  (struct window_number){ .key = key, .value = cursor_uleb(c) });
	}
	while (!c->bad && cursor_left(c))
		read_group(c, ret);
	return c->bad ? -EBADMSG : 0;
}

int window_data_unpack(const uint8_t *packed, size_t size, uint64_t head, struct window_data *ret)
{
	unsigned long long wanted = size ? ZSTD_getFrameContentSize(packed, size) : 0;
	AUTO_FREE uint8_t *bytes = NULL;
	struct cursor c;

	/* also where it is not known, or an error */
	if (!wanted || wanted > WINDOW_BYTES_MAX)
		return -EBADMSG;
	bytes = must_malloc(wanted);
	if (ZSTD_decompress(bytes, wanted, packed, size) != wanted)
		return -EBADMSG;
	c = cursor_make(bytes, wanted);
	return read_all(&c, head, ret);
}
