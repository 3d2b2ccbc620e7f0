/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/rss_book.h"

#include <stdlib.h>
#include <string.h>

void rss_book_fini(struct rss_book *book)
{
	for (size_t i = 0; i < book->spaces.nr; i++)
		vector_fini(&book->spaces.list[i].pieces);
	vector_fini(&book->spaces);
	vector_fini(&book->unused);
	vector_fini(&book->starts);
	id_table_fini(&book->by_memory);
	book->nr_pieces = 0;
}

int rss_book_start(struct rss_book *book, const struct rss_start *start)
{
	return vector_push(&book->starts, *start);
}

static struct rss_start *start_of(const struct rss_book *book, uint32_t tgid)
{
	for (size_t i = 0; i < book->starts.nr; i++)
		if (book->starts.list[i].tgid == tgid)
			return &book->starts.list[i];
	return NULL;
}

const char *rss_book_comm(const struct rss_book *book, uint32_t tgid)
{
	const struct rss_start *start = start_of(book, tgid);

	return start ? start->comm : NULL;
}

static void drop_pieces(struct rss_book *book, struct rss_space *space)
{
	book->nr_pieces -= space->pieces.nr;
	vector_fini(&space->pieces);
	space->first = 0;
	space->bytes = 0;
}

/* The last piece grows where it is of the same stack, or where there is no room for another. */
static void grow(struct rss_book *book, struct rss_space *space, uint32_t id, uint64_t bytes)
{
	struct rss_piece *last =
		space->first < space->pieces.nr ? &space->pieces.list[space->pieces.nr - 1] : NULL;
	bool has_room = book->nr_pieces < RSS_PIECES_MAX;

	if (last && (last->id == id || !has_room)) {
		last->id = has_room || last->id == id ? last->id : 0;
		last->bytes += bytes;
	} else if (vector_push(&space->pieces, (struct rss_piece){ .bytes = bytes, .id = id })) {
		return;
	} else {
		book->nr_pieces++;
	}
	space->bytes += bytes;
}

/* Forget the places of pieces that were given back, once they are most of all. */
static void pack(struct rss_book *book, struct rss_space *space)
{
	size_t nr = space->pieces.nr - space->first;

	if (space->first < 1024 || space->first < nr)
		return;
	memmove(space->pieces.list, space->pieces.list + space->first,
		nr * sizeof(*space->pieces.list));
	book->nr_pieces -= space->first;
	space->pieces.nr = nr;
	space->first = 0;
}

static void shrink(struct rss_book *book, struct rss_space *space, uint64_t bytes)
{
	space->bytes -= bytes;
	while (bytes) {
		struct rss_piece *oldest = &space->pieces.list[space->first];

		if (oldest->bytes > bytes) {
			oldest->bytes -= bytes;
			break;
		}
		bytes -= oldest->bytes;
		space->first++;
	}
	pack(book, space);
}

/* Let the space be of @bytes: what is more came at the stack @id. */
static void resize(struct rss_book *book, struct rss_space *space, uint64_t bytes, uint32_t id)
{
	if (bytes > space->bytes)
		grow(book, space, id, bytes - space->bytes);
	else
		shrink(book, space, space->bytes - bytes);
}

/* The process has gone; the place of the space may be used again. */
static void drop_space(struct rss_book *book, struct rss_space *space)
{
	drop_pieces(book, space);
	space->is_over = true;
	space->tgid = 0;
	if (vector_push(&book->unused, (uint32_t)(space - book->spaces.list)))
		return; /* it is not used again */
}

/* A process has executed another program: what it had before has gone. */
static void drop_earlier(struct rss_book *book, const struct rss_space *now)
{
	for (size_t i = 0; i < book->spaces.nr; i++) {
		struct rss_space *space = &book->spaces.list[i];

		if (space->tgid == now->tgid && space->mm_id != now->mm_id)
			drop_space(book, space);
	}
}

