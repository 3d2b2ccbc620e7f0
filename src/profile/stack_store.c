/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/stack_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/stack_hash.h"

/* The identity of a stack, without its frames. */
struct identity_part {
	uint64_t start_ns, cgroup;
	uint64_t gen; /* of the image, where a frame is raw */
	uint32_t pid, tid, cpu;
	uint16_t nr_user, nr_kernel, nr_fp;
	uint8_t stop, flags;
	uint8_t source, nr_key, zero[2];
	char comm[FPL_COMM_SIZE];
};

struct entry {
	struct identity_part part;
	uint64_t hash;
	uint64_t count, weight;
	double squares;				     /* of weights, as far as they were told */
	uint64_t objects, live_weight, live_objects; /* objects in 1 / FPL_OBJECT */
	double live_squares, live_objects_squares;   /* of whole objects */
	uint64_t first_ns;
	uint64_t *frames; /* owned: user, then the rest */
	uint32_t elided;
};

/* Open addressing, linear probing, powers of two, at most half full; 0 is an empty place. */
struct index {
	uint32_t *place; /* owned: number of an entry or id + 1 */
	size_t size, nr;
};

struct id_entry {
	uint32_t id, entry;
	uint64_t told; /* samples that stack_store_news has told of */
};

struct stack_store {
	unsigned by;
	struct entry *entries; /* owned */
	size_t nr, capacity;
	uint32_t last;
	struct index by_content;
	struct id_entry *ids; /* owned */
	size_t nr_ids, ids_capacity;
	struct index by_id;
	size_t bytes, max_bytes;
	uint64_t named[(FPL_FRAME_OBJECT_MAX + 1) / 64]; /* a bit for each object's id */
};

static int index_init(struct index *index, size_t size)
{
	index->place = calloc(size, sizeof(*index->place));
	index->size = size;
	return index->place ? 0 : -ENOMEM;
}

int stack_store_create(size_t max_bytes, struct stack_store **ret)
{
	struct stack_store *store = calloc(1, sizeof(*store));

	if (!store)
		return -ENOMEM;
	store->max_bytes = max_bytes;
	if (index_init(&store->by_content, 1024) || index_init(&store->by_id, 1024)) {
		stack_store_destroy(store);
		return -ENOMEM;
	}
	store->bytes = 2 * 1024 * sizeof(uint32_t);
	*ret = store;
	return 0;
}

void stack_store_destroy(struct stack_store *store)
{
	if (!store)
		return;
	for (size_t i = 0; i < store->nr; i++)
		free(store->entries[i].frames);
	free(store->entries);
	free(store->ids);
	free(store->by_content.place);
	free(store->by_id.place);
	free(store);
}

void stack_store_separate(struct stack_store *store, unsigned by)
{
	store->by = by;
}

size_t stack_store_bytes(const struct stack_store *store)
{
	return store->bytes;
}

/* Words behind the user frames: kernel, then fp, then the key. */
static size_t nr_rest(const struct identity_part *part)
{
	return (size_t)part->nr_kernel + part->nr_fp + part->nr_key;
}

static uint64_t hash_of(const struct identity_part *part, const uint64_t *user,
			const uint64_t *rest)
{
	uint64_t words[sizeof(*part) / 8];

	_Static_assert(sizeof(*part) % 8 == 0, "no bytes left over");
	memcpy(words, part, sizeof(words));

	uint64_t hash = stack_hash_words(0x243f6a8885a308d3u, words, sizeof(words) / 8);

	hash = stack_hash_words(hash, user, part->nr_user);
	return stack_hash_words(hash, rest, nr_rest(part));
}

/* Has the budget room for @bytes more? */
static bool fits(const struct stack_store *store, size_t bytes)
{
	return store->bytes + bytes <= store->max_bytes;
}

/* Memory of an entry's frames. 16: malloc's overhead. */
static size_t frames_charge(const struct identity_part *part)
{
	return (part->nr_user + nr_rest(part)) * 8 + 16;
}

/* Doubles @index when half full; @hash_at gives the hash of what number n stands for. */
static int index_grow(struct stack_store *store, struct index *index,
		      uint64_t (*hash_at)(const struct stack_store *, uint32_t))
{
	struct index bigger = { 0 };

	if (2 * (index->nr + 1) <= index->size)
		return 0;
	if (!fits(store, index->size * sizeof(*index->place)))
		return -ENOSPC;
	if (index_init(&bigger, 2 * index->size))
		return -ENOMEM;
	for (size_t i = 0; i < index->size; i++) {
		if (!index->place[i])
			continue;

		size_t at = hash_at(store, index->place[i] - 1) & (bigger.size - 1);

		while (bigger.place[at])
			at = (at + 1) & (bigger.size - 1);
		bigger.place[at] = index->place[i];
	}
	bigger.nr = index->nr;
	store->bytes += index->size * sizeof(*index->place);
	free(index->place);
	*index = bigger;
	return 0;
}

