// SPDX-License-Identifier: Apache-2.0
#include "unwind/script_find.h"

#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bpf/arch_x86_64.h"
#include "unwind/function_list.h"
#include "unwind/synth/op.h"
#include "unwind/v8_find.h"

#define NAMES_MAX	  (64u << 20) /* bytes of .dynstr, */
#define SYMBOLS_MAX	  (64u << 20) /* and of .dynsym */
#define TEXTS_MAX	  (64u << 20) /* of sections without code that are only read */
#define LOOP_MAX	  (1u << 20)  /* of a function's code */
#define REACHED_MAX	  256u	      /* functions among which a loop is looked for, */
#define REACHED_BYTES_MAX (4u << 20)  /* and their code */

struct names {
	char *text; /* owned [size] */
	size_t size;
};

#define EXPORTS_MAX 8u

struct found {
	uint64_t at[EXPORTS_MAX]; /* vaddrs; 0: not found */
};

/* Exported symbols of interest. */
enum { LOOP, CODE_TYPE, VERSION, RUNTIME, SINCE_3_10, SINCE_3_9, SUBVERSION, RUNTIME_SIZE };

struct kind {
	enum script_language_id language;
	const char *exports[EXPORTS_MAX]; /* first the loop, or what calls it, */
	uint8_t calls;			  /* by so many calls at the most; 0: it is the loop */
	/* Find the version, the flags and what else @ret wants; false: it is no such thing. NULL:
	 * V8, which has no loop. */
	bool (*read)(const struct elf_file *elf, const struct found *found,
		     struct script_facts *ret);
};

static bool is_name(const struct names *names, uint32_t off, const char *name)
{
	size_t size = strlen(name) + 1;

	return off < names->size && size <= names->size - off &&
	       !memcmp(names->text + off, name, size);
}

static void find_symbols(const struct elf_file *elf, const struct elf_section *section,
			 const struct names *names, const struct kind *kind, struct found *ret)
{
	AUTO_FREE uint8_t *bytes = NULL;
	size_t size = 0;

	if (elf_file_section_bytes(elf, section, SYMBOLS_MAX, &bytes, &size, NULL))
		return;
	for (size_t at = 0; at + sizeof(Elf64_Sym) <= size; at += sizeof(Elf64_Sym)) {
		Elf64_Sym symbol;

		memcpy(&symbol, bytes + at, sizeof(symbol));
		if (symbol.st_shndx == SHN_UNDEF)
			continue;
		for (size_t i = 0; i < EXPORTS_MAX; i++) {
			if (kind->exports[i] && is_name(names, symbol.st_name, kind->exports[i]))
				ret->at[i] = symbol.st_value;
		}
	}
}

static bool read_at(const struct elf_file *elf, uint64_t vaddr, void *buf, size_t size)
{
	const struct elf_segment *load = elf_file_load_at(elf, vaddr, size);

	return load && !elf_file_read(elf, vaddr - load->vaddr + load->off, buf, size, NULL);
}

/* Hand each text that begins with @mark in what @elf only reads to @read, until that finds the
 * version. Returns whether it does. */
static bool find_text(const struct elf_file *elf, const char *mark,
		      bool (*read)(const char *text, size_t size, struct script_facts *ret),
		      struct script_facts *ret)
{
	for (size_t i = 1; i < elf->nr_sections; i++) {
		const struct elf_section *section = &elf->sections[i];
		AUTO_FREE uint8_t *bytes = NULL;
		const char *at, *end;
		size_t size = 0;

		if (section->type != SHT_PROGBITS ||
		    (section->flags & (SHF_ALLOC | SHF_WRITE | SHF_EXECINSTR)) != SHF_ALLOC ||
		    elf_file_section_bytes(elf, section, TEXTS_MAX, &bytes, &size, NULL))
			continue;
		end = (const char *)bytes + size;
		for (at = (const char *)bytes; at && at < end; at++) {
			at = memmem(at, (size_t)(end - at), mark, strlen(mark));
			if (!at)
				break;
			if (read(at, (size_t)(end - at), ret))
				return true;
		}
	}
	return false;
}

