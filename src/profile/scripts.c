/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/scripts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "bpf/shared_region.h"
#include "script/language.h"

#define WOVEN_MAX (FPL_USER_FRAMES_MAX + FPL_SCRIPT_FRAMES_MAX)

struct scripts {
	struct fpl_script_rule *rules; /* borrowed */
	struct script_facts facts[FPL_SCRIPT_RULES_MAX];
	uint32_t objects[FPL_SCRIPT_RULES_MAX]; /* ids; 0: the rule is free */
	uint32_t nr_rules;			/* the last one in use */
	struct script_options options;
	struct fpl_script_rule settled[FPL_SCRIPT_RULES_MAX]; /* as scripts_settled() has them */
	bool was_said[FPL_SCRIPT_RULES_MAX];		      /* that the place is not known */
	uint64_t woven[WOVEN_MAX];
};

int scripts_create(struct fpl_script_rule *rules, const struct script_options *options,
		   struct scripts **ret)
{
	struct scripts *scripts = calloc(1, sizeof(*scripts));

	if (!scripts)
		return -ENOMEM;
	scripts->rules = rules;
	scripts->options = *options;
	*ret = scripts;
	return 0;
}

void scripts_destroy(struct scripts *scripts)
{
	free(scripts);
}

void scripts_say(const struct scripts *scripts)
{
	for (uint32_t i = 1; i <= scripts->nr_rules; i++) {
		const struct fpl_script_rule *rule = &scripts->rules[i];

		fpl_log(FPL_LOG_DEBUG,
			"script rule %u of object %u: register %d, word %u, after %u frames: rbx %u, rbp %u, r12 %u, r13 %u, r14 %u, r15 %u",
			i, rule->object, (int)rule->settled - 1, rule->slot, rule->looked,
			rule->votes[0], rule->votes[1], rule->votes[2], rule->votes[3],
			rule->votes[4], rule->votes[5]);
	}
}

/* Find a rule that is free; 0: all are used. */
static uint32_t free_rule(struct scripts *scripts)
{
	for (uint32_t i = 1; i <= scripts->nr_rules; i++) {
		if (!scripts->objects[i])
			return i;
	}
	return scripts->nr_rules + 1 < FPL_SCRIPT_RULES_MAX ? ++scripts->nr_rules : 0;
}

uint32_t scripts_rule(struct scripts *scripts, uint32_t object, const char *path,
		      const struct script_facts *facts)
{
	const struct script_language *language = script_language(facts->language);
	char version[SCRIPT_VERSION_MAX];
	struct fpl_script_rule rule;
	uint32_t idx;

	if (!language)
		return 0;
	for (uint32_t i = 1; i <= scripts->nr_rules; i++) {
		if (scripts->objects[i] == object)
			return i;
	}
	language->say_version(facts, version);
	if (!language->rule(facts, object, &rule)) {
		fpl_log(FPL_LOG_INFO, "%s: no script frames: the layout of %s is not known", path,
			version);
		return 0;
	}
	idx = free_rule(scripts);
	if (!idx) {
		fpl_log(FPL_LOG_INFO, "%s: no script frames: more than %u interpreters", path,
			FPL_SCRIPT_RULES_MAX - 1);
		return 0;
	}
	if (scripts->options.no_lines && !rule.is_native)
		rule.place.nr = rule.leaf.nr = rule.step_bytes = 0;
	rule.is_lazy = scripts->options.is_lazy && !rule.is_native;
	scripts->rules[idx] = rule;
	scripts->facts[idx] = *facts;
	scripts->objects[idx] = object;
	fpl_log(FPL_LOG_DEBUG,
		"%s: %s: script rule %u, %u ranges, CFA r%u%+d, register %u by its code", path,
		version, idx, facts->nr_ranges, facts->cfa_reg, facts->cfa_off,
		script_language_place(facts, &rule));
	return idx;
}

uint32_t scripts_next_native(const struct scripts *scripts, uint32_t idx, uint32_t *ret_object)
{
	while (++idx <= scripts->nr_rules) {
		if (!scripts->objects[idx] || !scripts->rules[idx].is_native)
			continue;
		*ret_object = scripts->objects[idx];
		return idx;
	}
	return 0;
}

/* The register that the script frame of rule @idx is in, + 1; 0: it is not known. */
static uint32_t place_of(struct scripts *scripts, uint32_t idx)
{
	const struct fpl_script_rule *rule = &scripts->rules[idx];
	const struct script_facts *facts = &scripts->facts[idx];
	char version[SCRIPT_VERSION_MAX];
	uint32_t reg = script_language_place(facts, rule);

	if (rule->settled || (reg && reg < FPL_NR_REGS))
		return rule->settled ? rule->settled : reg + 1;
	script_language(facts->language)->say_version(facts, version);
	if (!scripts->was_said[idx])
		fpl_log(FPL_LOG_INFO,
			"%s: no script frames of threads that sleep: its code does not tell where it keeps them",
			version);
	scripts->was_said[idx] = true;
	return 0;
}

