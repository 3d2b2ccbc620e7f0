/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/arch_x86_64.h"

#include <string.h>

/* Kinds of entry, by what they do to the stack. */
enum plt_shape {
	PLT_UNKNOWN,
	PLT_HEADER, /* push link map; jmp resolver: entered with 16 bytes above the caller's sp */
	PLT_LAZY,   /* [endbr64;] [jmp *got;] push index; jmp header */
	PLT_JUMP,   /* [endbr64;] jmp *got */
};

struct plt_entry {
	enum plt_shape shape;
	uint8_t push_end; /* offset behind the push: from here on the stack is one word deeper */
};

static bool starts_with(const uint8_t *code, const char *prefix, size_t size)
{
	return memcmp(code, prefix, size) == 0;
}

/* Size of `jmp *disp(%rip)` at @code, with the bnd prefix of MPX-era linkers; 0: no such jump. */
static size_t jump_through_memory(const uint8_t *code)
{
	if (starts_with(code, "\xff\x25", 2))
		return 6;
	return starts_with(code, "\xf2\xff\x25", 3) ? 7 : 0;
}

static bool is_direct_jump(const uint8_t *code)
{
	return code[0] == 0xe9 || starts_with(code, "\xf2\xe9", 2);
}

static struct plt_entry classify(const uint8_t *code)
{
	size_t at = 0;

	if (starts_with(code, "\xff\x35", 2) && jump_through_memory(code + 6))
		return (struct plt_entry){ PLT_HEADER, 6 };
	if (starts_with(code, "\xf3\x0f\x1e\xfa", 4))
		at = 4;

	size_t jump = jump_through_memory(code + at);

	/* Lazy entries push an index of 32 bits and jump back to the header. */
	if (code[at + jump] == 0x68 && at + jump + 7 <= ARCH_PLT_ENTRY_SIZE &&
	    is_direct_jump(code + at + jump + 5))
		return (struct plt_entry){ PLT_LAZY, (uint8_t)(at + jump + 5) };
	if (jump)
		return (struct plt_entry){ PLT_JUMP, 0 };
	return (struct plt_entry){ PLT_UNKNOWN, 0 };
}

/*
 * Add a row of CFA = rsp + @off, or of the PLT form if @literal is not 0; join it to an equal one.
 */
static size_t add_row(struct cfi_row *rows, size_t nr, uint64_t start, uint64_t end, int64_t off,
		      uint8_t literal)
{
	struct cfi_row row = {
		.start = start,
		.end = end,
		.cfa = literal ? FPL_CFA_PLT : FPL_CFA_REG,
		.cfa_reg = ARCH_SP,
		.cfa_reg2 = literal,
		.cfa_off = off,
		.source = CFI_SOURCE_SYNTH,
	};

	row.reg[CFI_RA] = (struct cfi_reg){ .kind = CFI_AT_CFA, .off = ARCH_RA_OFF };
	if (nr > 0 && rows[nr - 1].end == start && rows[nr - 1].cfa == row.cfa &&
	    rows[nr - 1].cfa_off == off && rows[nr - 1].cfa_reg2 == literal) {
		rows[nr - 1].end = end;
		return nr;
	}
	rows[nr] = row;
	return nr + 1;
}

size_t arch_plt_rows(const uint8_t *bytes, size_t size, uint64_t vaddr, struct cfi_row *rows)
{
	size_t nr = 0;

	/* The PLT form uses the pc's low four bits: entries must be aligned. */
	if (vaddr % ARCH_PLT_ENTRY_SIZE)
		return 0;
	for (size_t at = 0; size - at >= ARCH_PLT_ENTRY_SIZE; at += ARCH_PLT_ENTRY_SIZE) {
		struct plt_entry entry = classify(bytes + at);
		uint64_t start = vaddr + at;
		uint64_t end = start + ARCH_PLT_ENTRY_SIZE;
		uint64_t push_end = start + entry.push_end;

		switch (entry.shape) {
		case PLT_HEADER:
			nr = add_row(rows, nr, start, push_end, 16, 0);
			nr = add_row(rows, nr, push_end, end, 24, 0);
			break;
		case PLT_LAZY:
			nr = add_row(rows, nr, start, end, 8, entry.push_end);
			break;
		case PLT_JUMP:
			nr = add_row(rows, nr, start, end, 8, 0);
			break;
		case PLT_UNKNOWN:
			break;
		}
	}
	return nr;
}

/*
 * The code that crt files put between the halves of .init: the call of __gmon_start__, in two
 * spellings.
 */
