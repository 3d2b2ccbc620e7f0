/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of profile/tables.h, each of which includes it once: real tables, of programs of
 * fixtures, that come from a compiler which has them ready when the test says so, and objects made
 * here in place of a catalog. Published tables are looked up as a walk does it.
 */
#pragma once

#include "tests/unit/cmocka_all.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "profile/tables.h"
#include "tests/support/table_image.h"
#include "tests/support/elf_path.h"

#define NR_OBJECTS 5u
#define NR_JOBS	   16u
#define VADDRS_MAX 4u
#define NR_CHUNKS  1u

enum { HOLE = 1, CHAIN, SIGNAL, LEAF }; /* ids of objects */

/* Jobs given to the compiler, in order. */
struct job {
	const struct object *object;
	enum compiler_part part;
	uint64_t near[VADDRS_MAX];
	size_t nr_near;
	unsigned nr_hastened;
};

struct compiler {
	struct job jobs[NR_JOBS];
	size_t nr_jobs;
	struct compiler_result done[NR_JOBS];
	size_t nr_done;
	bool is_slow, is_full; /* all rows take long; no more jobs are taken */
};

static struct compiler compiler;
static struct object objects[NR_OBJECTS];
static uint64_t first_made, last_made; /* where HOLE has rows made from code */
static uint64_t now_ns;		       /* goes on where a test says so */

uint64_t clock_ns(clockid_t clock)
{
	(void)clock;
	return now_ns;
}

uint64_t clock_monotonic_ns(void)
{
	return now_ns;
}

uint64_t clock_monotonic_ms(void)
{
	return now_ns / NS_PER_MS;
}

int compiler_create(struct parser *parser, struct disk_cache *cache, bool synth,
		    struct compiler **ret, struct fpl_err *err)
{
	(void)parser, (void)cache, (void)synth, (void)err;
	compiler = (struct compiler){ 0 };
	*ret = &compiler;
	return 0;
}

void compiler_destroy(struct compiler *c)
{
	for (size_t i = 0; i < c->nr_done; i++)
		table_destroy(c->done[i].table);
	c->nr_done = 0;
}

bool compiler_is_slow(const struct object *object)
{
	return compiler.is_slow && object->table.stats.synth_left;
}

int compiler_submit(struct compiler *c, const struct object *object, enum compiler_part part,
		    uint64_t vaddr)
{
	if (c->is_full)
		return -ENOMEM;
	assert_true(c->nr_jobs < NR_JOBS);
	c->jobs[c->nr_jobs++] = (struct job){ .object = object, .part = part };
	if (part == COMPILER_NEAR)
		compiler_add_near(c, object, vaddr);
	return 0;
}

int compiler_submit_made(struct compiler *c, const struct object *object, struct table *table)
{
	if (c->is_full)
		return -ENOMEM;
	c->done[c->nr_done++] = (struct compiler_result){ .object = object->id,
							  .part = COMPILER_CFI,
							  .table = table };
	return 0;
}

void compiler_add_near(struct compiler *c, const struct object *object, uint64_t vaddr)
{
	for (size_t i = 0; i < c->nr_jobs; i++) {
		struct job *job = &c->jobs[i];

		if (job->object == object && job->part == COMPILER_NEAR) {
			assert_true(job->nr_near < VADDRS_MAX);
			job->near[job->nr_near++] = vaddr;
		}
	}
}

void compiler_hasten(struct compiler *c, const struct object *object)
{
	for (size_t i = 0; i < c->nr_jobs; i++)
		if (c->jobs[i].object == object && c->jobs[i].part == COMPILER_CFI)
			c->jobs[i].nr_hastened++;
}

int compiler_fd(const struct compiler *c)
{
	(void)c;
	return -1;
}

bool compiler_take(struct compiler *c, struct compiler_result *ret)
{
	if (!c->nr_done)
		return false;
	*ret = c->done[0];
	memmove(c->done, c->done + 1, --c->nr_done * sizeof(*c->done));
	return true;
}

size_t compiler_nr_open(const struct compiler *c)
{
	return c->nr_jobs + c->nr_done;
}

size_t catalog_nr_live(const struct catalog *catalog)
{
	(void)catalog;
	return NR_OBJECTS;
}

struct object *catalog_live(const struct catalog *catalog, size_t i)
{
	return catalog_at(catalog, (uint32_t)i + 1);
}

struct object *catalog_at(const struct catalog *catalog, uint32_t id)
{
	(void)catalog;
	return id >= 1 && id <= NR_OBJECTS ? &objects[id - 1] : NULL;
}

static inline struct object *object_of(uint32_t id)
{
	return &objects[id - 1];
}

struct world {
	struct tables tables;
	struct fpl_object slots[NR_OBJECTS + 1];
	void *chunks[NR_CHUNKS];
	bool mapped[NR_OBJECTS], used[NR_OBJECTS]; /* as processes have them, and walks */
	struct space_extent filler;		   /* of the pool: what fill_pool() has taken */
	bool no_chunks;
	unsigned int nr_looks;
};

