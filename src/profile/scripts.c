// SPDX-License-Identifier: Apache-2.0
#include "profile/scripts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/id_table.h"
#include "base/log.h"
#include "base/vector.h"
#include "parse/client.h"
#include "profile/stack_hash.h"
#include "script/language.h"
#include "script/names.h"

#define WOVEN_MAX (FPL_USER_FRAMES_MAX + FPL_SCRIPT_FRAMES_MAX)

#define RECORDS_MAX (64u << 20) /* bytes of all code objects that are kept */
#define NO_FRAME    UINT32_MAX	/* stands for all that there was no room for */

struct code {
	uint64_t gen, word, content;
	struct fpl_script_code *record; /* owned: its first bytes; NULL once it has a name */
	uint32_t record_size;
	uint32_t rule;
	uint32_t function, file; /* in the names; SCRIPT_NO_TEXT: not known */
	uint32_t first_line;
	uint32_t nr_frames;
};

struct frame {
	uint32_t place, code, line;
};

struct scripts {
	struct fpl_script_rule *rules; /* borrowed */
	struct script_facts facts[FPL_SCRIPT_RULES_MAX];
	uint32_t objects[FPL_SCRIPT_RULES_MAX];
	uint32_t nr_rules; /* the last one in use */
	enum script_mode mode;
	VECTOR(struct code) codes;
	VECTOR(struct frame) frames;
	struct id_table code_ids, frame_ids;
	size_t record_bytes;
	struct script_names names;
	struct scripts_stats stats;
	uint64_t woven[WOVEN_MAX];
};

int scripts_create(struct fpl_script_rule *rules, enum script_mode mode, struct scripts **ret)
{
	struct scripts *scripts = calloc(1, sizeof(*scripts));

	if (!scripts)
		return -ENOMEM;
	scripts->rules = rules;
	scripts->mode = mode;
	*ret = scripts;
	return 0;
}

static void drop_records(struct scripts *scripts)
{
	for (size_t i = 0; i < scripts->codes.nr; i++) {
		free(scripts->codes.list[i].record);
		scripts->codes.list[i].record = NULL;
	}
}

void scripts_destroy(struct scripts *scripts)
{
	if (!scripts)
		return;
	drop_records(scripts);
	vector_fini(&scripts->codes);
	vector_fini(&scripts->frames);
	id_table_fini(&scripts->code_ids);
	id_table_fini(&scripts->frame_ids);
	script_names_fini(&scripts->names);
	free(scripts);
}

/* Counted over records, which distinct stacks have one of each. */
static void say_ends(const struct scripts_stats *stats)
{
	static const char *const keys[] = {
#define X(name, key, text) [FPL_SCRIPT_END_##name] = #key,
		FPL_SCRIPT_END_LIST(X)
#undef X
	};

	for (size_t i = 0; i < FPL_SCRIPT_END_COUNT; i++) {
		if (stats->ends[i])
			fpl_log(FPL_LOG_DEBUG, "script frames of distinct stacks: %s %" PRIu64,
				keys[i], stats->ends[i]);
	}
	fpl_log(FPL_LOG_DEBUG,
		"code objects of scripts: %" PRIu64 ", %" PRIu64 " unnamed, %" PRIu64 " refused",
		stats->codes, stats->unnamed_codes, stats->refused_codes);
}

static void say_rules(const struct scripts *scripts)
{
	for (uint32_t i = 1; scripts->rules && i <= scripts->nr_rules; i++) {
		const struct fpl_script_rule *rule = &scripts->rules[i];

		fpl_log(FPL_LOG_DEBUG,
			"script rule %u of object %u: register %d, word %u, after %u frames: rbx %u, rbp %u, r12 %u, r13 %u, r14 %u, r15 %u",
			i, rule->object, (int)rule->settled - 1, rule->slot, rule->looked,
			rule->votes[0], rule->votes[1], rule->votes[2], rule->votes[3],
			rule->votes[4], rule->votes[5]);
	}
}

/* The frames of each code, one code after the other: [frames.nr]; NULL: no memory. */
static uint32_t *sort_frames(const struct scripts *scripts)
{
	AUTO_FREE uint32_t *at = calloc(scripts->codes.nr + 1, sizeof(*at));
	uint32_t *order = calloc(scripts->frames.nr + 1, sizeof(*order)), next = 0;

	if (!at || !order) {
		free(order);
		return NULL;
	}
	for (size_t i = 0; i < scripts->codes.nr; i++) {
		at[i] = next;
		next += scripts->codes.list[i].nr_frames;
	}
	for (uint32_t i = 0; i < scripts->frames.nr; i++) {
		uint32_t code = scripts->frames.list[i].code;

		if (code < scripts->codes.nr)
			order[at[code]++] = i;
	}
	return order;
}