static uint64_t entry_hash(const struct stack_store *store, uint32_t nr)
{
	return store->entries[nr].hash;
}

static uint64_t id_hash(const struct stack_store *store, uint32_t nr)
{
	return stack_hash_mix(0, store->ids[nr].id);
}

/* memcmp and memcpy want pointers also where there is nothing at them */
static bool words_equal(const uint64_t *a, const uint64_t *b, size_t nr)
{
	return nr == 0 || memcmp(a, b, nr * sizeof(*a)) == 0;
}

static void copy_words(uint64_t *to, const uint64_t *from, size_t nr)
{
	if (nr)
		memcpy(to, from, nr * sizeof(*to));
}

static bool entry_equals(const struct entry *entry, uint64_t hash, const struct identity_part *part,
			 const uint64_t *user, const uint64_t *rest)
{
	return entry->hash == hash && memcmp(&entry->part, part, sizeof(*part)) == 0 &&
	       words_equal(entry->frames, user, part->nr_user) &&
	       words_equal(entry->frames + part->nr_user, rest, nr_rest(part));
}

/* Make room for one more element in an array. No VECTOR: the budget is charged before it grows. */
static int grow(struct stack_store *store, void **array, size_t nr, size_t *capacity, size_t size)
{
	size_t wanted = *capacity ? 2 * *capacity : 256;

	if (nr < *capacity)
		return 0;
	if (nr >= UINT32_MAX - 1 || !fits(store, (wanted - *capacity) * size))
		return -ENOSPC;

	void *bigger = realloc(*array, wanted * size);

	if (!bigger)
		return -ENOMEM;
	store->bytes += (wanted - *capacity) * size;
	*array = bigger;
	*capacity = wanted;
	return 0;
}

/* Notes which objects @frames [@nr] name. */
static void note_objects(struct stack_store *store, const uint64_t *frames, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		uint64_t id = frames[i] >> FPL_FRAME_OBJECT_SHIFT & FPL_FRAME_OBJECT_MAX;

		if (!(frames[i] & FPL_FRAME_RAW))
			store->named[id / 64] |= 1ull << id % 64;
	}
}

static int add_entry(struct stack_store *store, uint64_t hash, const struct identity_part *part,
		     const uint64_t *user, const uint64_t *rest, uint32_t *ret)
{
	size_t charge = frames_charge(part);
	int code = grow(store, (void **)&store->entries, store->nr, &store->capacity,
			sizeof(*store->entries));

	if (!code)
		code = index_grow(store, &store->by_content, entry_hash);
	if (code)
		return code;
	if (!fits(store, charge))
		return -ENOSPC;

	uint64_t *frames = malloc(charge);

	if (!frames)
		return -ENOMEM;
	copy_words(frames, user, part->nr_user);
	copy_words(frames + part->nr_user, rest, nr_rest(part));
	note_objects(store, user, part->nr_user);
	if (part->nr_fp)
		note_objects(store, rest + part->nr_kernel, part->nr_fp);
	if (stack_is_lock(part->flags, part->nr_key))
		note_objects(store, rest + part->nr_kernel + part->nr_fp + FPL_WAIT_PLACE, 1);
	store->entries[store->nr] = (struct entry){ .part = *part, .hash = hash, .frames = frames };
	store->bytes += charge;
	*ret = (uint32_t)store->nr++;
	return 0;
}

bool stack_store_names(const struct stack_store *store, uint32_t object)
{
	return object <= FPL_FRAME_OBJECT_MAX && store->named[object / 64] >> object % 64 & 1;
}

/* Finds or adds the entry with this content. */
static int intern(struct stack_store *store, const struct identity_part *part, const uint64_t *user,
		  const uint64_t *rest, uint32_t *ret)
{
	uint64_t hash = hash_of(part, user, rest);
	struct index *index = &store->by_content;
	size_t at = hash & (index->size - 1);

	for (; index->place[at]; at = (at + 1) & (index->size - 1)) {
		*ret = index->place[at] - 1;
		if (entry_equals(&store->entries[*ret], hash, part, user, rest))
			return 0;
	}

	int code = add_entry(store, hash, part, user, rest, ret);

	if (code)
		return code;
	at = hash & (index->size - 1); /* it may have grown */
	while (index->place[at])
		at = (at + 1) & (index->size - 1);
	index->place[at] = *ret + 1;
	index->nr++;
	return 0;
}