/* The version since which CPython may be built with tail calls. */
#define PYTHON_TAIL_CALLS 0x030eu

/* The environment's variable that switches the JIT on or off. */
#define PYTHON_JIT "PYTHON_JIT"

static bool read_python_jit(const char *text, size_t size, struct script_facts *ret)
{
	if (size < sizeof(PYTHON_JIT) || text[sizeof(PYTHON_JIT) - 1])
		return false;
	ret->makes_code = true;
	/* clang's convention preserve_none has the first argument there. 3.13 has another one. */
	if (ret->version >> 16 == 0x030e)
		ret->made_reg = ARCH_R12;
	return true;
}

static bool read_python(const struct elf_file *elf, const struct found *found,
			struct script_facts *ret)
{
	/* struct _Py_DebugOffsets, with which the run time of 3.13 and later begins */
	struct {
		char cookie[8];
		uint64_t version, free_threaded;
	} offsets;

	ret->code_type = found->at[CODE_TYPE];
	if (found->at[VERSION]) {
		if (!read_at(elf, found->at[VERSION], &ret->version, sizeof(ret->version)))
			return false;
	} else if (found->at[SINCE_3_10]) {
		ret->version = 0x030a00f0;
	} else if (found->at[SINCE_3_9]) {
		ret->version = 0x030900f0;
	}
	if (found->at[RUNTIME] && read_at(elf, found->at[RUNTIME], &offsets, sizeof(offsets)) &&
	    !memcmp(offsets.cookie, "xdebugpy", sizeof(offsets.cookie))) {
		if (offsets.free_threaded)
			ret->flags |= SCRIPT_FREE_THREADED;
		(void)find_text(elf, PYTHON_JIT, read_python_jit, ret);
	}
	return ret->code_type && ret->version;
}

#define PHP_API	       "API"
#define PHP_API_DIGITS 8u

/* The text that says which modules fit: "API20220829,NTS", with ",debug" behind it in a debug
 * build. */
static bool read_php_api(const char *text, size_t size, struct script_facts *ret)
{
	uint64_t version = 0;
	size_t at = strlen(PHP_API);

	if (size < at + PHP_API_DIGITS + sizeof(",NTS,debug"))
		return false;
	for (size_t end = at + PHP_API_DIGITS; at < end; at++) {
		if (text[at] < '0' || text[at] > '9')
			return false;
		version = 10 * version + (uint64_t)(text[at] - '0');
	}
	text += at;
	if (!strncmp(text, ",TS", 3))
		ret->flags |= SCRIPT_FREE_THREADED;
	else if (strncmp(text, ",NTS", 4) != 0)
		return false;
	text = strchr(text + 1, 'S') + 1;
	if (!strcmp(text, ",debug"))
		ret->flags |= SCRIPT_DEBUG_BUILD;
	else if (text[0])
		return false;
	ret->version = version;
	return true;
}

static bool read_php(const struct elf_file *elf, const struct found *found,
		     struct script_facts *ret)
{
	(void)found;
	return find_text(elf, PHP_API, read_php_api, ret);
}

#define LUA_VERSION "$LuaVersion: Lua "

/* Three numbers with dots between them, 5.4.4: 50404. */
static bool read_numbers(const char *text, size_t size, uint64_t *ret)
{
	size_t at = 0;

	*ret = 0;
	for (int i = 0; i < 3; i++) {
		uint64_t number = 0;
		size_t end = at;

		for (; end < size && end < at + 2 && text[end] >= '0' && text[end] <= '9'; end++)
			number = 10 * number + (uint64_t)(text[end] - '0');
		if (end == at || end == size || (i < 2 && text[end] != '.'))
			return false;
		*ret = 100 * *ret + number;
		at = end + 1;
	}
	return true;
}

