/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/script_codes.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/id_table.h"
#include "base/log.h"
#include "base/vector.h"
#include "parse/client.h"
#include "profile/share.h"
#include "profile/stack_hash.h"
#include "script/language.h"
#include "script/names.h"

#define NO_FRAME UINT32_MAX /* stands for all that there was no room for */

struct code {
	uint64_t gen, word, content;
	uint64_t version;
	uint32_t language;
	struct fpl_script_code *record; /* owned: its first bytes; NULL: no line is asked for */
	uint32_t record_size;
	uint32_t first_line;
	const char *function, *file; /* in the answers; NULL: not known */
	bool was_asked;
	/* of one that is not sent */
	bool is_wanted; /* it is to be read, or is being read */
	enum script_unnamed why;
	uint32_t pid;
	uint64_t start_ns;
	const struct fpl_script_rule *rule; /* in rules */
};

struct frame {
	uint32_t place, code, line;
};

struct script_codes {
	_Atomic uint32_t nr_holders;
	size_t max_bytes;
	bool is_live;

	pthread_mutex_t
		naming; /* one at a time asks for names; of the two below, and before lock */
	struct parse_client *client;  /* owned, while it is live; NULL: none yet */
	bool was_said;		      /* that names could not be had */
	struct script_memory *memory; /* owned, of who reads; NULL: nothing was read yet */

	pthread_mutex_t lock; /* of all below */
	VECTOR(struct code) codes;
	VECTOR(struct frame) frames;
	size_t nr_asked; /* frames */
	struct id_table code_ids, frame_ids;
	size_t record_bytes, text_bytes;
	VECTOR(char *) texts;			/* owned: of each answer */
	VECTOR(struct fpl_script_rule *) rules; /* owned: of code that is not sent */
	size_t nr_wanted;			/* that are to be read */
	struct share_book wanted_of;		/* all that ever were, by process */
	uint64_t nr_ever_wanted;
	struct script_stats stats;
};

int script_codes_create(size_t max_bytes, bool is_live, struct script_codes **ret)
{
	struct script_codes *codes = calloc(1, sizeof(*codes));

	if (!codes)
		return -ENOMEM;
	atomic_init(&codes->nr_holders, 1);
	codes->max_bytes = max_bytes;
	codes->is_live = is_live;
	pthread_mutex_init(&codes->naming, NULL);
	pthread_mutex_init(&codes->lock, NULL);
	*ret = codes;
	return 0;
}

struct script_codes *script_codes_get(struct script_codes *codes)
{
	if (codes)
		atomic_fetch_add(&codes->nr_holders, 1);
	return codes;
}

void script_codes_put(struct script_codes *codes)
{
	if (!codes || atomic_fetch_sub(&codes->nr_holders, 1) > 1)
		return;
	client_close(codes->client);
	for (size_t i = 0; i < codes->codes.nr; i++)
		free(codes->codes.list[i].record);
	for (size_t i = 0; i < codes->texts.nr; i++)
		free(codes->texts.list[i]);
	for (size_t i = 0; i < codes->rules.nr; i++)
		free(codes->rules.list[i]);
	script_memory_destroy(codes->memory);
	vector_fini(&codes->rules);
	vector_fini(&codes->codes);
	vector_fini(&codes->frames);
	vector_fini(&codes->texts);
	id_table_fini(&codes->code_ids);
	id_table_fini(&codes->frame_ids);
	pthread_mutex_destroy(&codes->naming);
	pthread_mutex_destroy(&codes->lock);
	free(codes);
}

static uint64_t hash_of(uint64_t a, uint64_t b)
{
	return stack_hash_mix(stack_hash_mix(0x9e3779b97f4a7c15u, a), b);
}

static uint32_t find_code(const struct script_codes *codes, uint64_t gen, uint64_t word,
			  uint64_t content)
{
	const struct code *list = codes->codes.list;

	return ID_TABLE_FIND(&codes->code_ids, hash_of(gen ^ content << 32, word), i,
			     list[i].gen == gen && list[i].word == word &&
				     list[i].content == content);
}

