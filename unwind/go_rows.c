/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/go_rows.h"

#include "unwind/arch_x86_64.h"
#include "unwind/go_code.h"
#include "unwind/go_depth.h"
#include "unwind/go_way.h"

enum { GO_REG_G = 14 }; /* r14 is the running g (ABIInternal of Go 1.17 and later) */

/* State of the pass through one function. Offsets count from its first byte. */
struct writer {
	const struct go_function *function;
	struct go_frame frame;
	struct go_switch leaves;
	struct go_ways ways;
	const struct go_layout *layout;
	bool framed; /* frame holds */
	bool interrupts;
	int popped; /* the register that the return address was popped into; -1: none */
	cfi_row_fn fn;
	void *ctx;
	uint64_t *nr_rows;
};

/* A row of an ordinary call: the return address is where the call put it. */
static struct cfi_row row_of(uint64_t start, uint64_t end)
{
	struct cfi_row row = {
		.start = start,
		.end = end,
		.cfa = FPL_CFA_REG,
		.cfa_reg = ARCH_SP,
		.cfa_off = 8,
		.source = CFI_SOURCE_GO,
	};

	row.reg[CFI_RA] = (struct cfi_reg){ .kind = CFI_AT_CFA, .off = ARCH_RA_OFF };
	return row;
}

static int hand_over(const struct writer *writer, const struct cfi_row *row)
{
	++*writer->nr_rows;
	return writer->fn(row, writer->ctx);
}

/*
 * The registers a frame may have changed. Compiled Go keeps none for its caller and needs none from
 * its callees, so its tables omit them. Where C calls Go, assembly with a frame stands between, and
 * its handling of them is not followed.
 */
static void set_registers(const struct writer *writer, uint64_t off, struct cfi_row *row)
{
	static const uint8_t kept[] = { 3, 12, 13, 14, 15 };

	if (writer->framed && off >= writer->frame.saved)
		row->reg[ARCH_FRAME_POINTER] = (struct cfi_reg){ .kind = CFI_AT_CFA, .off = -16 };
	else if (!writer->framed)
		row->reg[ARCH_FRAME_POINTER] = (struct cfi_reg){ .kind = CFI_UNDEF };
	for (size_t i = 0; writer->function->is_asm && i < sizeof(kept); i++)
		if (kept[i] != GO_REG_G || !writer->function->keeps_g)
			row->reg[kept[i]] = (struct cfi_reg){ .kind = CFI_UNDEF };
}

/* The table does not show the caller: the walk ends with a named stop. */
static int add_unknown(const struct writer *writer, uint64_t start, uint64_t end)
{
	struct cfi_row row = row_of(start, end);

	row.cfa = FPL_CFA_EXPR;
	row.cfa_reg = 0;
	row.cfa_off = 0;
	return hand_over(writer, &row);
}

/* A row with the return address in a register and the stack as the caller left it. */
static int add_popped(const struct writer *writer, uint64_t start, uint64_t end)
{
	struct cfi_row row = row_of(start, end);

	if (writer->popped < 0 || writer->popped == ARCH_SP)
		return add_unknown(writer, start, end);
	row.cfa_off = 0;
	row.reg[CFI_RA] = (struct cfi_reg){ CFI_VAL_REG, (uint8_t)writer->popped, 0 };
	return hand_over(writer, &row);
}

/* A row for the depth of the stack in [start, end), with the same registers over all of it. */
static int add_part(const struct writer *writer, uint64_t start, uint64_t end, int64_t depth)
{
	struct cfi_row row = row_of(start, end);

	row.cfa_off = depth + 8;
	row.signal = writer->interrupts;
	if (depth > 0)
		set_registers(writer, start - writer->function->start, &row);
	return hand_over(writer, &row);
}

/* Rows for the depth of the stack, cut at the save of rbp. */
static int add_plain(const struct writer *writer, uint64_t start, uint64_t end, int64_t depth)
{
	uint64_t saved = writer->framed ? writer->function->start + writer->frame.saved : 0;
	int code = 0;

	if (depth < 0)
		return add_popped(writer, start, end);
	if (depth > 0 && start < saved && saved < end) {
		code = add_part(writer, start, saved, depth);
		start = saved;
	}
	return code ? code : add_part(writer, start, end, depth);
}