/* The file that a worker reads (script/names.h). Each record is freed as soon as it is in there. */
static int write_codes(struct scripts *scripts, const uint32_t *order, FILE *to)
{
	for (size_t i = 0; i < scripts->codes.nr; i++) {
		struct code *code = &scripts->codes.list[i];
		const struct script_file_code head = {
			.version = scripts->facts[code->rule].version,
			.language = scripts->facts[code->rule].language,
			.record_size = code->record_size,
			.nr_places = code->nr_frames,
		};

		fwrite(&head, sizeof(head), 1, to);
		fwrite(code->record, code->record_size, 1, to);
		for (uint32_t j = 0; j < code->nr_frames; j++)
			fwrite(&scripts->frames.list[*order++].place, sizeof(uint32_t), 1, to);
		free(code->record);
		code->record = NULL;
	}
	return fflush(to) || ferror(to) ? -EIO : 0;
}

static int ask(struct parser *parser, int fd, struct script_names *ret, struct fpl_err *err)
{
	struct parse_client *client = NULL;
	struct client_file file;
	int code = client_file_init(&file, fd, "code objects of scripts");

	if (code)
		return fpl_fail(err, code, "%s", strerror(-code));
	code = client_open(parser, &client, err);
	if (code)
		return code;
	code = client_script(client, &file, ret, err);
	client_close(client);
	return code;
}

/* Is there a name for each code, and a line for each of its frames? */
static bool is_answer(const struct scripts *scripts, const struct script_names *names)
{
	if (names->nr_codes != scripts->codes.nr)
		return false;
	for (size_t i = 0; i < names->nr_codes; i++) {
		if (names->codes[i].nr_lines != scripts->codes.list[i].nr_frames)
			return false;
	}
	return true;
}

static void take_names(struct scripts *scripts, const uint32_t *order)
{
	const struct script_names *names = &scripts->names;

	for (size_t i = 0; i < names->nr_codes; i++) {
		struct code *code = &scripts->codes.list[i];

		code->function = names->codes[i].function;
		code->file = names->codes[i].file;
		code->first_line = names->codes[i].first_line;
	}
	for (size_t i = 0; i < names->nr_lines; i++)
		scripts->frames.list[order[i]].line = names->lines[i];
}

static int name_codes(struct scripts *scripts, struct parser *parser, struct fpl_err *err)
{
	AUTO_FREE uint32_t *order = sort_frames(scripts);
	int fd = memfd_create("fpless-scripts", MFD_CLOEXEC), code;
	FILE *to = fd >= 0 ? fdopen(fd, "w") : NULL;

	if (!order || !to) {
		if (fd >= 0 && !to)
			close(fd);
		return fpl_fail(err, -ENOMEM, "out of memory");
	}
	code = write_codes(scripts, order, to);
	if (code)
		fpl_fail(err, code, "%s", strerror(-code));
	else
		code = ask(parser, fd, &scripts->names, err);
	fclose(to);
	if (!code && !is_answer(scripts, &scripts->names))
		code = fpl_fail(err, -EBADMSG, "an answer to another question");
	if (!code)
		take_names(scripts, order);
	return code;
}

void scripts_settle(struct scripts *scripts, struct parser *parser)
{
	struct fpl_err err = { 0 };

	say_rules(scripts);
	scripts->rules = NULL;
	if (scripts->codes.nr && name_codes(scripts, parser, &err))
		fpl_log(FPL_LOG_WARN, "functions of scripts have no names: %s", err.msg);
	drop_records(scripts);
	for (size_t i = 0; i < scripts->codes.nr; i++)
		scripts->stats.unnamed_codes += scripts->codes.list[i].function == SCRIPT_NO_TEXT;
	if (scripts->nr_rules)
		say_ends(&scripts->stats);
}

uint32_t scripts_rule(struct scripts *scripts, uint32_t object, const char *path,
		      const struct script_facts *facts)
{
	const struct script_language *language = script_language(facts->language);
	char version[SCRIPT_VERSION_MAX];
	struct fpl_script_rule rule;
	uint32_t idx;

	if (!language || !scripts->rules)
		return 0;
	for (uint32_t i = 1; i <= scripts->nr_rules; i++) {
		if (scripts->objects[i] == object)
			return i;
	}
	if (scripts->nr_rules + 1 >= FPL_SCRIPT_RULES_MAX) {
		fpl_log(FPL_LOG_INFO, "%s: no script frames: more than %u interpreters", path,
			FPL_SCRIPT_RULES_MAX - 1);
		return 0;
	}
	language->say_version(facts, version);
	if (!language->rule(facts, object, &rule)) {
		fpl_log(FPL_LOG_INFO, "%s: no script frames: the layout of %s is not known", path,
			version);
		return 0;
	}
	idx = ++scripts->nr_rules;
	scripts->rules[idx] = rule;
	scripts->facts[idx] = *facts;
	scripts->objects[idx] = object;
	scripts->stats.rules++;
	fpl_log(FPL_LOG_DEBUG, "%s: %s: script rule %u, %u ranges, CFA r%u%+d", path, version, idx,
		facts->nr_ranges, facts->cfa_reg, facts->cfa_off);
	return idx;
}

