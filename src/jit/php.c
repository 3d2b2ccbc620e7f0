/* SPDX-License-Identifier: Apache-2.0 */
#include "jit/php.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "jit/entry.h"
#include "jit/symbols.h"

/* Bytes of execute_ex() until it jumps to the first handler. */
#define JUMP_BYTES 256u

/* Bytes of stubs that are looked at: PHP 8.2 and 8.4 have 2,500 to 2,800. */
#define STUBS_MAX   16384u
#define STUBS_ALIGN 16u

/* jmp [r15]: to the handler of the instruction at hand. Where handlers are functions, they are
 * called. */
static bool jumps_to_handlers(struct jit_memory *memory, uint64_t addr)
{
	static const uint8_t jump[] = { 0x41, 0xff, 0x27 };
	uint8_t code[JUMP_BYTES];

	return jit_read(memory, addr, code, sizeof(code)) &&
	       memmem(code, sizeof(code), jump, sizeof(jump));
}

/* The frame of execute_ex(), in which the code runs. */
static int read_frame(struct jit_memory *memory, uint64_t base, struct fpl_rule *ret,
		      struct fpl_err *err)
{
	struct jit_symbols symbols;
	uint64_t addr;
	int code = jit_symbols_open(memory, base, &symbols);

	if (code == -EFAULT)
		return fpl_fail(err, code, "the symbols of PHP cannot be read");
	if (code || !jit_symbol_find(&symbols, "execute_ex", &addr))
		return fpl_fail(err, -ENOTSUP, "PHP exports no execute_ex");
	if (!jit_entry_read(memory, addr, ret))
		return fpl_fail(err, -ENOTSUP, "execute_ex of PHP begins in an unknown way");
	if (!jumps_to_handlers(memory, addr))
		return fpl_fail(err, -ENOTSUP, "execute_ex of PHP does not jump to handlers");
	return 0;
}

/* Is [@start, @end) the JIT's? The last words say where the next code will be, and where what is
 * made first, the stubs, ends. */
static bool read_stubs_end(struct jit_memory *memory, uint64_t start, uint64_t end, uint64_t *ret)
{
	uint64_t words[2];

	if (end - start < sizeof(words) ||
	    !jit_read(memory, end - sizeof(words), words, sizeof(words)))
		return false;
	*ret = words[1];
	return words[1] > start && words[1] <= words[0] && words[0] <= end - sizeof(words);
}

static void add_piece(struct made_code *made, uint64_t start, uint64_t end,
		      const struct fpl_rule *rule)
{
	struct made_piece *piece = &made->pieces[made->nr++];

	*piece = (struct made_piece){
		.start = start,
		.end = end,
		.region = { .kind = FPL_REGION_FRAME, .end = FPL_REGION_END_MAX, .rule = *rule },
	};
}

/*
 * Add the stub that ends traces. It saves all registers on the stack, where the trace has pushed a
 * word before, and takes all of it off at once. Returns the bytes from @code on to its end; 0:
 * it is not there.
 */
static size_t add_exit(struct made_code *made, const uint8_t *code, size_t size, uint64_t start,
		       const struct fpl_rule *frame)
{
	static const uint8_t lower[] = { 0x48, 0x81, 0xec }, raise[] = { 0x48, 0x81, 0xc4 };
	struct fpl_rule rule = *frame;
	const uint8_t *from = memmem(code, size, lower, sizeof(lower)), *to;
	int32_t lowered, raised;

	if (!from || size - (size_t)(from - code) < 14)
		return 0;
	memcpy(&lowered, from + sizeof(lower), sizeof(lowered));
	from += 7;
	to = memmem(from, size - (size_t)(from - code) - 4, raise, sizeof(raise));
	if (!to)
		return 0;
	memcpy(&raised, to + sizeof(raise), sizeof(raised));
	if (lowered < 8 || lowered > 4096 || raised != lowered + 8)
		return 0;
	rule.cfa_off += raised;
	add_piece(made, start + (size_t)(from - code), start + (size_t)(to - code) + 1, &rule);
	return (size_t)(to - code) + 7;
}

/* The last stubs are functions, which the code calls: each takes one word off the stack at first,
 * by sub rsp, 8 or push rbx. */
static void add_functions(struct made_code *made, const uint8_t *code, size_t at, size_t size,
			  uint64_t start)
{
	static const uint8_t lower[] = { 0x48, 0x83, 0xec, 0x08 };
	struct fpl_rule rule;

	jit_entry_lowered(8, &rule);
	for (at = (at + STUBS_ALIGN - 1) & ~(size_t)(STUBS_ALIGN - 1); at + sizeof(lower) <= size;
	     at += STUBS_ALIGN) {
		if (code[at] != 0x53 && memcmp(code + at, lower, sizeof(lower)) != 0)
			continue;
		add_piece(made, start + at, start + size, &rule);
		return;
	}
}

static void add_stubs(struct jit_memory *memory, uint64_t start, uint64_t stubs_end,
		      const struct fpl_rule *frame, struct made_code *made)
{
	uint8_t code[STUBS_MAX];
	size_t size = stubs_end - start, at;

	if (stubs_end - start > sizeof(code) || !jit_read(memory, start, code, size))
		return;
	at = add_exit(made, code, size, start, frame);
	if (at)
		add_functions(made, code, at, size, start);
}

int php_find(struct jit_memory *memory, uint64_t base, const uint64_t *bounds, size_t nr,
	     struct made_code *ret, struct fpl_err *err)
{
	struct fpl_rule frame;
	uint64_t stubs_end;
	size_t i = 0;
	int code = read_frame(memory, base, &frame, err);

	*ret = (struct made_code){ .nr = 0 };
	if (code)
		return code;
	while (i < nr && !read_stubs_end(memory, bounds[2 * i], bounds[2 * i + 1], &stubs_end))
		i++;
	if (i >= nr)
		return fpl_fail(err, -ENOENT, "no memory is that of PHP's JIT");
	add_stubs(memory, bounds[2 * i], stubs_end, &frame, ret);
	add_piece(ret, bounds[2 * i], bounds[2 * i + 1], &frame);
	return 0;
}