/* A process has changed the space by itself for the first time. */
static void adopt(struct rss_book *book, struct rss_space *space, uint32_t tgid)
{
	struct rss_start *start = start_of(book, tgid);

	space->tgid = tgid;
	drop_earlier(book, space);
	if (!start)
		return;
	grow(book, space, 0, start->bytes[space->kind]);
	start->bytes[space->kind] = 0;
}

static uint64_t hash_of(uint32_t mm_id, uint32_t kind)
{
	const uint32_t words[] = { mm_id, kind };

	return id_table_hash(0, words, sizeof(words));
}

/* A new space. Returns its index; ID_TABLE_NONE: no memory. */
static uint32_t add_space(struct rss_book *book, uint32_t mm_id, uint32_t kind)
{
	const struct rss_space space = { .mm_id = mm_id, .kind = kind };
	bool is_new = !book->unused.nr;
	uint32_t at;

	if (is_new && vector_push(&book->spaces, space))
		return ID_TABLE_NONE;
	at = is_new ? (uint32_t)book->spaces.nr - 1 : book->unused.list[book->unused.nr - 1];
	if (id_table_add(&book->by_memory, hash_of(mm_id, kind), at)) {
		book->spaces.nr -= is_new;
		return ID_TABLE_NONE;
	}
	book->unused.nr -= !is_new;
	book->spaces.list[at] = space;
	return at;
}

/* The space that @change is of; NULL: none is known, or no memory. */
static struct rss_space *space_of(struct rss_book *book, const struct fpl_rss *change)
{
	const struct rss_space *list = book->spaces.list;
	uint32_t at = ID_TABLE_FIND(&book->by_memory, hash_of(change->mm_id, change->kind), i,
				    list[i].mm_id == change->mm_id &&
					    list[i].kind == change->kind && !list[i].is_over);

	if (at == ID_TABLE_NONE && !(change->flags & FPL_RSS_OVER))
		at = add_space(book, change->mm_id, change->kind);
	return at == ID_TABLE_NONE ? NULL : &book->spaces.list[at];
}

/* The last user of the memory has gone. */
static void end_space(struct rss_book *book, struct rss_space *space)
{
	if (space->tgid && book->is_named(book->ctx, space->tgid))
		space->is_over = true;
	else
		drop_space(book, space);
}

void rss_book_note(struct rss_book *book, const struct fpl_rss *change)
{
	struct rss_space *space = space_of(book, change);
	uint64_t before = change->before;

	if (!space)
		return;
	if (change->flags & FPL_RSS_OVER) {
		end_space(book, space);
		return;
	}
	if ((change->flags & FPL_RSS_OWN) && !space->tgid)
		adopt(book, space, change->tgid);
	if (change->flags & FPL_RSS_FIRST)
		before = space->bytes < change->size ? space->bytes : change->size;
	resize(book, space, before, 0);
	resize(book, space, change->size, change->id);
}

void rss_book_end(struct rss_book *book, uint32_t tgid)
{
	if (!tgid || book->is_named(book->ctx, tgid))
		return;
	for (size_t i = 0; i < book->spaces.nr; i++)
		if (book->spaces.list[i].tgid == tgid)
			drop_space(book, &book->spaces.list[i]);
}

void rss_book_for_each(const struct rss_book *book, rss_piece_fn *fn, void *ctx)
{
	for (size_t i = 0; i < book->spaces.nr; i++) {
		const struct rss_space *space = &book->spaces.list[i];

		for (size_t k = space->first; space->tgid && k < space->pieces.nr; k++)
			fn(space->tgid, space->pieces.list[k].id, space->pieces.list[k].bytes, ctx);
	}
	for (size_t i = 0; i < book->starts.nr; i++) {
		const struct rss_start *start = &book->starts.list[i];

		for (uint32_t kind = 0; kind < FPL_RSS_KINDS; kind++)
			if (start->bytes[kind])
				fn(start->tgid, 0, start->bytes[kind], ctx);
	}
}
