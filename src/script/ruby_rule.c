// SPDX-License-Identifier: Apache-2.0
#include "script/ruby.h"

#include "base/cleanup.h"
#include "script/bytes.h"

/* vm_core.h, rb_control_frame_t: the next instruction, the code, the environment, whose first word
 * has the flags of the frame. Frames are an array: that of the caller is the next one. */
#define PC_OFF		0
#define CODE_OFF	16
#define ENV_OFF		32
#define FRAME_IS_FINISH 0x20u /* VM_FRAME_FLAG_FINISH: vm_exec() was called for it */

/* struct rb_iseq_t */
#define FLAGS_OFF 0
#define BODY_OFF  16

/* The flags of an object that is code: T_IMEMO, which is imemo_iseq. The garbage collector has
 * marks in between. */
#define IS_CODE	    0x701au
#define IS_CODE_END 0x7100u

/* Bytes of callers' frames that are read along. */
#define AHEAD 960

static const struct ruby_layout layouts[] = {
	{ .version = 301,
	  .frame_bytes = 64,
	  .first_line = 88,
	  .lines = 120,
	  .nr_lines = 136,
	  .index = 144,
	  .line_is_value = true },
	{ .version = 303,
	  .frame_bytes = 56,
	  .first_line = 88,
	  .lines = 112,
	  .nr_lines = 128,
	  .index = 136,
	  .strings_have_lengths = true },
};

const struct ruby_layout *ruby_layout(uint64_t version)
{
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
		if (layouts[i].version == version / 100)
			return &layouts[i];
	}
	return NULL;
}

/*
 * The loop has the frame in a register of its own (vm_insnhelper.h: r15, and the next instruction
 * in r14), so each native frame knows its own, and nothing is carried. Methods in C have frames,
 * too, but none of the loop's.
 */
static bool ruby_rule(const struct script_facts *facts, uint32_t object,
		      struct fpl_script_rule *ret)
{
	const struct ruby_layout *layout = ruby_layout(facts->version);

	if (!layout || !facts->nr_ranges)
		return false;
	*ret = (struct fpl_script_rule){
		.check_vaddr = IS_CODE,
		.check_size = IS_CODE_END - IS_CODE,
		.check_is_value = 1,
		.check = { .off = { CODE_OFF, FLAGS_OFF }, .nr = 2, .bits = 16 },
		.code = load_behind(CODE_OFF, BODY_OFF),
		.place = { .off = { PC_OFF }, .nr = 1, .bits = 32 },
		.next = { .off = { layout->frame_bytes } },
		.stop = load_behind(ENV_OFF, 0),
		.stop_mask = FRAME_IS_FINISH,
		.stop_value = FRAME_IS_FINISH,
		.shows_last = 1,
		.first_step = load_at(RUBY_STEPS_OFF),
		.nr_steps = { .off = { RUBY_NR_STEPS_OFF }, .nr = 1, .bits = 32 },
		.step_bytes = RUBY_STEP_BYTES,
		/* the address of the instructions, from which places are counted, that of the
		 * label, and the first instructions */
		.content = { .first = RUBY_STEPS_OFF,
			     .other = (RUBY_LABEL_OFF - RUBY_STEPS_OFF) / 8,
			     .nr = (RUBY_LABEL_OFF - RUBY_STEPS_OFF) / 8 + 1 },
		.above = layout->frame_bytes,
		.ahead = AHEAD,
		.texts = { [RUBY_LABEL] = { .off = RUBY_LABEL_OFF },
			   [RUBY_LABEL_TEXT] = { .from = 1 + RUBY_LABEL, .off = 24 },
			   [RUBY_PATHS] = { .off = RUBY_PATHS_OFF },
			   [RUBY_PATH] = { .from = 1 + RUBY_PATHS, .off = 16 },
			   [RUBY_PATHS_TEXT] = { .from = 1 + RUBY_PATHS, .off = 24 },
			   [RUBY_PATH_TEXT] = { .from = 1 + RUBY_PATH, .off = 24 },
			   [RUBY_INDEX] = { .off = layout->index },
			   [RUBY_INDEX_MORE] = { .off = layout->index,
						 .behind = FPL_SCRIPT_TEXT_BYTES / 8 } },
		.more_texts = 1,
		.lines_ptr_off = layout->lines,
		.lines_size_off = layout->nr_lines,
		.line_bytes = RUBY_LINE_BYTES,
	};
	rule_take_facts(ret, facts, object);
	return true;
}

static void ruby_say_version(const struct script_facts *facts, char *ret)
{
	say_release("Ruby", facts->version, ret);
}

const struct script_language ruby_language = {
	.name = "ruby",
	.rule = ruby_rule,
	.read_code = ruby_read_code,
	.line = ruby_line,
	.say_version = ruby_say_version,
};
