// SPDX-License-Identifier: Apache-2.0
#include "script/lua.h"

#include "script/bytes.h"

/* lstate.h, struct CallInfo: where the function called is on Lua's stack; the frame of the caller;
 * the next instruction; flags of the call. */
#define FUNC_OFF      0
#define PREVIOUS_OFF  16
#define SAVED_PC_OFF  32
#define STATUS_OFF    62
#define FRAME_BYTES   64
#define CALL_IS_FRESH 4u /* CIST_FRESH: luaV_execute() was called for it */

/* A value on Lua's stack is a pointer, then its type: LUA_VLCL, which is collectable. */
#define TYPE_OFF     8
#define LUA_FUNCTION 0x46

#define PROTO_OFF 24 /* of a closure: its function */

bool lua_is_known(uint64_t version)
{
	return version == 50402 || version == 50404 || version == 50407 || version == 50409;
}

/*
 * A frame passes the check if what it has called is a function of Lua: others have frames, too, but
 * none of the loop's. The next instruction is in a register, and in the frame only before something
 * that may fail.
 */
static bool lua_rule(const struct script_facts *facts, uint32_t object, struct fpl_script_rule *ret)
{
	if (!lua_is_known(facts->version) || !facts->nr_ranges)
		return false;
	*ret = (struct fpl_script_rule){
		.check_vaddr = LUA_FUNCTION,
		.check_size = 1,
		.check_is_value = 1,
		.check = { .off = { FUNC_OFF, TYPE_OFF }, .nr = 2, .bits = 8 },
		.code = { .off = { FUNC_OFF, 0, PROTO_OFF }, .nr = 3 },
		.place = { .off = { SAVED_PC_OFF }, .nr = 1, .bits = 32 },
		.next = load_at(PREVIOUS_OFF),
		.stop = load_at(STATUS_OFF),
		.stop_mask = CALL_IS_FRESH,
		.stop_value = CALL_IS_FRESH,
		.shows_last = 1,
		.first_step = load_at(LUA_STEPS_OFF),
		.nr_steps = { .off = { LUA_NR_STEPS_OFF }, .nr = 1, .bits = 32 },
		.step_bytes = LUA_INSTRUCTION_BYTES,
		/* the first line, the address of the instructions, from which places are
		 * counted, the file */
		.content = { .first = LUA_NR_MARKS_OFF,
			     .other = (LUA_STEPS_OFF - LUA_NR_MARKS_OFF) / 8,
			     .text = (LUA_SOURCE_OFF - LUA_NR_MARKS_OFF) / 8,
			     .text_off = LUA_STRING_BYTES_OFF,
			     .nr = (LUA_SOURCE_OFF - LUA_NR_MARKS_OFF) / 8 + 1 },
		.above = FRAME_BYTES,
		.texts = { { .off = LUA_MARKS_OFF }, { .off = LUA_SOURCE_OFF } },
		.lines_ptr_off = LUA_LINES_OFF,
		.lines_size_off = LUA_NR_LINES_OFF,
		.line_bytes = 1,
	};
	rule_take_facts(ret, facts, object);
	return true;
}

static void lua_say_version(const struct script_facts *facts, char *ret)
{
	say_release("Lua", facts->version, ret);
}

/* lobject.h: the header of an object has its kind (LUA_VPROTO) behind a pointer; a function says
 * whether it takes any number of arguments. free() keeps a pointer or a random number in place of
 * the kind, and in that of the first instructions. */
#define KIND_OFF      8
#define KIND	      10
#define IS_VARARG_OFF 11

/* lopcodes.h: the kind of an instruction; such a function begins with OP_VARARGPREP. */
#define STEP_KIND	0x7fu
#define STEP_ANY_NUMBER 81

static bool lua_is_alive(const uint8_t *head, const uint8_t *behind)
{
	return head[KIND_OFF] == KIND &&
	       (!head[IS_VARARG_OFF] || (behind[0] & STEP_KIND) == STEP_ANY_NUMBER);
}

const struct script_language lua_language = {
	.name = "lua",
	.rule = lua_rule,
	.read_code = lua_read_code,
	.line = lua_line,
	.is_alive = lua_is_alive,
	.behind_off = LUA_STEPS_OFF,
	.say_version = lua_say_version,
};
