// SPDX-License-Identifier: Apache-2.0
#include "script/perl.h"

#include "base/cleanup.h"
#include "script/bytes.h"

/* intrpvar.h: the operation at hand, the statement at hand, the newest stack of contexts; that of
 * the loop is in the layout. */
#define OP_OFF	      8
#define STATEMENT_OFF 208
#define STACK_OFF     224

/* cop.h, struct stackinfo */
#define CONTEXTS_OFF 8
#define OLDER_OFF    16
#define LAST_OFF     32

/* cop.h, struct context: its kind, the statement that it began at, where its sub returns to, its
 * sub. The sub has its body behind a pointer. */
#define KIND_OFF      0
#define CALLER_OFF    16
#define RETURN_OFF    48
#define SUB_OFF	      72
#define BODY_OFF      0
#define CONTEXT_BYTES 104

/* Kinds (CXt_) and flags beside them (CXp_): they mean something else for each kind. */
#define IS_NULL	     0u
#define IS_SUB	     9u
#define IS_FORMAT    10u
#define IS_EVAL	     11u
#define IS_MULTICALL 0x10u
#define IS_REGEX     0x40u /* of a sub: code in a regular expression; */
#define IS_OUTER     0x80u /* it is the sub around it again */
#define IS_TRY_BLOCK 0x40u /* of an eval: a block, */
#define IS_TRY	     0x80u /* or one of try */

/* sv.h, gv.h, hv.h: the body of a glob has its name and its package; that of a package its name. */
#define GLOB_NAME_OFF	 32
#define GLOB_PACKAGE_OFF 40
#define HASH_NAME_OFF	 32

/* Releases that are built for threads, as Debian's are. */
static const struct perl_layout {
	uint16_t version, interpreter_bytes;
	int16_t loop_off;
} layouts[] = {
	{ .version = 536, .interpreter_bytes = 3768, .loop_off = 2288 },
	{ .version = 540, .interpreter_bytes = 3768, .loop_off = 2072 },
	{ .version = 542, .interpreter_bytes = 3768, .loop_off = 2072 },
};

static const struct perl_layout *find_layout(uint64_t version)
{
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
		if (layouts[i].version == (uint32_t)version / 100 &&
		    layouts[i].interpreter_bytes == version >> 32)
			return &layouts[i];
	}
	return NULL;
}

bool perl_is_known(uint64_t version)
{
	return find_layout(version);
}

/*
 * Frames are what caller() shows: a sub, a format, code that was read from a text or a file; not
 * the block of an eval, which is a part of its sub. Code that C calls begins a loop, and returns to
 * no operation. The block of a sort has no sub; it and a sub that is called again and again, by
 * sort or List::Util, have their contexts while they do not run, too. Code in a regular expression
 * has its context on while the expression is matched, so it does not tell one loop from the next.
 */
static uint8_t kind_of(uint32_t context)
{
	uint32_t waits = context & IS_MULTICALL ? FPL_SCRIPT_KIND_WAITS : 0;

	switch (context & 0xf) {
	case IS_NULL:
		return FPL_SCRIPT_KIND_BEGINS | FPL_SCRIPT_KIND_WAITS;
	case IS_SUB:
		if (context & IS_OUTER)
			return 0;
		if (context & IS_REGEX)
			return FPL_SCRIPT_KIND_FRAME;
		return (uint8_t)(FPL_SCRIPT_KIND_FRAME | FPL_SCRIPT_KIND_CALLED | waits);
	case IS_FORMAT:
		return FPL_SCRIPT_KIND_FRAME | FPL_SCRIPT_KIND_CALLED;
	case IS_EVAL:
		if (context & (IS_TRY_BLOCK | IS_TRY))
			return 0;
		return FPL_SCRIPT_KIND_FRAME | FPL_SCRIPT_KIND_PLACE | FPL_SCRIPT_KIND_CALLED;
	default:
		return 0;
	}
}

/*
 * Each native frame has the interpreter alone, so contexts go on from one to the next. It passes
 * the check if the loop that it runs is this one. Between a loop and another that goes on in its
 * place there is one function (docatch() of pp_ctl.c): an eval in a sub that C calls.
 */
static bool perl_rule(const struct script_facts *facts, uint32_t object,
		      struct fpl_script_rule *ret)
{
	const struct perl_layout *layout = find_layout(facts->version);

	if (!layout || !facts->nr_ranges)
		return false;
	*ret = (struct fpl_script_rule){
		.check_vaddr = facts->ranges[0].start,
		.check_size = 1,
		.check = load_at(layout->loop_off),
		.code = load_behind(SUB_OFF, BODY_OFF),
		.place = { .off = { PERL_LINE_OFF }, .nr = 1, .bits = 32 },
		/* its first operation, its name, the file */
		.content = { .first = PERL_START_OFF,
			     .other = (PERL_NAME_OFF - PERL_START_OFF) / 8,
			     .text = (PERL_FILE_OFF - PERL_START_OFF) / 8,
			     .nr = (PERL_FILE_OFF - PERL_START_OFF) / 8 + 1,
			     .is_string = 1 },
		.texts = { [PERL_NAME] = { .off = PERL_NAME_OFF },
			   [PERL_GLOB] = { .off = PERL_NAME_OFF, .more = { 0 }, .nr_more = 1 },
			   [PERL_GLOB_NAME] = { .from = 1 + PERL_GLOB, .off = GLOB_NAME_OFF },
			   [PERL_GLOB_PACKAGE] = { .from = 1 + PERL_GLOB,
						   .off = GLOB_PACKAGE_OFF,
						   .more = { 0, HASH_NAME_OFF },
						   .nr_more = 2 },
			   [PERL_PACKAGE] = { .off = PERL_PACKAGE_OFF,
					      .more = { 0, HASH_NAME_OFF },
					      .nr_more = 2 },
			   [PERL_FILE] = { .off = PERL_FILE_OFF },
			   [PERL_STATEMENT_FILE] = { .off = PERL_STATEMENT_FILE_OFF },
			   [PERL_NO_TEXT] = { .off = -8 } },
		.more_texts = 1,
		.lines_ptr_off = -8,
		.records = { .array = load_at(STACK_OFF),
			     .position = load_at(STATEMENT_OFF),
			     .step = load_at(OP_OFF),
			     .base = load_at(CONTEXTS_OFF),
			     .last = { .off = { LAST_OFF }, .nr = 1, .bits = 32 },
			     .older = load_at(OLDER_OFF),
			     .kind = { .off = { KIND_OFF }, .nr = 1, .bits = 8 },
			     .called = load_at(RETURN_OFF),
			     .caller = load_at(CALLER_OFF),
			     /* the file, and the number that each statement has */
			     .content = { .first = PERL_STATEMENT_FILE_OFF,
					  .other = 1,
					  .nr = 2,
					  .is_string = 1 },
			     .bytes = CONTEXT_BYTES,
			     .shares = 1 },
	};
	for (uint32_t i = 0; i < ARRAY_SIZE(ret->records.kinds); i++)
		ret->records.kinds[i] = kind_of(i);
	rule_take_facts(ret, facts, object);
	return true;
}

static void perl_say_version(const struct script_facts *facts, char *ret)
{
	size_t size;

	say_release("Perl", (uint32_t)facts->version, ret);
	size = strlen(ret);
	if (!(facts->version >> 32))
		snprintf(ret + size, SCRIPT_VERSION_MAX - size, ", built without threads");
}

const struct script_language perl_language = {
	.name = "perl",
	.rule = perl_rule,
	.read_code = perl_read_code,
	.line = perl_line,
	.say_version = perl_say_version,
};