static bool read_lua_version(const char *text, size_t size, struct script_facts *ret)
{
	size_t at = strlen(LUA_VERSION);

	return read_numbers(text + at, size - at, &ret->version);
}

static bool read_lua(const struct elf_file *elf, const struct found *found,
		     struct script_facts *ret)
{
	(void)found;
	return find_text(elf, LUA_VERSION, read_lua_version, ret);
}

static bool read_ruby(const struct elf_file *elf, const struct found *found,
		      struct script_facts *ret)
{
	char text[8];

	return found->at[VERSION] && read_at(elf, found->at[VERSION], text, sizeof(text)) &&
	       read_numbers(text, sizeof(text), &ret->version);
}

/* The size of the interpreter's data says how it was built. Without threads they are no structure,
 * and there is no size. */
static bool read_perl(const struct elf_file *elf, const struct found *found,
		      struct script_facts *ret)
{
	uint8_t version, subversion;
	uint16_t size = 0;

	if (!found->at[VERSION] || !found->at[SUBVERSION] ||
	    !read_at(elf, found->at[VERSION], &version, sizeof(version)) ||
	    !read_at(elf, found->at[SUBVERSION], &subversion, sizeof(subversion)) ||
	    (found->at[RUNTIME_SIZE] &&
	     !read_at(elf, found->at[RUNTIME_SIZE], &size, sizeof(size))))
		return false;
	ret->version = (uint64_t)size << 32 | (50000u + version * 100u + subversion);
	return true;
}

static const struct kind kinds[] = {
	{ SCRIPT_PYTHON,
	  { [LOOP] = "_PyEval_EvalFrameDefault",
	    [CODE_TYPE] = "PyCode_Type",
	    [VERSION] = "Py_Version",
	    [RUNTIME] = "_PyRuntime",
	    [SINCE_3_10] = "PyIter_Send",
	    [SINCE_3_9] = "PyFrame_GetBack" },
	  .read = read_python },
	{ SCRIPT_PHP, { [LOOP] = "execute_ex" }, .read = read_php },
	{ SCRIPT_JAVASCRIPT, { [LOOP] = V8_MARK }, .read = NULL },
	{ SCRIPT_LUA, { [LOOP] = "lua_callk" }, .calls = 3, .read = read_lua },
	{ SCRIPT_RUBY,
	  { [LOOP] = "rb_vm_exec", [VERSION] = "ruby_version" },
	  .calls = 1,
	  .read = read_ruby },
	{ SCRIPT_RUBY,
	  { [LOOP] = "rb_yield", [VERSION] = "ruby_version" },
	  .calls = 3,
	  .read = read_ruby },
	{ SCRIPT_PERL,
	  { [LOOP] = "Perl_runops_standard",
	    [VERSION] = "PL_version",
	    [SUBVERSION] = "PL_subversion",
	    [RUNTIME_SIZE] = "PL_interp_size" },
	  .read = read_perl },
};

/* May @name be among the names? It may also be the end of another one, with which linkers let it
 * share its bytes. */
static bool has_name(const struct names *names, const char *name)
{
	return names->size && memmem(names->text, names->size, name, strlen(name) + 1);
}

/* The kind that @elf is by the symbols it exports; NULL: none. */
static const struct kind *find_kind(const struct elf_file *elf, const struct elf_section *section,
				    struct found *ret)
{
	CLEANUP(cleanup_free) void *owner = NULL;
	struct names names = { 0 };

	if (!section->link || section->link >= elf->nr_sections ||
	    elf_file_section_bytes(elf, &elf->sections[section->link], NAMES_MAX,
				   (uint8_t **)&names.text, &names.size, NULL))
		return NULL;
	owner = names.text;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		/* most files have none of these names */
		if (!has_name(&names, kinds[i].exports[LOOP]))
			continue;
		find_symbols(elf, section, &names, &kinds[i], ret);
		if (ret->at[LOOP])
			return &kinds[i];
	}
	return NULL;
}