/* Keep the bytes of @record. Returns false where there is no room, or no sense in it. */
static bool keep_record(struct script_codes *codes, const struct fpl_script_code *record,
			size_t size, struct code *ret)
{
	if (!ret->language || size > sizeof(*record) || codes->record_bytes >= codes->max_bytes ||
	    size > codes->max_bytes - codes->record_bytes)
		return false;
	ret->record = malloc(size);
	if (!ret->record)
		return false;
	memcpy(ret->record, record, size);
	ret->record_size = (uint32_t)size;
	codes->record_bytes += size;
	return true;
}

/* Append @code, whose record is taken over. Returns false where there is no room. */
static bool push_code(struct script_codes *codes, const struct code *code)
{
	if (codes->codes.nr >= SCRIPT_CODES_MAX || vector_push(&codes->codes, *code)) {
		free(code->record);
		codes->record_bytes -= code->record_size;
		return false;
	}
	codes->stats.codes++;
	(void)!id_table_add(&codes->code_ids, hash_of(code->gen ^ code->content << 32, code->word),
			    (uint32_t)codes->codes.nr - 1);
	return true;
}

static void add_code(struct script_codes *codes, const struct script_facts *facts,
		     const struct fpl_script_code *record, size_t size)
{
	struct code code = { .gen = record->gen,
			     .word = record->code,
			     .content = record->content,
			     .version = facts->version,
			     .language = facts->language };

	if (find_code(codes, code.gen, code.word, code.content) != ID_TABLE_NONE)
		return;
	if (!keep_record(codes, record, size, &code) || !push_code(codes, &code))
		codes->stats.refused_codes++;
}

void script_codes_add(struct script_codes *codes, const struct script_facts *facts,
		      const struct fpl_script_code *record, size_t size)
{
	pthread_mutex_lock(&codes->lock);
	add_code(codes, facts, record, size);
	pthread_mutex_unlock(&codes->lock);
}

/* The copy of @rule; NULL: there is no room. */
static const struct fpl_script_rule *keep_rule(struct script_codes *codes,
					       const struct fpl_script_rule *rule)
{
	struct fpl_script_rule *copy;

	for (size_t i = 0; i < codes->rules.nr; i++)
		if (codes->rules.list[i]->object == rule->object)
			return codes->rules.list[i];
	if (codes->rules.nr >= FPL_SCRIPT_RULES_MAX)
		return NULL;
	copy = malloc(sizeof(*copy));
	if (!copy)
		return NULL;
	*copy = *rule;
	if (!vector_push(&codes->rules, copy))
		return copy;
	free(copy);
	return NULL;
}

/* Has process @pid room for one more code object that is read? */
static bool may_want(const struct script_codes *codes, uint32_t pid)
{
	return codes->nr_ever_wanted < SCRIPT_WANTED_MAX &&
	       share_used(&codes->wanted_of, pid) < share_of(SCRIPT_WANTED_MAX);
}

static void want(struct script_codes *codes, const struct script_facts *facts, uint64_t gen,
		 const struct script_wanted *wanted)
{
	struct code code = { .gen = gen,
			     .word = wanted->word,
			     .content = wanted->content,
			     .version = facts->version,
			     .language = facts->language,
			     .is_wanted = true,
			     .pid = wanted->pid,
			     .start_ns = wanted->start_ns };

	if (find_code(codes, code.gen, code.word, code.content) != ID_TABLE_NONE)
		return;
	if (may_want(codes, wanted->pid))
		code.rule = keep_rule(codes, wanted->rule);
	if (!code.rule || !push_code(codes, &code)) {
		codes->stats.refused_codes++;
		return;
	}
	share_take(&codes->wanted_of, wanted->pid, 1);
	codes->nr_ever_wanted++;
	codes->nr_wanted++;
}

void script_codes_want(struct script_codes *codes, const struct script_facts *facts, uint64_t gen,
		       const struct script_wanted *wanted)
{
	pthread_mutex_lock(&codes->lock);
	want(codes, facts, gen, wanted);
	pthread_mutex_unlock(&codes->lock);
}

/* Under the lock: @code is wanted no more. */
static void settle(struct script_codes *codes, struct code *code, enum script_unnamed why)
{
	code->is_wanted = false;
	code->why = why;
	codes->nr_wanted--;
}