struct fpl_script_rule *scripts_settled(struct scripts *scripts)
{
	for (uint32_t i = 1; i <= scripts->nr_rules; i++) {
		struct fpl_script_rule *to = &scripts->settled[i];

		*to = scripts->rules[i];
		if (scripts->objects[i] && !to->is_native)
			to->settled = place_of(scripts, i);
		if (!scripts->objects[i] || (!to->is_native && !to->settled))
			*to = (struct fpl_script_rule){ 0 };
	}
	return scripts->settled;
}

void scripts_forget(struct scripts *scripts, uint32_t object)
{
	for (uint32_t i = 1; i <= scripts->nr_rules; i++) {
		if (scripts->objects[i] != object)
			continue;
		scripts->rules[i] = (struct fpl_script_rule){ 0 };
		scripts->facts[i] = (struct script_facts){ 0 };
		scripts->objects[i] = 0;
		scripts->was_said[i] = false;
	}
}

void scripts_add_code(const struct scripts *scripts, struct script_codes *codes,
		      const struct fpl_script_code *record, size_t size)
{
	const struct script_facts none = { 0 };
	uint32_t rule = record->rule;

	script_codes_add(codes, rule <= scripts->nr_rules ? &scripts->facts[rule] : &none, record,
			 size);
}

/* The place that the weaving has come to. */
struct weaving {
	struct scripts *scripts;
	struct script_codes *codes;
	uint64_t gen;
	size_t nr;
	size_t last_script; /* behind the last script frame */
	struct script_stats stats;
};

static void put(struct weaving *weaving, uint64_t frame)
{
	if (weaving->nr < WOVEN_MAX)
		weaving->scripts->woven[weaving->nr++] = frame;
	else
		weaving->stats.no_room++;
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

	if (!nr || scripts->options.mode == SCRIPT_ALL)
		return;
	for (size_t i = nr; scripts->options.mode == SCRIPT_MIX && i < weaving->nr; i++)
		if (!own || object_of(scripts->woven[i]) != own)
			scripts->woven[nr++] = scripts->woven[i];
	weaving->nr = nr;
}

/* A script frame of rule @rule comes next: drop the frames of code that the interpreter has made,
 * which ran it in place of the loop. */
static void drop_made(struct weaving *weaving, uint32_t rule)
{
	const struct scripts *scripts = weaving->scripts;

	if (scripts->options.mode == SCRIPT_ALL || rule > scripts->nr_rules ||
	    !scripts->facts[rule].makes_code)
		return;
	while (weaving->nr > weaving->last_script &&
	       fpl_frame_is_jit(scripts->woven[weaving->nr - 1]))
		weaving->nr--;
}

static size_t nr_frames_of(uint64_t head, size_t nr)
{
	size_t nr_frames = head & 0xffff;

	return nr_frames > (nr - 1) / 2 ? (nr - 1) / 2 : nr_frames;
}

/* Count the head at words[0], of at most @nr words. Returns its words. */
static size_t count_chain(struct script_stats *stats, const uint64_t *words, size_t nr)
{
	size_t end = words[0] >> FPL_SCRIPT_END_SHIFT & 0xff;

	stats->chains++;
	stats->ends[end < FPL_SCRIPT_END_COUNT ? end : FPL_SCRIPT_END_UNKNOWN]++;
	stats->differ += (words[0] & FPL_SCRIPT_DIFFER) != 0;
	return 1 + 2 * nr_frames_of(words[0], nr);
}

/* Put the frames of the head at words[0]. Returns whether it has any. */
static bool put_chain(struct weaving *weaving, const uint64_t *words, size_t nr)
{
	size_t nr_frames = nr_frames_of(words[0], nr);

	if (!nr_frames)
		return false;
	drop_made(weaving, (uint32_t)(words[0] >> FPL_SCRIPT_RULE_SHIFT));
	drop_between(weaving, (uint32_t)(words[0] >> FPL_SCRIPT_RULE_SHIFT));
	for (size_t i = 0; i < nr_frames; i++)
		put(weaving, script_codes_frame(weaving->codes, weaving->gen, words[1 + 2 * i],
						words[2 + 2 * i]));
	weaving->last_script = weaving->nr;
	return true;
}

void scripts_each_new_code(struct script_codes *codes, uint64_t gen, const uint64_t *words,
			   size_t nr,
			   void (*add)(void *ctx, uint32_t rule, uint64_t code, uint64_t place),
			   void *ctx)
{
	for (size_t at = 0; at < nr;) {
		uint32_t rule = (uint32_t)(words[at] >> FPL_SCRIPT_RULE_SHIFT);
		size_t end = at + 1 + 2 * nr_frames_of(words[at], nr - at);

		for (at++; at < end; at += 2) {
			if (!script_codes_has(codes, gen, words[at], words[at + 1]))
				add(ctx, rule, words[at], words[at + 1]);
		}
	}
}