static inline int make_chunk(void *ctx, uint32_t number, void **ret, struct fpl_err *err)
{
	struct world *world = ctx;

	if (world->no_chunks)
		return fpl_fail(err, -EPERM, "chunk %u: refused", number);
	*ret = world->chunks[number] = calloc(1, FPL_CHUNK_SIZE);
	return 0;
}

static inline void mark_mapped(void *ctx, uint64_t round)
{
	const struct world *world = ctx;

	for (size_t i = 0; i < NR_OBJECTS; i++)
		if (world->mapped[i])
			objects[i].round = round;
}

static inline void look_at_use(void *ctx, uint64_t look)
{
	struct world *world = ctx;

	world->nr_looks++;
	for (size_t i = 0; i < NR_OBJECTS; i++) {
		if (!world->used[i])
			continue;
		objects[i].table.used += 10;
		objects[i].table.used_look = look;
	}
}

static inline void begin(struct world *world, uint64_t max_bytes)
{
	const struct tables_config config = {
		.max_bytes = max_bytes,
		.synth = true,
		.slots = world->slots,
		.make_chunk = make_chunk,
		.make_ctx = world,
		.mark_mapped = mark_mapped,
		.mark_ctx = world,
		.look_at_use = look_at_use,
		.use_ctx = world,
	};

	assert_int_equal(tables_init(&world->tables, &config, NULL), 0);
}

static inline int tables_world_set_up(void **state)
{
	struct world *world = calloc(1, sizeof(*world));

	for (uint32_t id = 1; id <= NR_OBJECTS; id++) {
		struct object *object = object_of(id);

		*object = (struct object){
			.id = id, .slot = (uint16_t)id, .path = object->path, .elf = object->elf
		};
		world->mapped[id - 1] = true;
	}
	now_ns = 3600 * NS_PER_S;
	begin(world, FPL_CHUNK_SIZE);
	*state = world;
	return 0;
}

static inline void end(struct world *world)
{
	tables_fini(&world->tables);
	for (size_t i = 0; i < NR_CHUNKS; i++)
		free(world->chunks[i]);
	memset(world->chunks, 0, sizeof(world->chunks));
}

static inline int tables_world_tear_down(void **state)
{
	end(*state);
	free(*state);
	return 0;
}

/* Takes the first job for @part of object @id off the compiler's list. */
static inline struct job begin_job(uint32_t id, enum compiler_part part)
{
	for (size_t i = 0; i < compiler.nr_jobs; i++) {
		struct job job = compiler.jobs[i];

		if (job.object != object_of(id) || job.part != part)
			continue;
		memmove(compiler.jobs + i, compiler.jobs + i + 1,
			(--compiler.nr_jobs - i) * sizeof(job));
		return job;
	}
	fail_msg("no job for part %d of object %u", (int)part, id);
	return (struct job){ 0 };
}

static inline struct table *compile(uint32_t id, const struct job *job)
{
	struct table_limits limits = table_limits_default;
	struct table *table;

	if (job->part == COMPILER_CFI && id == HOLE)
		limits.synth_later = true; /* all but what a PLT has is left for later */
	limits.synth_near = job->near;
	limits.nr_synth_near = job->nr_near;
	assert_int_equal(table_compile(object_of(id)->elf, NULL, &limits, &table, NULL), 0);
	return table;
}

static inline void done(uint32_t id, enum compiler_part part, struct table *table, int code)
{
	struct compiler_result *result = &compiler.done[compiler.nr_done++];

	*result = (struct compiler_result){
		.object = id, .part = part, .table = table, .code = code
	};
	if (code)
		(void)!fpl_fail(&result->err, code, "%s: a test fails", object_of(id)->path);
}

/* The compiler has done what was asked for; it is not taken in yet. */
static inline void finish(uint32_t id, enum compiler_part part)
{
	struct job job = begin_job(id, part);

	done(id, part, compile(id, &job), 0);
}

static inline void fail_job(uint32_t id, enum compiler_part part, int code)
{
	begin_job(id, part);
	done(id, part, NULL, code);
}

/* ... with a table of so many bytes: none of the object's. */
static inline void finish_with(uint32_t id, uint32_t bytes)
{
	begin_job(id, COMPILER_CFI);
	done(id, COMPILER_CFI, table_of_pattern(bytes, id), 0);
}

static inline void collect(struct world *world, size_t nr)
{
	assert_int_equal(tables_collect(&world->tables), nr);
	assert_int_equal(compiler.nr_done, 0);
}

static inline const struct fpl_image *current(const struct world *world, uint32_t id)
{
	const struct fpl_object *slot = &world->slots[id];

	assert_in_range(slot->current, 0, 1);
	return &slot->images[slot->current];
}