/* script_read_fn */
static void take_read(void *ctx, const struct script_wanted *wanted,
		      const struct fpl_script_code *record, size_t size, enum script_unnamed why)
{
	struct script_codes *codes = ctx;
	struct code *code;

	pthread_mutex_lock(&codes->lock);
	code = &codes->codes.list[wanted->code];
	settle(codes, code, record ? SCRIPT_UNNAMED_UNKNOWN : why);
	if (record && !keep_record(codes, record, size, code))
		codes->stats.refused_codes++;
	pthread_mutex_unlock(&codes->lock);
}

/* List the code objects that are wanted [*ret_nr]: the caller's; NULL: none is, or no memory. */
static struct script_wanted *list_wanted(struct script_codes *codes, size_t *ret_nr)
{
	struct script_wanted *list = NULL;
	size_t nr = 0;

	pthread_mutex_lock(&codes->lock);
	if (codes->nr_wanted)
		list = calloc(codes->nr_wanted, sizeof(*list));
	for (size_t i = 0; list && nr < codes->nr_wanted; i++) {
		const struct code *code = &codes->codes.list[i];

		if (code->is_wanted)
			list[nr++] = (struct script_wanted){ .rule = code->rule,
							     .start_ns = code->start_ns,
							     .word = code->word,
							     .content = (uint32_t)code->content,
							     .pid = code->pid,
							     .language = code->language,
							     .code = (uint32_t)i };
	}
	pthread_mutex_unlock(&codes->lock);
	*ret_nr = nr;
	return list;
}

/* The code objects of @list [@nr] that were not read have no name. */
static void give_up(struct script_codes *codes, const struct script_wanted *list, size_t nr)
{
	pthread_mutex_lock(&codes->lock);
	for (size_t i = 0; i < nr; i++) {
		struct code *code = &codes->codes.list[list[i].code];

		if (code->is_wanted)
			settle(codes, code, SCRIPT_UNNAMED_UNREAD);
	}
	pthread_mutex_unlock(&codes->lock);
}

/* Under naming. */
static void read_wanted(struct script_codes *codes, bool is_last)
{
	AUTO_FREE struct script_wanted *list = NULL;
	uint64_t until_ns = clock_monotonic_ns() + SCRIPT_READ_S * NS_PER_S;
	size_t nr;

	list = list_wanted(codes, &nr);
	if (!list || (!codes->memory && script_memory_create(&codes->memory)))
		return;
	script_memory_read(codes->memory, list, nr, until_ns, take_read, codes);
	if (is_last)
		give_up(codes, list, nr);
}

void script_codes_read(struct script_codes *codes, bool is_last)
{
	pthread_mutex_lock(&codes->naming);
	read_wanted(codes, is_last);
	pthread_mutex_unlock(&codes->naming);
}

bool script_codes_has(struct script_codes *codes, uint64_t gen, uint64_t word, uint64_t place)
{
	bool found;

	pthread_mutex_lock(&codes->lock);
	found = find_code(codes, gen, word, place >> 32) != ID_TABLE_NONE;
	pthread_mutex_unlock(&codes->lock);
	return found;
}

/* The number of the frame at @place of @code; NO_FRAME: there is no room for it. */
static uint32_t intern_frame(struct script_codes *codes, uint32_t code, uint32_t place)
{
	const struct frame *list = codes->frames.list;
	uint32_t at = ID_TABLE_FIND(&codes->frame_ids, hash_of(code, place), i,
				    list[i].code == code && list[i].place == place);

	if (at != ID_TABLE_NONE)
		return at;
	at = (uint32_t)codes->frames.nr;
	if (at >= SCRIPT_LINES_MAX ||
	    vector_push(&codes->frames, (struct frame){ .code = code, .place = place }))
		return NO_FRAME;
	(void)!id_table_add(&codes->frame_ids, hash_of(code, place), at);
	return at;
}

uint64_t script_codes_frame(struct script_codes *codes, uint64_t gen, uint64_t word, uint64_t place)
{
	uint32_t at = NO_FRAME, code;

	pthread_mutex_lock(&codes->lock);
	code = find_code(codes, gen, word, place >> 32);
	if (code != ID_TABLE_NONE)
		at = intern_frame(codes, code, (uint32_t)place);
	pthread_mutex_unlock(&codes->lock);
	return FPL_FRAME_SCRIPT | at;
}