static int add_outermost(const struct writer *writer, uint64_t start, uint64_t end)
{
	struct cfi_row row = row_of(start, end);

	row.reg[CFI_RA] = (struct cfi_reg){ .kind = CFI_UNDEF };
	return hand_over(writer, &row);
}

/*
 * A row behind the instruction that writes rsp: the frame is on the previous stack, and rbp still
 * leads to it.
 */
static int add_switched(const struct writer *writer, uint64_t start, uint64_t end, int64_t depth)
{
	uint64_t off = start - writer->function->start;
	struct cfi_row row = row_of(start, end);

	if (off >= writer->leaves.ended)
		return add_outermost(writer, start, end);
	if (!writer->framed || off < writer->frame.owned)
		return add_unknown(writer, start, end);
	if (depth == 0) /* rbp is the caller's again, so rsp is, too */
		return add_plain(writer, start, end, 0);
	row.cfa_reg = ARCH_FRAME_POINTER;
	row.cfa_off = 16;
	row.other_stack = true;
	set_registers(writer, off, &row);
	return hand_over(writer, &row);
}

/* Rows of one depth of a function that leaves its stack, cut at each change. */
static int add_stretch_of_switch(const struct writer *writer, const struct go_value *at,
				 bool is_epilogue)
{
	enum { ADD_SIZE = 4 }; /* add $8, %rsp */
	const struct go_switch *leaves = &writer->leaves;
	uint64_t first = writer->function->start;
	uint64_t written = !writer->framed && leaves->called < leaves->written ? leaves->called
									       : leaves->written;
	/* The instruction itself still runs on the previous stack. */
	uint64_t left = written == GO_NOWHERE ? first : first + written + 1;
	uint64_t ended = leaves->ended == GO_NOWHERE ? UINT64_MAX : first + leaves->ended;
	uint64_t back =
		is_epilogue && at->end - at->start > ADD_SIZE ? at->end - ADD_SIZE : at->end;
	uint64_t start = at->start;
	int code = 0;

	if (start < left) {
		uint64_t end = at->end < left ? at->end : left;

		code = add_plain(writer, start, end, at->value);
		start = end;
	}
	if (code == 0 && start < back && start < ended) {
		uint64_t end = back < ended ? back : ended;

		code = add_switched(writer, start, end, at->value);
		start = end;
	}
	if (code == 0 && start < at->end)
		code = start < ended ? add_plain(writer, start, at->end, at->value)
				     : add_outermost(writer, start, at->end);
	return code;
}

/* The caller is on the stack of the goroutine that this thread runs code of. */
static int add_goroutine(const struct writer *writer, uint64_t start, uint64_t end, uint8_t cfa)
{
	struct cfi_row row = row_of(start, end);

	row.cfa = cfa;
	row.cfa_reg = GO_REG_G;
	row.cfa_reg2 = (uint8_t)(writer->layout->g_m / 8);
	row.cfa_off = (int64_t)writer->layout->sched_sp;
	row.cfa_off2 = (int64_t)writer->layout->m_curg;
	row.other_stack = true;
	return hand_over(writer, &row);
}

/* The address of the return address on top of the previous stack: in rdx, or @off bytes up this
 * stack, or there as a distance. */
static int add_left(const struct writer *writer, uint64_t start, uint64_t end,
		    const struct go_stretch *stretch)
{
	struct cfi_row row = row_of(start, end);

	row.other_stack = true;
	if (stretch->way == GO_WAY_RDX) {
		row.cfa_reg = ARCH_RDX;
		return hand_over(writer, &row);
	}
	row.cfa = stretch->way == GO_WAY_SLOT ? FPL_CFA_DEREF : FPL_CFA_HEIGHT;
	row.cfa_off = (int64_t)stretch->off;
	row.cfa_off2 = 8;
	return hand_over(writer, &row);
}