static uint64_t hash_of(uint64_t a, uint64_t b)
{
	return stack_hash_mix(stack_hash_mix(0x9e3779b97f4a7c15u, a), b);
}

static uint32_t find_code(const struct scripts *scripts, uint64_t gen, uint64_t word,
			  uint64_t content)
{
	const struct code *list = scripts->codes.list;

	return ID_TABLE_FIND(&scripts->code_ids, hash_of(gen ^ content << 32, word), i,
			     list[i].gen == gen && list[i].word == word &&
				     list[i].content == content);
}

/* Keep the bytes of @record. Returns false where there is no room, or no sense in it. */
static bool keep_record(struct scripts *scripts, const struct fpl_script_code *record, size_t size,
			struct code *ret)
{
	if (size > sizeof(*record) || record->rule - 1 >= scripts->nr_rules ||
	    scripts->codes.nr >= SCRIPT_CODES_MAX || size > RECORDS_MAX - scripts->record_bytes)
		return false;
	ret->record = malloc(size);
	if (!ret->record)
		return false;
	memcpy(ret->record, record, size);
	ret->record_size = (uint32_t)size;
	ret->rule = record->rule;
	if (vector_push(&scripts->codes, *ret)) {
		free(ret->record);
		return false;
	}
	scripts->record_bytes += size;
	return true;
}

void scripts_add_code(struct scripts *scripts, const struct fpl_script_code *record, size_t size)
{
	struct code code = { .gen = record->gen,
			     .word = record->code,
			     .content = record->content,
			     .function = SCRIPT_NO_TEXT,
			     .file = SCRIPT_NO_TEXT };

	if (find_code(scripts, code.gen, code.word, code.content) != ID_TABLE_NONE)
		return;
	if (!keep_record(scripts, record, size, &code)) {
		scripts->stats.refused_codes++;
		return;
	}
	scripts->stats.codes++;
	(void)!id_table_add(&scripts->code_ids, hash_of(code.gen ^ code.content << 32, code.word),
			    (uint32_t)scripts->codes.nr - 1);
}

/* The word of the script frame whose words these are. */
static uint64_t intern_frame(struct scripts *scripts, uint64_t gen, uint64_t word, uint64_t place)
{
	uint32_t code = find_code(scripts, gen, word, place >> 32), at;
	const struct frame *list = scripts->frames.list;
	uint32_t off = (uint32_t)place;

	if (code == ID_TABLE_NONE)
		return FPL_FRAME_SCRIPT | NO_FRAME;
	at = ID_TABLE_FIND(&scripts->frame_ids, hash_of(code, off), i,
			   list[i].code == code && list[i].place == off);
	if (at != ID_TABLE_NONE)
		return FPL_FRAME_SCRIPT | at;
	at = (uint32_t)scripts->frames.nr;
	if (at >= SCRIPT_LINES_MAX ||
	    vector_push(&scripts->frames, (struct frame){ .code = code, .place = off }))
		return FPL_FRAME_SCRIPT | NO_FRAME;
	scripts->codes.list[code].nr_frames++;
	(void)!id_table_add(&scripts->frame_ids, hash_of(code, off), at);
	return FPL_FRAME_SCRIPT | at;
}

/* The place that the weaving has come to. */
struct weaving {
	struct scripts *scripts;
	uint64_t gen;
	size_t nr;
	size_t last_script; /* behind the last script frame */
};

static void put(struct weaving *weaving, uint64_t frame)
{
	if (weaving->nr < WOVEN_MAX)
		weaving->scripts->woven[weaving->nr++] = frame;
	else
		weaving->scripts->stats.no_room++;
}

static uint32_t object_of(uint64_t frame)
{
	return frame & FPL_FRAME_RAW ? 0 : frame >> FPL_FRAME_OBJECT_SHIFT & FPL_FRAME_OBJECT_MAX;
}

/* A script frame of rule @rule comes next: drop the native frames since the last one that only lead
 * from one to the other. By default those are the interpreter's own. */