void script_codes_count(struct script_codes *codes, const struct script_stats *stats)
{
	pthread_mutex_lock(&codes->lock);
	codes->stats.chains += stats->chains;
	codes->stats.differ += stats->differ;
	codes->stats.no_room += stats->no_room;
	for (size_t i = 0; i < FPL_SCRIPT_END_COUNT; i++)
		codes->stats.ends[i] += stats->ends[i];
	pthread_mutex_unlock(&codes->lock);
}

/* Frames without a line, those of a code behind each other. */
struct question {
	struct asked {
		uint32_t code, frame;
	} *list; /* owned [nr] */
	size_t nr, nr_codes;
};

static int by_code(const void *a, const void *b)
{
	const struct asked *x = a, *y = b;

	if (x->code != y->code)
		return x->code < y->code ? -1 : 1;
	return (x->frame > y->frame) - (x->frame < y->frame);
}

/* Frames of the same code as the one at @at, that one among them. */
static size_t nr_of_code(const struct question *question, size_t at)
{
	size_t end = at + 1;

	while (end < question->nr && question->list[end].code == question->list[at].code)
		end++;
	return end - at;
}

/* Take all frames that are new: each is asked for once, whatever comes of it. */
static int make_question(struct script_codes *codes, struct question *ret)
{
	size_t first = codes->nr_asked, nr = codes->frames.nr - first;

	*ret = (struct question){ .list = calloc(nr + 1, sizeof(*ret->list)) };
	if (!ret->list)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		uint32_t code = codes->frames.list[first + i].code;

		/* it has come since what is wanted was read */
		if (codes->codes.list[code].is_wanted)
			break;
		codes->nr_asked++;
		if (codes->codes.list[code].record)
			ret->list[ret->nr++] =
				(struct asked){ .code = code, .frame = (uint32_t)(first + i) };
	}
	qsort(ret->list, ret->nr, sizeof(*ret->list), by_code);
	for (size_t i = 0; i < ret->nr; i += nr_of_code(ret, i))
		ret->nr_codes++;
	return 0;
}

/* The file that a worker reads (script/names.h). A record that is not asked about again is freed as
 * soon as it is in there. */
static int write_question(struct script_codes *codes, const struct question *question, FILE *to)
{
	for (size_t i = 0, nr; i < question->nr; i += nr) {
		struct code *code = &codes->codes.list[question->list[i].code];

		nr = nr_of_code(question, i);
		const struct script_file_code head = {
			.version = code->version,
			.language = code->language,
			.record_size = code->record_size,
			.nr_places = (uint32_t)nr,
		};

		fwrite(&head, sizeof(head), 1, to);
		fwrite(code->record, code->record_size, 1, to);
		for (size_t j = i; j < i + nr; j++)
			fwrite(&codes->frames.list[question->list[j].frame].place, sizeof(uint32_t),
			       1, to);
		code->was_asked = true;
		if (!codes->is_live) {
			free(code->record);
			code->record = NULL;
		}
	}
	return fflush(to) || ferror(to) ? -EIO : 0;
}

/* Is there a name for each code, and a line for each of its frames? */
static bool is_answer(const struct question *question, const struct script_names *names)
{
	size_t at = 0;

	if (names->nr_codes != question->nr_codes)
		return false;
	for (size_t i = 0; i < names->nr_codes; i++) {
		size_t nr = nr_of_code(question, at);

		if (names->codes[i].nr_lines != nr)
			return false;
		at += nr;
	}
	return true;
}

static const char *text_at(const struct script_names *names, uint32_t at)
{
	return at == SCRIPT_NO_TEXT ? NULL : names->text + at;
}

/* Take the answer over: its text stays where it is. Without room for that there are no names. */
static int take_answer(struct script_codes *codes, const struct question *question,
		       struct script_names *names)
{
	size_t at = 0;

	if (!is_answer(question, names))
		return -EBADMSG;
	if (names->text_size > SCRIPT_TEXT_MAX - codes->text_bytes)
		return -ENOSPC;
	if (vector_push(&codes->texts, names->text))
		return -ENOMEM;
	codes->text_bytes += names->text_size;
	for (size_t i = 0; i < names->nr_codes; i++) {
		const struct script_name *name = &names->codes[i];
		struct code *code = &codes->codes.list[question->list[at].code];

		if (!code->function) {
			code->function = text_at(names, name->function);
			code->file = text_at(names, name->file);
			code->first_line = name->first_line;
		}
		for (size_t end = at + name->nr_lines; at < end; at++)
			codes->frames.list[question->list[at].frame].line = names->lines[at];
	}
	names->text = NULL;
	return 0;
}