static int add_way(const struct writer *writer, uint64_t start, uint64_t end, int64_t depth,
		   const struct go_stretch *stretch)
{
	switch (stretch->way) {
	case GO_WAY_NONE:
		return add_outermost(writer, start, end);
	case GO_WAY_CALL:
		return add_goroutine(writer, start, end, FPL_CFA_G_CALL);
	case GO_WAY_RESUME:
		return add_goroutine(writer, start, end, FPL_CFA_G_RESUME);
	case GO_WAY_RDX:
	case GO_WAY_HEIGHT:
	case GO_WAY_SLOT:
		return add_left(writer, start, end, stretch);
	case GO_WAY_DEPTH:
	default:
		return add_plain(writer, start, end, depth);
	}
}

/* Rows of one depth of a function with its own way back, cut where the way changes. */
static int add_ways(const struct writer *writer, const struct go_value *at)
{
	const struct go_ways *ways = &writer->ways;
	uint64_t first = writer->function->start;
	int code = 0;

	for (size_t i = 0; code == 0 && i < ways->nr; i++) {
		uint64_t start = first + ways->list[i].from;
		uint64_t end = i + 1 < ways->nr ? first + ways->list[i + 1].from : at->end;

		start = start > at->start ? start : at->start;
		end = end < at->end ? end : at->end;
		if (start < end)
			code = add_way(writer, start, end, at->value, &ways->list[i]);
	}
	return code;
}

/*
 * Does the next stretch begin behind `mov disp(%rsp), %rbp; add $n, %rsp`? Before the addition rbp
 * is the caller's again although the depth is not 0 yet. A pop changes both at once.
 */
static bool is_epilogue(const struct writer *writer, struct go_value at)
{
	return writer->framed && !writer->frame.popped && at.value > 0 && go_depth_next(&at) &&
	       at.value == 0;
}

/* The kernel's signal frame on the stack: the registers of the interrupted code. */
static int add_sigreturn(const struct writer *writer)
{
	/* Places of registers in the kernel's struct ucontext, by DWARF number. */
	static const uint8_t places[CFI_NR_REGS] = { 144, 136, 152, 128, 112, 104, 120, 160, 40,
						     48,  56,  64,  72,	 80,  88,  96,	168 };
	const struct go_function *function = writer->function;
	struct cfi_row row = row_of(function->start, function->end);

	row.cfa = FPL_CFA_DEREF;
	row.cfa_off = places[ARCH_SP];
	row.signal = true;
	for (unsigned i = 0; i < CFI_NR_REGS; i++)
		row.reg[i] = (struct cfi_reg){ CFI_AT_REG, ARCH_SP, places[i] };
	row.reg[ARCH_SP] = (struct cfi_reg){ .kind = CFI_SAME };
	return hand_over(writer, &row);
}

int go_function_rows(const struct go_functions *functions, const struct go_function *function,
		     cfi_row_fn fn, void *ctx, uint64_t *nr_rows)
{
	struct writer writer = { .function = function,
				 .layout = &functions->layout,
				 .fn = fn,
				 .ctx = ctx,
				 .nr_rows = nr_rows };
	const uint8_t *bytes = go_function_code(functions, function);
	uint64_t size = function->end - function->start;
	struct go_value at = go_depth_begin(functions, function);
	bool seen = false;
	int code = 0;

	if (function->kind == GO_OUTERMOST)
		return add_outermost(&writer, function->start, function->end);
	if (function->kind == GO_SIGRETURN)
		return add_sigreturn(&writer);
	writer.interrupts = function->is_asm && go_code_is_interruption(bytes, size);
	if (function->kind == GO_SWITCH) {
		go_code_switch(bytes, size, &writer.leaves);
		go_ways_find(bytes, size, writer.layout, &writer.ways);
	}
	while (code == 0 && go_depth_next(&at)) {
		if (at.value > 0 && !seen) {
			seen = true;
			writer.framed = go_code_frame(bytes, size, at.start - function->start,
						      at.value, &writer.frame);
		}
		writer.popped = go_code_popped(bytes, size, at.start - function->start);
		if (writer.ways.nr)
			code = add_ways(&writer, &at);
		else if (function->kind == GO_SWITCH)
			code = add_stretch_of_switch(&writer, &at, is_epilogue(&writer, at));
		else
			code = add_plain(&writer, at.start, at.end, at.value);
	}
	return code;
}