static const struct kind *find_exports(const struct elf_file *elf, struct found *ret)
{
	for (size_t i = 1; i < elf->nr_sections; i++) {
		if (elf->sections[i].type == SHT_DYNSYM)
			return find_kind(elf, &elf->sections[i], ret);
	}
	return NULL;
}

/* The CFA that most bytes of @range have. */
static void find_body(const struct table *table, const struct vaddr_range *range,
		      struct script_facts *ret)
{
	uint64_t most = 0, start, end;

	for (uint64_t at = range->start; at < range->end; at = end) {
		const struct fpl_rule *rule = table_find_reach(table, at, &start, &end);
		uint64_t bytes = 0;

		if (end <= at)
			end = at + 1;
		if (rule->cfa != FPL_CFA_REG)
			continue;
		/* a row may be told in pieces: count all that are like it from here on */
		for (uint64_t next = at, from, to; next < range->end; next = to) {
			const struct fpl_rule *other = table_find_reach(table, next, &from, &to);

			if (to <= next)
				to = next + 1;
			if (other->cfa != rule->cfa || other->cfa_off != rule->cfa_off ||
			    (other->regs & 15u) != (rule->regs & 15u))
				break;
			bytes += to - next;
			end = to;
		}
		if (bytes > most) {
			most = bytes;
			ret->cfa_off = rule->cfa_off;
			ret->cfa_reg = rule->regs & 15u;
		}
	}
}

static bool is_body(const struct table *table, const struct script_facts *facts, uint64_t vaddr)
{
	const struct fpl_rule *rule = table_find(table, vaddr);

	return rule->cfa == FPL_CFA_REG && rule->cfa_off == facts->cfa_off &&
	       (rule->regs & 15u) == facts->cfa_reg;
}

static void add_range(struct script_facts *facts, const struct vaddr_range *range)
{
	for (size_t i = 0; i < facts->nr_ranges; i++) {
		if (facts->ranges[i].start == range->start)
			return;
	}
	if (facts->nr_ranges < SCRIPT_FACTS_RANGES_MAX)
		facts->ranges[facts->nr_ranges++] = *range;
}

/* The code of a function, instruction by instruction. */
struct code {
	struct synth_decoder *decoder; /* borrowed */
	uint8_t *bytes;		       /* owned */
	uint64_t vaddr;
	size_t size, at;
};

static bool code_open(const struct elf_file *elf, struct synth_decoder *decoder,
		      const struct vaddr_range *range, struct code *ret)
{
	size_t size = range->end - range->start;

	*ret = (struct code){ .decoder = decoder, .vaddr = range->start, .size = size };
	ret->bytes = decoder && size <= LOOP_MAX ? malloc(size) : NULL;
	return ret->bytes && read_at(elf, range->start, ret->bytes, size);
}

static void code_close(struct code *code)
{
	free(code->bytes);
}

/* The next call or jump. */
static bool code_next(struct code *code, struct synth_op *ret)
{
	while (code->at < code->size) {
		synth_decode_lead(code->decoder, code->bytes + code->at, code->size - code->at,
				  code->vaddr + code->at, ret);
		code->at += ret->size ? ret->size : 1u;
		if (ret->kind == OP_CALL || ret->kind == OP_JUMP || ret->kind == OP_BRANCH ||
		    ret->kind == OP_JUMP_REGISTER || ret->kind == OP_JUMP_MEMORY)
			return true;
	}
	return false;
}

/* Add the functions that code in @range jumps into where the frame is that of the body: compilers
 * put what is rarely executed into functions of their own. */