static int ask(struct script_codes *codes, struct parser *parser, int fd, struct script_names *ret,
	       struct fpl_err *err)
{
	struct client_file file;
	int code = client_file_init(&file, fd, "code objects of scripts");

	if (code)
		return fpl_fail(err, code, "%s", strerror(-code));
	if (!codes->client)
		code = client_open(parser, &codes->client, err);
	if (!code)
		code = client_script(codes->client, &file, ret, err);
	if (!codes->is_live) {
		client_close(codes->client);
		codes->client = NULL;
	}
	return code;
}

/* Write the question about what is new into @to. */
static int put_question(struct script_codes *codes, FILE *to, struct question *ret)
{
	int code;

	pthread_mutex_lock(&codes->lock);
	code = make_question(codes, ret);
	if (!code)
		code = write_question(codes, ret, to);
	pthread_mutex_unlock(&codes->lock);
	return code;
}

static int name_new(struct script_codes *codes, struct parser *parser, struct fpl_err *err)
{
	CLEANUP(script_names_fini) struct script_names names = { 0 };
	struct question question = { 0 };
	int fd = memfd_create("fpless-scripts", MFD_CLOEXEC), code = -ENOMEM;
	FILE *to = fd >= 0 ? fdopen(fd, "w") : NULL;

	if (to)
		code = put_question(codes, to, &question);
	else if (fd >= 0)
		close(fd);
	if (code)
		fpl_fail(err, code, "%s", strerror(-code));
	else if (question.nr)
		code = ask(codes, parser, fd, &names, err);
	if (!code && question.nr) {
		pthread_mutex_lock(&codes->lock);
		code = take_answer(codes, &question, &names);
		pthread_mutex_unlock(&codes->lock);
		if (code)
			fpl_fail(err, code, "no answer to the question: %s", strerror(-code));
	}
	if (to)
		fclose(to);
	free(question.list);
	return code;
}

static bool has_new(struct script_codes *codes)
{
	bool found;

	pthread_mutex_lock(&codes->lock);
	found = codes->nr_asked < codes->frames.nr;
	pthread_mutex_unlock(&codes->lock);
	return found;
}

void script_codes_name(struct script_codes *codes, struct parser *parser)
{
	struct fpl_err err = { 0 };

	if (!codes)
		return;
	pthread_mutex_lock(&codes->naming);
	read_wanted(codes, true);
	if (has_new(codes) && name_new(codes, parser, &err) && !codes->was_said) {
		fpl_log(FPL_LOG_WARN, "functions of scripts have no names: %s", err.msg);
		codes->was_said = true;
	}
	pthread_mutex_unlock(&codes->naming);
}

bool script_codes_find(struct script_codes *codes, uint64_t frame, struct script_frame *ret)
{
	uint64_t at = frame & UINT32_MAX;
	bool found = false;

	*ret = (struct script_frame){ .function = "", .file = "", .language = "script" };
	if (!codes || !fpl_frame_is_script(frame))
		return false;
	pthread_mutex_lock(&codes->lock);
	if (at < codes->frames.nr) {
		const struct frame *known = &codes->frames.list[at];
		const struct code *code = &codes->codes.list[known->code];

		ret->language = script_language(code->language)->name;
		ret->why = code->why;
		found = code->function;
		if (found) {
			ret->function = code->function;
			ret->file = code->file ? code->file : "";
			ret->line = known->line;
			ret->first_line = code->first_line;
		}
	}
	pthread_mutex_unlock(&codes->lock);
	return found;
}

void script_codes_stats(struct script_codes *codes, struct script_stats *ret)
{
	pthread_mutex_lock(&codes->lock);
	*ret = codes->stats;
	for (size_t i = 0; i < codes->codes.nr; i++)
		ret->unnamed_codes +=
			(codes->codes.list[i].was_asked || codes->codes.list[i].rule) &&
			!codes->codes.list[i].function;
	pthread_mutex_unlock(&codes->lock);
}