static const struct {
	const char *prefix;
	uint8_t prefix_size, size;
} init_instructions[] = {
	{ "\x48\x8b\x05", 3, 7 },	  /* mov disp(%rip),%rax */
	{ "\x48\x85\xc0", 3, 3 },	  /* test %rax,%rax */
	{ "\x74\x02", 2, 2 },		  /* je over the call */
	{ "\xff\xd0", 2, 2 },		  /* call *%rax */
	{ "\xff\x15", 2, 6 },		  /* call *disp(%rip) */
	{ "\xe8", 1, 5 },		  /* call */
	{ "\x0f\x1f\x44\x00\x00", 5, 5 }, /* nopl 0(%rax,%rax) */
	{ "\x90", 1, 1 },		  /* nop */
};

static size_t init_instruction_size(const uint8_t *code, size_t left)
{
	for (size_t i = 0; i < sizeof(init_instructions) / sizeof(init_instructions[0]); i++)
		if (init_instructions[i].size <= left &&
		    starts_with(code, init_instructions[i].prefix,
				init_instructions[i].prefix_size))
			return init_instructions[i].size;
	return 0;
}

size_t arch_init_rows(const uint8_t *bytes, size_t size, uint64_t vaddr, struct cfi_row *rows)
{
	static const char sub[] = "\x48\x83\xec\x08", add_ret[] = "\x48\x83\xc4\x08\xc3";
	enum { SUB_SIZE = 4, ADD_SIZE = 4, ADD_RET_SIZE = 5 };
	size_t at = size >= 4 && starts_with(bytes, "\xf3\x0f\x1e\xfa", 4) ? 4 : 0;

	if (size < at + SUB_SIZE + ADD_RET_SIZE || !starts_with(bytes + at, sub, SUB_SIZE))
		return 0;
	at += SUB_SIZE;

	size_t body = at;

	while (size - at > ADD_RET_SIZE) {
		size_t step = init_instruction_size(bytes + at, size - at - ADD_RET_SIZE);

		if (step == 0)
			return 0;
		at += step;
	}
	if (!starts_with(bytes + at, add_ret, ADD_RET_SIZE))
		return 0;

	size_t nr = add_row(rows, 0, vaddr, vaddr + body, 8, 0);

	nr = add_row(rows, nr, vaddr + body, vaddr + at + ADD_SIZE, 16, 0);
	return add_row(rows, nr, vaddr + at + ADD_SIZE, vaddr + size, 8, 0);
}

/* Places of the general registers (by DWARF number, rsp included) and the pc in the kernel's signal
 * frame, relative to rsp behind the return of the handler: struct ucontext's uc_mcontext. */
static const uint8_t signal_places[CFI_NR_REGS] = { 144, 136, 152, 128, 112, 104, 120, 160, 40,
						    48,	 56,  64,  72,	80,  88,  96,  168 };

static struct cfi_row signal_row(uint64_t start, uint64_t end)
{
	struct cfi_row row = {
		.start = start,
		.end = end,
		.cfa = FPL_CFA_DEREF,
		.cfa_reg = ARCH_SP,
		.cfa_off = signal_places[ARCH_SP],
		.source = CFI_SOURCE_SYNTH,
		.signal = true,
	};

	for (unsigned reg = 0; reg < CFI_NR_REGS; reg++)
		if (reg != ARCH_SP)
			row.reg[reg] = (struct cfi_reg){ .kind = CFI_AT_REG,
							 .reg = ARCH_SP,
							 .off = signal_places[reg] };
	return row;
}

/* Find the first place of @code [code_size] in @bytes from *at on; *at is then behind it. Returns 0
 * if not found. */
static bool find_code(const uint8_t *bytes, size_t size, const char *code, size_t code_size,
		      size_t *at)
{
	const uint8_t *found = memmem(bytes + *at, size - *at, code, code_size);

	*at = found ? (size_t)(found - bytes) + code_size : size;
	return found != NULL;
}

size_t arch_known_rows(const uint8_t *bytes, size_t size, uint64_t vaddr, struct cfi_row *rows,
		       size_t cap)
{
	static const char restorer[] = "\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05";
	/* xor %ebp,%ebp; pop %rdi; call *%r9; mov %eax,%edi; xor %eax,%eax; mov $60,%al; syscall;
	 * hlt */
	static const char begin[] = "\x31\xed\x5f\x41\xff\xd1\x89\xc7\x31\xc0\xb0\x3c\x0f\x05\xf4";
	enum { RESTORER_SIZE = sizeof(restorer) - 1, BEGIN_SIZE = sizeof(begin) - 1 };
	size_t nr = 0;

	for (size_t at = 0; nr < cap && find_code(bytes, size, restorer, RESTORER_SIZE, &at);)
		rows[nr++] = signal_row(vaddr + at - RESTORER_SIZE - 1, vaddr + at);
	for (size_t at = 0; nr < cap && find_code(bytes, size, begin, BEGIN_SIZE, &at); nr++) {
		add_row(rows + nr, 0, vaddr + at - BEGIN_SIZE, vaddr + at, 8, 0);
		rows[nr].reg[CFI_RA] = (struct cfi_reg){ .kind = CFI_UNDEF };
	}
	return nr;
}
