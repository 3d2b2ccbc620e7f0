// SPDX-License-Identifier: Apache-2.0
#include "script/php.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "script/bytes.h"

/* Zend/zend_compile.h. Of a frame, struct _zend_execute_data: the instruction it is at; its
 * function; the flags of the call, in the type of This; the frame of the caller. */
#define OPLINE_OFF    0
#define FUNC_OFF      24
#define CALL_INFO_OFF 40
#define PREVIOUS_OFF  48
#define FRAME_BYTES   56
#define CALL_TOP      (1u << 17) /* ZEND_CALL_TOP: execute_ex() was called for it */

/* An instruction is a struct _zend_op. */
#define HANDLER_OFF 0
#define LINE_OFF    24

/* Functions of all versions have these. */
#define NAME_OFF   8
#define SCOPE_OFF  16
#define CLASS_NAME 8 /* of struct _zend_class_entry */
#define HASH_OFF   8 /* of a string: its hash, then its length, */
#define LENGTH_OFF 16
#define TEXT_OFF   24 /* then its characters */

/* With GCC the run time keeps the instruction at hand in r15, and its frame in r14
 * (ZEND_VM_IP_GLOBAL_REG of Zend/zend_execute.c). */
#define INSTRUCTION_REG 15

/* struct _zend_op_array of each version. */
static const struct php_layout layouts[] = {
	{ 20190902, .major = 7, .minor = 4, .opcodes = 64, .filename = 136, .line_start = 144 },
	{ 20220829, .major = 8, .minor = 2, .opcodes = 88, .filename = 152, .line_start = 160 },
	{ 20240924, .major = 8, .minor = 4, .opcodes = 104, .filename = 168, .line_start = 176 },
};

const struct php_layout *php_layout(uint64_t version)
{
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
		if (layouts[i].api == version)
			return &layouts[i];
	}
	return NULL;
}

/*
 * A frame passes the check if the first instruction of its function is executed within the loop:
 * the handler of an instruction is an address there. Internal functions, which have frames, too,
 * have no instructions; those compiled at run time have their handlers elsewhere.
 *
 * execute_ex() keeps r14 and r15 where no CFI says so: behind it a walk has the values of the
 * callee. So the chain of frames says where the next native frame's are.
 */
static bool php_rule(const struct script_facts *facts, uint32_t object, struct fpl_script_rule *ret)
{
	const struct php_layout *layout = php_layout(facts->version);
	uint64_t start = UINT64_MAX, end = 0;

	if (!layout || facts->flags || !facts->nr_ranges)
		return false;
	for (size_t i = 0; i < facts->nr_ranges; i++) {
		const struct vaddr_range *range = &facts->ranges[i];

		start = range->start < start ? range->start : start;
		end = range->end > end ? range->end : end;
	}
	*ret = (struct fpl_script_rule){
		.check_vaddr = start,
		.check_size = end - start,
		.check = { .off = { FUNC_OFF, layout->opcodes, HANDLER_OFF }, .nr = 3 },
		.code = load_at(FUNC_OFF),
		.place = load_behind(OPLINE_OFF, LINE_OFF),
		.next = load_at(PREVIOUS_OFF),
		.stop = load_at(CALL_INFO_OFF),
		.stop_mask = CALL_TOP,
		.stop_value = CALL_TOP,
		.shows_last = 1,
		.carries = FPL_SCRIPT_CARRIES_CHAIN,
		.leaf_reg = INSTRUCTION_REG,
		.leaf_check = load_at(HANDLER_OFF),
		.leaf = load_at(LINE_OFF),
		/* names of functions live as long as the script: their address is content */
		.content = { .first = NAME_OFF,
			     .other = (uint8_t)((layout->line_start - NAME_OFF) / 8),
			     .text = (uint8_t)((layout->filename - NAME_OFF) / 8),
			     .text_off = HASH_OFF,
			     .nr = (uint8_t)((layout->line_start - NAME_OFF) / 8 + 1) },
		.above = FRAME_BYTES,
		.texts = { { .off = NAME_OFF }, { .off = layout->filename } },
		.lines_ptr_off = SCOPE_OFF,
		.lines_behind = CLASS_NAME,
		.lines_size_off = LENGTH_OFF,
		.lines_off = TEXT_OFF,
	};
	ret->place.bits = 32;
	ret->leaf.bits = 32;
	rule_take_facts(ret, facts, object);
	return true;
}

static void php_say_version(const struct script_facts *facts, char *ret)
{
	const struct php_layout *layout = php_layout(facts->version);
	const char *threads = facts->flags & SCRIPT_FREE_THREADED ? ", for threads" : "";
	const char *debug = facts->flags & SCRIPT_DEBUG_BUILD ? ", debug build" : "";

	if (layout)
		snprintf(ret, SCRIPT_VERSION_MAX, "PHP %u.%u%s%s", layout->major, layout->minor,
			 threads, debug);
	else
		snprintf(ret, SCRIPT_VERSION_MAX, "PHP of API %" PRIu64 "%s%s", facts->version,
			 threads, debug);
}

/* The place of a frame is its line. */
static uint32_t php_line(const struct script_code *code, uint32_t place)
{
	(void)code;
	return place > INT32_MAX ? 0 : place;
}

const struct script_language php_language = {
	.name = "php",
	.rule = php_rule,
	.read_code = php_read_code,
	.line = php_line,
	.say_version = php_say_version,
};