static void follow_jumps(const struct elf_file *elf, const struct table *table,
			 const struct function_list *functions, struct vaddr_range range,
			 struct synth_decoder *decoder, struct script_facts *facts)
{
	CLEANUP(code_close) struct code code;
	struct vaddr_range other;
	struct synth_op op;

	if (!code_open(elf, decoder, &range, &code))
		return;
	while (code_next(&code, &op)) {
		if ((op.kind == OP_JUMP || op.kind == OP_BRANCH) &&
		    (uint64_t)op.imm - range.start >= code.size &&
		    is_body(table, facts, (uint64_t)op.imm) &&
		    function_list_find(functions, (uint64_t)op.imm, &other))
			add_range(facts, &other);
	}
}

/* Instructions that write i words behind register j. */
struct writes {
	uint16_t by[SCRIPT_FACTS_WORDS][FPL_NR_REGS];
	uint16_t of[SCRIPT_FACTS_WORDS][FPL_NR_REGS]; /* what is in register j, behind any */
};

static void count_one(uint16_t *nr)
{
	if (*nr < UINT16_MAX / FPL_NR_REGS)
		++*nr;
}

static void count_writes(const struct elf_file *elf, struct synth_decoder *decoder,
			 const struct vaddr_range *range, struct writes *writes)
{
	CLEANUP(code_close) struct code code;
	struct synth_op op;

	if (!code_open(elf, decoder, range, &code))
		return;
	for (; code.at < code.size; code.at += op.size ? op.size : 1u) {
		synth_decode(decoder, code.bytes + code.at, code.size - code.at,
			     code.vaddr + code.at, &op);
		if ((op.kind != OP_STORE && op.kind != OP_STORE_OTHER) || op.imm % 8 ||
		    (uint64_t)op.imm >= 8ull * SCRIPT_FACTS_WORDS || op.dst >= FPL_NR_REGS)
			continue;

		count_one(&writes->by[op.imm / 8][op.dst]);
		if (op.kind == OP_STORE && op.src < FPL_NR_REGS)
			count_one(&writes->of[op.imm / 8][op.src]);
	}
}

/* The callee-saved register with more than half of the sum of all these; 0: none has that. */
static uint8_t find_most(const uint16_t *nr)
{
	uint32_t all = 0;

	for (uint32_t i = 0; i < FPL_NR_SAVED; i++)
		all += nr[ARCH_SAVED_REG(i)];
	for (uint32_t i = 0; i < FPL_NR_SAVED; i++) {
		if (2u * nr[ARCH_SAVED_REG(i)] > all)
			return (uint8_t)ARCH_SAVED_REG(i);
	}
	return 0;
}

/* Find the callee-saved registers that the loop writes by. */
static void find_writes(const struct elf_file *elf, struct synth_decoder *decoder,
			struct script_facts *facts)
{
	struct writes writes = { 0 };

	for (size_t i = 0; i < facts->nr_ranges; i++)
		count_writes(elf, decoder, &facts->ranges[i], &writes);
	for (size_t i = 0; i < SCRIPT_FACTS_WORDS; i++) {
		facts->place_regs[i] = find_most(writes.by[i]);
		facts->value_regs[i] = find_most(writes.of[i]);
	}
}

/* Does the loop jump to where a register or memory says? One that does not has its instructions
 * elsewhere. */
static bool jumps_by_value(const struct elf_file *elf, struct synth_decoder *decoder,
			   const struct script_facts *facts)
{
	for (size_t i = 0; i < facts->nr_ranges; i++) {
		CLEANUP(code_close) struct code code;
		struct synth_op op;

		if (!code_open(elf, decoder, &facts->ranges[i], &code))
			continue;
		while (code_next(&code, &op))
			if (op.kind == OP_JUMP_REGISTER || op.kind == OP_JUMP_MEMORY)
				return true;
	}
	return false;
}

/* Functions that lead from one to the other by calls. */
struct reached {
	struct {
		struct vaddr_range range;
		uint32_t calls; /* from the first one on */
	} at[REACHED_MAX];
	size_t nr;
	uint64_t bytes;
};