/* The place of @id in by_id: where it is, or where it belongs. */
static size_t id_place(const struct stack_store *store, uint32_t id)
{
	const struct index *index = &store->by_id;
	size_t at = stack_hash_mix(0, id) & (index->size - 1);

	while (index->place[at] && store->ids[index->place[at] - 1].id != id)
		at = (at + 1) & (index->size - 1);
	return at;
}

static int name_entry(struct stack_store *store, uint32_t id, uint32_t entry)
{
	int code = grow(store, (void **)&store->ids, store->nr_ids, &store->ids_capacity,
			sizeof(*store->ids));

	if (!code)
		code = index_grow(store, &store->by_id, id_hash);
	if (code)
		return code;

	size_t at = id_place(store, id);

	if (store->by_id.place[at])
		return 0;
	store->ids[store->nr_ids++] = (struct id_entry){ id, entry, 0 };
	store->by_id.place[at] = (uint32_t)store->nr_ids;
	store->by_id.nr++;
	return 0;
}

/* Is the place of a frame known as an address alone, so that it depends on the program image? */
static bool has_raw(const struct fpl_sample *sample, const uint64_t *user, const uint64_t *rest)
{
	if (!(sample->flags & FPL_SAMPLE_RAW))
		return false;
	for (size_t i = 0; i < sample->nr_user; i++) {
		if (user[i] & FPL_FRAME_RAW && user[i] != FPL_FRAME_GAP)
			return true;
	}
	for (size_t i = 0; i < sample->nr_fp; i++) {
		if (rest[sample->nr_kernel + i] & FPL_FRAME_RAW)
			return true;
	}
	return false;
}

/* The most there were is what is told of a stack. */
static void keep_elided(struct entry *entry, uint32_t elided)
{
	if (elided > entry->elided)
		entry->elided = elided;
}

int stack_store_add(struct stack_store *store, const struct fpl_sample *sample,
		    const uint64_t *user, const uint64_t *rest)
{
	struct identity_part part = {
		.start_ns = sample->start_ns,
		.gen = has_raw(sample, user, rest) ? sample->gen : 0,
		.pid = sample->tgid,
		.tid = store->by & PROFILE_BY_TID ? sample->tid : 0,
		.cpu = store->by & PROFILE_BY_CPU ? sample->cpu : 0,
		.cgroup = store->by & PROFILE_BY_CGROUP ? sample->cgroup : 0,
		.nr_user = sample->nr_user,
		.nr_kernel = sample->nr_kernel,
		.nr_fp = sample->nr_fp,
		.stop = sample->stop,
		/* where the frames are the same, how they were come by makes no two stacks */
		.flags = sample->flags & (FPL_SAMPLE_KTHREAD | FPL_SAMPLE_STATE | FPL_SAMPLE_WAKER),
		.source = (uint8_t)(sample->source % FPL_SOURCES_MAX),
		.nr_key = (uint8_t)sample->nr_key,
	};
	uint32_t entry;

	memcpy(part.comm, sample->comm, strnlen(sample->comm, FPL_COMM_SIZE - 1));

	int code = intern(store, &part, user, rest, &entry);

	if (code)
		return code;
	store->last = entry;
	keep_elided(&store->entries[entry], sample->elided);
	if (!store->entries[entry].first_ns)
		store->entries[entry].first_ns = sample->header.time_ns;
	if (!sample->count || sample->objects || (sample->flags & FPL_SAMPLE_WAKER))
		code = name_entry(store, sample->id, entry);
	if (code || !sample->count)
		return code;
	store->entries[entry].count += sample->count;
	store->entries[entry].weight += sample->weight * sample->count;
	store->entries[entry].squares +=
		(double)sample->weight * (double)sample->weight * sample->count;
	store->entries[entry].objects += sample->objects * sample->count;
	return 0;
}

uint32_t stack_store_last(const struct stack_store *store)
{
	return store->last;
}

uint32_t stack_store_find(const struct stack_store *store, uint32_t id)
{
	size_t at = id_place(store, id);

	return store->by_id.place[at] ? store->ids[store->by_id.place[at] - 1].entry
				      : STACK_STORE_NONE;
}

int stack_store_count(struct stack_store *store, uint32_t id, uint64_t count, uint64_t weight,
		      uint32_t elided)
{
	size_t at = id_place(store, id);

	if (!store->by_id.place[at])
		return -ENOENT;

	struct entry *entry = &store->entries[store->ids[store->by_id.place[at] - 1].entry];

	entry->count += count;
	entry->weight += weight;
	keep_elided(entry, elided);
	return 0;
}

void stack_store_objects(struct stack_store *store, uint32_t id, uint64_t objects)
{
	uint32_t stack = stack_store_find(store, id);

	if (stack != STACK_STORE_NONE)
		store->entries[stack].objects += objects;
}