static void drop_between(struct weaving *weaving, uint32_t rule)
{
	struct scripts *scripts = weaving->scripts;
	uint32_t own = rule <= scripts->nr_rules ? scripts->objects[rule] : 0;
	size_t nr = weaving->last_script;

	if (!nr || scripts->mode == SCRIPT_ALL)
		return;
	for (size_t i = nr; scripts->mode == SCRIPT_MIX && i < weaving->nr; i++)
		if (!own || object_of(scripts->woven[i]) != own)
			scripts->woven[nr++] = scripts->woven[i];
	weaving->nr = nr;
}

/* The chain of the head at words[0], of at most @nr words. Returns its words. */
static size_t put_chain(struct weaving *weaving, const uint64_t *words, size_t nr)
{
	struct scripts *scripts = weaving->scripts;
	uint64_t head = words[0];
	size_t nr_frames = head & 0xffff, end = head >> FPL_SCRIPT_END_SHIFT & 0xff;

	scripts->stats.chains++;
	scripts->stats.ends[end < FPL_SCRIPT_END_COUNT ? end : FPL_SCRIPT_END_UNKNOWN]++;
	scripts->stats.differ += (head & FPL_SCRIPT_DIFFER) != 0;
	if (nr_frames > (nr - 1) / 2)
		nr_frames = (nr - 1) / 2;
	if (nr_frames)
		drop_between(weaving, (uint32_t)(head >> FPL_SCRIPT_RULE_SHIFT));
	for (size_t i = 0; i < nr_frames; i++)
		put(weaving,
		    intern_frame(scripts, weaving->gen, words[1 + 2 * i], words[2 + 2 * i]));
	if (nr_frames)
		weaving->last_script = weaving->nr;
	return 1 + 2 * nr_frames;
}

const uint64_t *scripts_weave(struct scripts *scripts, const struct fpl_sample *sample,
			      const uint64_t *user, const uint64_t *words, uint16_t *ret_nr)
{
	struct weaving weaving = { .scripts = scripts, .gen = sample->gen };
	size_t at = 0;

	for (size_t i = 0; i < sample->nr_user; i++) {
		bool is_shown = true;

		/* behind the gap of a deep stack an index is another frame's */
		if (user[i] == FPL_FRAME_GAP)
			at = sample->nr_script;
		while (at < sample->nr_script &&
		       (words[at] >> FPL_SCRIPT_INDEX_SHIFT & 0xffff) == i) {
			is_shown = scripts->mode == SCRIPT_ALL || !(words[at] & 0xffff);
			at += put_chain(&weaving, words + at, sample->nr_script - at);
		}
		if (is_shown)
			put(&weaving, user[i]);
	}
	*ret_nr = (uint16_t)weaving.nr;
	return scripts->woven;
}

/* The rule of the interpreter whose loop @frame is in; 0: it is another frame. */
static uint32_t rule_of(const struct scripts *scripts, uint64_t frame)
{
	uint64_t vaddr = frame & FPL_FRAME_VADDR_MASK;

	if (frame & FPL_FRAME_RAW)
		return 0;
	for (uint32_t i = 1; i <= scripts->nr_rules; i++) {
		const struct script_facts *facts = &scripts->facts[i];

		if (object_of(frame) != scripts->objects[i])
			continue;
		for (size_t j = 0; j < facts->nr_ranges; j++) {
			if (vaddr - facts->ranges[j].start <
			    facts->ranges[j].end - facts->ranges[j].start)
				return i;
		}
	}
	return 0;
}

void scripts_note_late(struct scripts *scripts, const uint64_t *frames, size_t nr)
{
	for (size_t i = 0; scripts->nr_rules && i < nr; i++) {
		if (rule_of(scripts, frames[i])) {
			scripts->stats.chains++;
			scripts->stats.ends[FPL_SCRIPT_END_LATE]++;
		}
	}
}

static const char *text_at(const struct scripts *scripts, uint32_t at)
{
	return at < scripts->names.text_size ? scripts->names.text + at : "";
}

bool scripts_frame(const struct scripts *scripts, uint64_t frame, struct script_frame *ret)
{
	uint64_t at = frame & 0xffffffff;

	*ret = (struct script_frame){ .function = "", .file = "", .language = "script" };
	if (!scripts || !fpl_frame_is_script(frame) || at >= scripts->frames.nr)
		return false;

	const struct frame *known = &scripts->frames.list[at];
	const struct code *code = &scripts->codes.list[known->code];

	ret->language = script_language(scripts->facts[code->rule].language)->name;
	if (code->function == SCRIPT_NO_TEXT)
		return false;
	*ret = (struct script_frame){
		.function = text_at(scripts, code->function),
		.file = text_at(scripts, code->file),
		.language = ret->language,
		.line = known->line,
		.first_line = code->first_line,
	};
	return true;
}

void scripts_stats(const struct scripts *scripts, struct scripts_stats *ret)
{
	*ret = scripts->stats;
}