static void reach(struct reached *reached, const struct vaddr_range *range, uint32_t calls)
{
	for (size_t i = 0; i < reached->nr; i++) {
		if (reached->at[i].range.start == range->start)
			return;
	}
	reached->bytes += range->end - range->start;
	if (reached->nr < REACHED_MAX && reached->bytes <= REACHED_BYTES_MAX) {
		reached->at[reached->nr].range = *range;
		reached->at[reached->nr++].calls = calls;
	}
}

/*
 * A loop that is not exported, called by the function *@loop by at most @calls calls: the largest
 * function that jumps to where a register or memory says. Most do no such thing; jumps to other
 * files do, but call nothing. Leaves it in *@loop.
 */
static bool find_called(const struct elf_file *elf, const struct function_list *functions,
			struct synth_decoder *decoder, uint32_t calls, struct vaddr_range *loop)
{
	AUTO_FREE struct reached *reached = calloc(1, sizeof(*reached));
	uint64_t most = 0;

	if (!reached)
		return false;
	reach(reached, loop, 0);
	for (size_t i = 0; i < reached->nr; i++) {
		const struct vaddr_range range = reached->at[i].range;
		CLEANUP(code_close) struct code code;
		bool jumps = false, is_caller = false;
		struct vaddr_range callee;
		struct synth_op op;

		if (!code_open(elf, decoder, &range, &code))
			continue;
		while (code_next(&code, &op)) {
			jumps |= op.kind == OP_JUMP_REGISTER || op.kind == OP_JUMP_MEMORY;
			is_caller |= op.kind == OP_CALL;
			if (jumps && is_caller && code.size > most) {
				most = code.size;
				*loop = range;
			}
			if ((op.kind == OP_CALL || op.kind == OP_JUMP || op.kind == OP_BRANCH) &&
			    reached->at[i].calls < calls &&
			    function_list_find(functions, (uint64_t)op.imm, &callee) &&
			    callee.start == (uint64_t)op.imm) {
				reach(reached, &callee, reached->at[i].calls + 1);
			}
		}
	}
	return most;
}

static void cleanup_decoder(struct synth_decoder **decoder)
{
	synth_decoder_destroy(*decoder);
}

void script_facts_find(const struct elf_file *elf, const struct elf_file *debug,
		       const struct table *table, struct script_facts *ret)
{
	CLEANUP(function_list_fini) struct function_list functions = { .nr = 0 };
	struct script_facts facts = { 0 };
	CLEANUP(cleanup_decoder) struct synth_decoder *decoder = NULL;
	struct found found = { 0 };
	const struct kind *kind = find_exports(elf, &found);
	struct vaddr_range range;

	*ret = (struct script_facts){ 0 };
	if (kind && !kind->read) {
		(void)v8_find(elf, debug, ret);
		ret->language = (uint16_t)kind->language;
		return;
	}
	if (!kind || !kind->read(elf, &found, &facts))
		return;
	(void)!function_list_read(elf, debug, &functions, NULL);
	decoder = synth_decoder_create();
	if (!function_list_find(&functions, found.at[LOOP], &range) ||
	    (kind->calls && !find_called(elf, &functions, decoder, kind->calls, &range)))
		return;
	facts.language = (uint16_t)kind->language;
	find_body(table, &range, &facts);
	add_range(&facts, &range);
	for (size_t i = 0; i < facts.nr_ranges; i++)
		follow_jumps(elf, table, &functions, facts.ranges[i], decoder, &facts);
	find_writes(elf, decoder, &facts);
	if (kind->language == SCRIPT_PYTHON && facts.version >> 16 >= PYTHON_TAIL_CALLS &&
	    !jumps_by_value(elf, decoder, &facts))
		facts.flags |= SCRIPT_TAIL_CALLS;
	*ret = facts;
}