/* A stack with code objects that are not sent. */
struct lazy_stack {
	const struct scripts *scripts;
	struct script_codes *codes;
	const struct fpl_sample *sample;
};

static void want_code(void *arg, uint32_t rule, uint64_t code, uint64_t place)
{
	const struct lazy_stack *stack = arg;
	const struct scripts *scripts = stack->scripts;
	const struct script_wanted wanted = {
		.rule = &scripts->rules[rule % FPL_SCRIPT_RULES_MAX],
		.start_ns = stack->sample->start_ns,
		.word = code,
		.content = (uint32_t)(place >> 32),
		.pid = stack->sample->tgid,
	};

	if (rule <= scripts->nr_rules && wanted.rule->is_lazy)
		script_codes_want(stack->codes, &scripts->facts[rule], stack->sample->gen, &wanted);
}

static bool has_records(const struct scripts *scripts, uint64_t head)
{
	uint64_t rule = head >> FPL_SCRIPT_RULE_SHIFT;

	return rule <= scripts->nr_rules && scripts->rules[rule].records.bytes;
}

/* Chains of records, which belong further out than the native frames that have them, where the
 * innermost ones have none of their own. */
struct lag {
	size_t nr; /* native frames that have none, and come first */
	size_t at; /* the chain that comes next */
};

/* Go from @at on to a chain of records. */
static size_t next_of_records(const struct scripts *scripts, const uint64_t *words, size_t nr,
			      size_t at)
{
	while (at < nr && (!has_records(scripts, words[at]) ||
			   (words[at] & (FPL_SCRIPT_BEHIND | FPL_SCRIPT_SHARES))))
		at += 1 + 2 * nr_frames_of(words[at], nr - at);
	return at;
}

static struct lag find_lag(const struct scripts *scripts, const uint64_t *words, size_t nr)
{
	struct lag lag = { .at = next_of_records(scripts, words, nr, 0) };

	for (size_t at = 0; at < nr; at += 1 + 2 * nr_frames_of(words[at], nr - at))
		lag.nr += (words[at] & FPL_SCRIPT_BEHIND) != 0;
	return lag;
}

/* Put the chain of the native frame whose head is at words[@at]. Returns whether it has frames. */
static bool put_chain_of(struct weaving *weaving, struct lag *lag, const uint64_t *words, size_t nr,
			 size_t at)
{
	bool is_shown;

	if (!has_records(weaving->scripts, words[at]))
		return put_chain(weaving, words + at, nr - at);
	if (words[at] & FPL_SCRIPT_SHARES)
		return false;
	if (lag->nr) {
		lag->nr--;
		return false;
	}
	at = lag->at;
	if (at >= nr)
		return false;
	is_shown = put_chain(weaving, words + at, nr - at);
	lag->at = next_of_records(weaving->scripts, words, nr,
				  at + 1 + 2 * nr_frames_of(words[at], nr - at));
	return is_shown;
}

const uint64_t *scripts_weave(struct scripts *scripts, struct script_codes *codes,
			      const struct fpl_sample *sample, const uint64_t *user,
			      const uint64_t *words, uint16_t *ret_nr)
{
	struct weaving weaving = { .scripts = scripts, .codes = codes, .gen = sample->gen };
	struct lag lag = find_lag(scripts, words, sample->nr_script);
	struct lazy_stack lazy = { .scripts = scripts, .codes = codes, .sample = sample };
	size_t at = 0;

	if (scripts->options.is_lazy)
		scripts_each_new_code(codes, sample->gen, words, sample->nr_script, want_code,
				      &lazy);

	for (size_t i = 0; i < sample->nr_user; i++) {
		bool is_shown = true;

		/* behind the gap of a deep stack an index is another frame's */
		if (user[i] == FPL_FRAME_GAP)
			at = sample->nr_script;
		while (at < sample->nr_script &&
		       (words[at] >> FPL_SCRIPT_INDEX_SHIFT & 0xffff) == i) {
			is_shown = !put_chain_of(&weaving, &lag, words, sample->nr_script, at) ||
				   scripts->options.mode == SCRIPT_ALL;
			at += count_chain(&weaving.stats, words + at, sample->nr_script - at);
		}
		if (is_shown)
			put(&weaving, user[i]);
	}
	script_codes_count(codes, &weaving.stats);
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

void scripts_note_none(const struct scripts *scripts, struct script_codes *codes,
		       const uint64_t *frames, size_t nr, enum fpl_script_end end)
{
	struct script_stats stats = { 0 };

	for (size_t i = 0; scripts->nr_rules && i < nr; i++)
		stats.chains += rule_of(scripts, frames[i]) != 0;
	stats.ends[end] = stats.chains;
	if (stats.chains)
		script_codes_count(codes, &stats);
}
