/* SPDX-License-Identifier: Apache-2.0 */
#include "jit/beam.h"

#include <errno.h>
#include <string.h>

#include "jit/beam_records.h"
#include "jit/symbols.h"

#define ENTRY_NAME	"global::process_main"
#define ENTRY_BYTES_MAX 2048u
#define ENTRY_BYTES_MIN 64u
#define ALIGNED_BY	64u /* by what the entry aligns rsp */

bool beam_is(struct jit_memory *memory, uint64_t base)
{
	struct jit_symbols symbols;
	uint64_t addr;

	return !jit_symbols_open(memory, base, &symbols) &&
	       jit_symbol_find(&symbols, "beam_normal_exit", &addr);
}

static int32_t number_at(const uint8_t *code)
{
	int32_t ret;

	memcpy(&ret, code, sizeof(ret));
	return ret;
}

/*
 * The first instructions of the JIT's entry: rsp is lowered and aligned, its value is stored, and
 * rbx gets one a constant above it. Returns how far below the return address rbx is, at most, and
 * how far above rsp: *ret_above. 0: it begins in another way.
 */
static int32_t read_frame(const uint8_t *code, int32_t *ret_above)
{
	static const uint8_t lower[] = { 0x48, 0x81, 0xec }, align[] = { 0x48, 0x83, 0xe4, 0xc0 };
	static const uint8_t near[] = { 0x48, 0x8d, 0x5c, 0x24 },
			     far[] = { 0x48, 0x8d, 0x9c, 0x24 };
	int32_t lowered = number_at(code + sizeof(lower)), above;

	if (memcmp(code, lower, sizeof(lower)) != 0 || memcmp(code + 7, align, sizeof(align)) != 0)
		return 0;
	code += 7 + sizeof(align);
	if (code[0] != 0x48 || code[1] != 0x89)
		return 0;
	/* mov [rdi], rsp; mov [rdi + d8], rsp; mov [rdi + d32], rsp */
	if (code[2] == 0x27)
		code += 3;
	else if (code[2] == 0x67)
		code += 4;
	else if (code[2] == 0xa7)
		code += 7;
	else
		return 0;
	if (!memcmp(code, near, sizeof(near)))
		above = (int8_t)code[sizeof(near)];
	else if (!memcmp(code, far, sizeof(far)))
		above = number_at(code + sizeof(far));
	else
		return 0;
	if (above <= 0 || above > UINT8_MAX || lowered <= above)
		return 0;
	*ret_above = above;
	return lowered - above + (int32_t)(ALIGNED_BY - 8);
}

/* Find @start [3] in @code: the byte that follows it. -1: it is nowhere, or different bytes follow.
 */
static int byte_behind(const uint8_t *code, size_t size, const uint8_t *start)
{
	int ret = -1;

	for (size_t i = 0; i + 3 < size; i++) {
		if (memcmp(code + i, start, 3) != 0)
			continue;
		if (ret >= 0 && ret != code[i + 3])
			return -1;
		ret = code[i + 3];
	}
	return ret;
}

static bool read_entry(struct jit_memory *memory, const struct beam_range *range,
		       struct fpl_region_beam *ret)
{
	/* mov rsp, [r13 + d8]; lea rsp, [rbx + d8] */
	static const uint8_t to_erlang[] = { 0x49, 0x8b, 0x65 }, to_thread[] = { 0x48, 0x8d, 0x63 };
	uint8_t code[ENTRY_BYTES_MAX];
	size_t size = range->end - range->start;
	int32_t caller, above;
	int stack, runtime;

	if (size < ENTRY_BYTES_MIN || size > sizeof(code) ||
	    !jit_read(memory, range->start, code, size))
		return false;
	caller = read_frame(code, &above);
	stack = byte_behind(code, size, to_erlang);
	runtime = byte_behind(code, size, to_thread);
	/* C code is called where the entry has put rsp */
	if (caller <= 0 || stack < 0 || stack > INT8_MAX || runtime < 0 ||
	    -(int8_t)runtime != above)
		return false;
	ret->entry = range->start;
	ret->entry_bytes = (uint16_t)size;
	ret->caller_off = (uint32_t)caller;
	ret->stack_off = (uint8_t)stack;
	ret->runtime_off = (uint8_t)above;
	return true;
}

/* Find the range of the entry in the module @record. */
static bool find_entry(struct jit_memory *memory, struct beam_record *record,
		       struct beam_range *ret)
{
	while (beam_range_next(memory, record, ret)) {
		if (!strcmp(ret->name, ENTRY_NAME))
			return true;
		if (!beam_range_leave(memory, record, ret))
			break;
	}
	return false;
}

/* The JIT's entry is in the module that was made first, which is the last one in the list. The
 * others are not read, but for the names of their first ranges. */
static bool may_have_entry(struct jit_memory *memory, const struct beam_record *record)
{
	struct beam_record copy = *record;
	struct beam_range range;

	return beam_range_next(memory, &copy, &range) &&
	       !strncmp(range.name, ENTRY_NAME, strcspn(ENTRY_NAME, ":") + 1);
}

int beam_find(struct jit_memory *memory, uint64_t base, struct made_code *ret, struct fpl_err *err)
{
	struct fpl_region_beam beam = { .normal_exit = 0 };
	struct jit_symbols symbols;
	struct jit_list list;
	struct beam_record record;
	struct beam_range entry;
	uint64_t process_main;
	bool has_entry = false;
	int code = jit_list_open(memory, base, &list);

	*ret = (struct made_code){ .nr = 0 };
	if (!code)
		code = jit_symbols_open(memory, base, &symbols);
	if (code == -EFAULT)
		return fpl_fail(err, code, "the symbols of Erlang cannot be read");
	if (code || !jit_symbol_find(&symbols, "process_main", &process_main))
		return fpl_fail(err, -ENOTSUP, "Erlang exports no process_main");
	beam.process_main = process_main;
	while (beam_record_next(&list, &record)) {
		if (record.kind == BEAM_RUN_TIME)
			beam.normal_exit = record.normal_exit;
		else if (record.kind == BEAM_MODULE && !has_entry &&
			 may_have_entry(memory, &record))
			has_entry = find_entry(memory, &record, &entry);
	}
	if (!has_entry || !beam.normal_exit)
		return fpl_fail(err, -EAGAIN, "Erlang has not described its JIT yet");
	if (!read_entry(memory, &entry, &beam) || !fpl_region_beam_holds(&beam))
		return fpl_fail(err, -ENOTSUP, ENTRY_NAME " of Erlang is unknown code");
	ret->nr = 1;
	ret->pieces[0] = (struct made_piece){
		.end = FPL_REGION_END_MAX,
		.region = { .kind = FPL_REGION_BEAM, .end = FPL_REGION_END_MAX, .beam = beam },
	};
	return 0;
}