void stack_store_squares(struct stack_store *store, uint32_t id, double squares)
{
	uint32_t stack = stack_store_find(store, id);

	if (stack != STACK_STORE_NONE)
		store->entries[stack].squares += squares;
}

void stack_store_live(struct stack_store *store, uint32_t stack, uint64_t weight, uint64_t objects)
{
	struct entry *entry = &store->entries[stack];
	double whole = (double)objects / FPL_OBJECT;

	entry->live_weight += weight;
	entry->live_objects += objects;
	entry->live_squares += (double)weight * (double)weight;
	entry->live_objects_squares += whole * whole;
}

int stack_store_news(struct stack_store *store, uint32_t id, uint64_t count, struct stack_news *ret)
{
	size_t at = id_place(store, id);

	if (!store->by_id.place[at])
		return -ENOENT;

	struct id_entry *named = &store->ids[store->by_id.place[at] - 1];
	const struct entry *entry = &store->entries[named->entry];

	*ret = (struct stack_news){
		.user = entry->frames,
		.nr_user = entry->part.nr_user,
		.stop = entry->part.stop,
		.count = count - named->told,
	};
	named->told = count;
	return 0;
}

uint32_t stack_store_nr(const struct stack_store *store)
{
	return (uint32_t)store->nr;
}

uint64_t stack_store_samples(const struct stack_store *store, uint32_t stack)
{
	return store->entries[stack].count;
}

uint64_t stack_store_weight(const struct stack_store *store, uint32_t stack)
{
	return store->entries[stack].weight;
}

/* Whole objects. */
static uint64_t rounded(uint64_t objects)
{
	return (objects + FPL_OBJECT / 2) / FPL_OBJECT;
}

void stack_store_look(const struct stack_store *store, uint32_t stack, struct profile_stack *ret)
{
	const struct entry *entry = &store->entries[stack];

	*ret = (struct profile_stack){
		.count = entry->count,
		.weight = entry->weight,
		.squares = entry->squares,
		.start_ns = entry->part.start_ns,
		.gen = entry->part.gen,
		.first_ns = entry->first_ns,
		.pid = entry->part.pid,
		.tid = entry->part.tid,
		.cpu = entry->part.cpu,
		.cgroup = entry->part.cgroup,
		.stop = entry->part.stop,
		.flags = entry->part.flags,
		.source = entry->part.source,
		.nr_key = entry->part.nr_key,
		.nr_user = entry->part.nr_user,
		.nr_kernel = entry->part.nr_kernel,
		.nr_fp = entry->part.nr_fp,
		.elided = entry->elided,
		.frames = entry->frames,
	};
	if (entry->objects)
		ret->heap = (struct profile_heap_sums){
			.alloc_objects = rounded(entry->objects),
			.alloc_space = entry->weight,
			.inuse_objects = rounded(entry->live_objects),
			.inuse_space = entry->live_weight,
			.inuse_objects_squares = entry->live_objects_squares,
			.inuse_space_squares = entry->live_squares,
		};
	memcpy(ret->comm, entry->part.comm, FPL_COMM_SIZE);
}

int stack_store_places(const struct stack_store *store, uint32_t **ret)
{
	uint32_t *places = calloc(store->nr + 1, sizeof(*places)), nr = 0;

	if (!places)
		return -ENOMEM;
	for (size_t i = 0; i < store->nr; i++)
		places[i] = store->entries[i].count ? nr++ : STACK_STORE_NONE;
	*ret = places;
	return 0;
}

void stack_store_clear(struct stack_store *store)
{
	if (!store->nr && !store->nr_ids)
		return;
	for (size_t i = 0; i < store->nr; i++) {
		store->bytes -= frames_charge(&store->entries[i].part);
		free(store->entries[i].frames);
	}
	store->nr = 0;
	store->nr_ids = 0;
	store->by_content.nr = 0;
	store->by_id.nr = 0;
	memset(store->by_content.place, 0, store->by_content.size * sizeof(uint32_t));
	memset(store->by_id.place, 0, store->by_id.size * sizeof(uint32_t));
	memset(store->named, 0, sizeof(store->named));
}

int stack_store_take(struct stack_store *store, struct profile_stack **ret, size_t *ret_nr)
{
	struct profile_stack *stacks = calloc(store->nr ? store->nr : 1, sizeof(*stacks));
	size_t nr = 0;

	if (!stacks)
		return -ENOMEM;
	for (size_t i = 0; i < store->nr; i++) {
		struct entry *entry = &store->entries[i];

		if (!entry->count)
			continue;
		stack_store_look(store, (uint32_t)i, &stacks[nr]);
		entry->frames = NULL;
		nr++;
	}
	stack_store_clear(store);
	*ret = stacks;
	*ret_nr = nr;
	return 0;
}