/* The rule that a walk finds at @vaddr of a published object. */
static inline const struct fpl_rule *find(const struct world *world, uint32_t id, uint64_t vaddr)
{
	const struct fpl_object *slot = &world->slots[id];
	const struct fpl_image *image = current(world, id);
	uint8_t *chunk = world->chunks[image->base >> FPL_CHUNK_LOG2];
	uint8_t *bytes = chunk + image->base % FPL_CHUNK_SIZE;
	const struct table table = { .chunks = &bytes,
				     .nr_chunks = 1,
				     .rules_off = image->rules_off,
				     .dir_off = image->dir_off,
				     .nr_pages = slot->nr_pages,
				     .first_vaddr = slot->first_vaddr };

	assert_int_equal(slot->object, id);
	return table_find(&table, vaddr);
}

static inline bool has_row_at(const struct world *world, uint64_t vaddr)
{
	return find(world, HOLE, vaddr)->cfa != FPL_CFA_NONE;
}

/* At the entry of a program its CFI has a row. */
static inline void assert_cfi_is_there(const struct world *world, uint32_t id)
{
	const struct fpl_rule *rule = find(world, id, object_of(id)->elf->entry);

	assert_int_not_equal(rule->cfa, FPL_CFA_NONE);
	assert_false(rule->flags & FPL_RULE_SYNTH);
}

static inline void assert_published(const struct world *world, uint32_t id, enum table_phase state)
{
	assert_int_equal(object_of(id)->table.phase, state);
	assert_int_equal(world->slots[id].object, id);
	assert_int_equal(current(world, id)->state,
			 state == TABLE_PARTIAL ? FPL_TABLE_PARTIAL : FPL_TABLE_READY);
	assert_int_equal(current(world, id)->base, object_of(id)->table.pool_first);
}

/* The compiler has done what was asked for, and what it made is published at once. */
static inline void deliver(struct world *world, uint32_t id, enum compiler_part part,
			   enum table_phase state)
{
	finish(id, part);
	collect(world, 1);
	assert_published(world, id, state);
}

static inline uint64_t used_bytes(const struct world *world)
{
	return pool_used_bytes(&world->tables.pool);
}

/* The table of @id is there as its CFI alone makes it. */
static inline void publish_cfi(struct world *world, uint32_t id)
{
	tables_want(&world->tables, object_of(id));
	finish(id, COMPILER_CFI);
	collect(world, 1);
}

/* A table of so many bytes is made for @id, and published if there is room. */
static inline void make_bytes(struct world *world, uint32_t id, uint32_t bytes)
{
	tables_want(&world->tables, object_of(id));
	finish_with(id, bytes);
	collect(world, 1);
}

/* Time passes: pauses of a second, and of a minute, are over. */
static inline void let_pass(void)
{
	now_ns += 3600 * NS_PER_S;
}

/* Takes all of the pool but for @bytes. */
static inline void fill_pool(struct world *world, uint64_t bytes)
{
	uint64_t taken = pool_max_bytes(&world->tables.pool) - used_bytes(world) - bytes;
	struct table *filler = table_of_pattern((uint32_t)taken, 99);

	assert_int_equal(pool_add(&world->tables.pool, filler, &world->filler.first,
				  &world->filler.nr, NULL),
			 0);
	table_destroy(filler);
}

/* Gives that back. */
static inline void empty_pool(struct world *world)
{
	pool_remove(&world->tables.pool, world->filler.first, world->filler.nr);
	let_pass();
}

/* Rows that HOLE has from its code, which are left for later at first. */
static inline void find_made(void)
{
	const struct job whole = { .part = COMPILER_WHOLE }, cfi = { .part = COMPILER_CFI };
	struct table *table = compile(HOLE, &whole), *first = compile(HOLE, &cfi);
	uint64_t vaddr = table->first_vaddr, start, end;

	while (vaddr < table->first_vaddr + ((uint64_t)table->nr_pages << FPL_PAGE_LOG2)) {
		const struct fpl_rule *rule = table_find_reach(table, vaddr, &start, &end);

		if (rule->cfa != FPL_CFA_NONE && table_find(first, vaddr)->cfa == FPL_CFA_NONE) {
			first_made = first_made ? first_made : vaddr;
			last_made = end - 1;
		}
		vaddr = end > vaddr ? end : vaddr + 1;
	}
	table_destroy(table);
	table_destroy(first);
}

static inline int tables_world_open(void **state)
{
	static const char *const paths[NR_OBJECTS] = { FIXTURES "/hole", FIXTURES "/chain",
						       FIXTURES "/signal", FIXTURES "/leaf",
						       FIXTURES "/alloca" };

	(void)state;
	for (size_t i = 0; i < NR_OBJECTS; i++) {
		struct elf_file *elf;

		if (elf_file_open_path(paths[i], &elf, NULL))
			return -1;
		objects[i].path = (char *)(uintptr_t)paths[i];
		objects[i].elf = elf;
	}
	find_made();
	return first_made && last_made > first_made + 0x10000 ? 0 : -1;
}

static inline int tables_world_close(void **state)
{
	(void)state;
	for (size_t i = 0; i < NR_OBJECTS; i++)
		elf_file_close(objects[i].elf);
	return 0;
}
