/* SPDX-License-Identifier: Apache-2.0 */
#include "jit/hotspot.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "jit/hotspot_types.h"

enum field {
	HEAPS,
	LENGTH,
	DATA,
	MEMORY,
	SEGMAP,
	LOG2,
	LOW,
	HIGH,
	BLOB_NAME,
	BLOB_SIZE,
	FRAME_SIZE,
	COMPLETE,
	CALL_STUB,
	NR_NEEDED,
	LENGTH_BASE = NR_NEEDED, /* LENGTH in newer ones */
	/* one of these is needed, too */
	CODE_BEGIN,
	CODE_OFFSET,
	/* names need these */
	COMPILE_ID,
	METHOD,
	METHOD_NEW,
	BLOCK_LENGTH,
	BLOCK_USED,
	CONST_METHOD,
	CONSTANTS,
	METHOD_NAME,
	HOLDER,
	CLASS_NAME,
	TEXT_LENGTH,
	TEXT,
	RELEASE,
	/* methods that are interpreted need these */
	METHOD_NUMBER,
	METHODS,
	METHODS_LENGTH,
	METHODS_DATA,
	/* what is inlined needs these */
	PCS,
	PC_OFFSET,
	PC_SCOPE,
	CODE_SIZE,
	CONST_WORDS,
	CONST_FLAGS,
	CONST_FLAGS_NEW,
	/* and these, */
	DEPENDENCIES,
	METADATA,
	DATA_ADDR,
	/* or where its parts are apart, these */
	DATA_OFFSET,
	IMMUTABLE,
	IMMUTABLE_SIZE,
	MUTABLE,
	MUTABLE_SIZE,
	RELOCATION_SIZE,
	/* it does without these */
	SOURCE,
	FLAGS,
	NR_FLAGS,
	FLAG_NAME,
	FLAG_VALUE,
	FLAG_BITS,
	NR_FIELDS
};

enum type { BLOCK, POOL, PC_DESC, CONST_METHOD_SIZE, FLAG, NR_TYPES };

enum constant { HAS_LINES, HAS_LINES_NEW, ORIGIN_MASK, NR_CONSTANTS };

/* Fields and types that were found, before they are judged. */
struct finding {
	struct jit_memory *memory;
	struct hotspot_field fields[NR_FIELDS];
	struct hotspot_number types[NR_TYPES];
	struct hotspot_number constants[NR_CONSTANTS];
};

static const struct hotspot_field wanted[NR_FIELDS] = {
	[HEAPS] = { .type = "CodeCache", .name = "_heaps" },
	[LENGTH] = { .type = "GenericGrowableArray", .name = "_len" },
	[DATA] = { .type = "GrowableArray<int>", .name = "_data" },
	[MEMORY] = { .type = "CodeHeap", .name = "_memory" },
	[SEGMAP] = { .type = "CodeHeap", .name = "_segmap" },
	[LOG2] = { .type = "CodeHeap", .name = "_log2_segment_size" },
	[LOW] = { .type = "VirtualSpace", .name = "_low_boundary" },
	[HIGH] = { .type = "VirtualSpace", .name = "_high_boundary" },
	[BLOB_NAME] = { .type = "CodeBlob", .name = "_name" },
	[BLOB_SIZE] = { .type = "CodeBlob", .name = "_size" },
	[FRAME_SIZE] = { .type = "CodeBlob", .name = "_frame_size" },
	[COMPLETE] = { .type = "CodeBlob", .name = "_frame_complete_offset" },
	[CALL_STUB] = { .type = "StubRoutines", .name = "_call_stub_return_address" },
	[LENGTH_BASE] = { .type = "GrowableArrayBase", .name = "_len" },
	[CODE_BEGIN] = { .type = "CodeBlob", .name = "_code_begin" },
	[CODE_OFFSET] = { .type = "CodeBlob", .name = "_code_offset" },
	[COMPILE_ID] = { .type = "nmethod", .name = "_compile_id" },
	[METHOD] = { .type = "CompiledMethod", .name = "_method" },
	[METHOD_NEW] = { .type = "nmethod", .name = "_method" },
	[BLOCK_LENGTH] = { .type = "HeapBlock::Header", .name = "_length" },
	[BLOCK_USED] = { .type = "HeapBlock::Header", .name = "_used" },
	[CONST_METHOD] = { .type = "Method", .name = "_constMethod" },
	[CONSTANTS] = { .type = "ConstMethod", .name = "_constants" },
	[METHOD_NAME] = { .type = "ConstMethod", .name = "_name_index" },
	[HOLDER] = { .type = "ConstantPool", .name = "_pool_holder" },
	[CLASS_NAME] = { .type = "Klass", .name = "_name" },
	[TEXT_LENGTH] = { .type = "Symbol", .name = "_length" },
	[TEXT] = { .type = "Symbol", .name = "_body" },
	[RELEASE] = { .type = "Abstract_VM_Version", .name = "_s_vm_release" },
	[METHOD_NUMBER] = { .type = "ConstMethod", .name = "_method_idnum" },
	[METHODS] = { .type = "InstanceKlass", .name = "_methods" },
	[METHODS_LENGTH] = { .type = "Array<int>", .name = "_length" },
	[METHODS_DATA] = { .type = "Array<Method*>", .name = "_data" },
	[PCS] = { .type = "nmethod", .name = "_scopes_pcs_offset" },
	[PC_OFFSET] = { .type = "PcDesc", .name = "_pc_offset" },
	[PC_SCOPE] = { .type = "PcDesc", .name = "_scope_decode_offset" },
	[CODE_SIZE] = { .type = "ConstMethod", .name = "_code_size" },
	[CONST_WORDS] = { .type = "ConstMethod", .name = "_constMethod_size" },
	[CONST_FLAGS] = { .type = "ConstMethod", .name = "_flags" },
	[CONST_FLAGS_NEW] = { .type = "ConstMethod", .name = "_flags._flags" },
	[DEPENDENCIES] = { .type = "nmethod", .name = "_dependencies_offset" },
	[METADATA] = { .type = "nmethod", .name = "_metadata_offset" },
	[DATA_ADDR] = { .type = "CompiledMethod", .name = "_scopes_data_begin" },
	[DATA_OFFSET] = { .type = "nmethod", .name = "_scopes_data_offset" },
	[IMMUTABLE] = { .type = "nmethod", .name = "_immutable_data" },
	[IMMUTABLE_SIZE] = { .type = "nmethod", .name = "_immutable_data_size" },
	[MUTABLE] = { .type = "CodeBlob", .name = "_mutable_data" },
	[MUTABLE_SIZE] = { .type = "CodeBlob", .name = "_mutable_data_size" },
	[RELOCATION_SIZE] = { .type = "CodeBlob", .name = "_relocation_size" },
	[SOURCE] = { .type = "ConstantPool", .name = "_source_file_name_index" },
	[FLAGS] = { .type = "JVMFlag", .name = "flags" },
	[NR_FLAGS] = { .type = "JVMFlag", .name = "numFlags" },
	[FLAG_NAME] = { .type = "JVMFlag", .name = "_name" },
	[FLAG_VALUE] = { .type = "JVMFlag", .name = "_addr" },
	[FLAG_BITS] = { .type = "JVMFlag", .name = "_flags" },
};

static const struct hotspot_number wanted_types[NR_TYPES] = {
	[BLOCK] = { .name = "HeapBlock" }, [POOL] = { .name = "ConstantPool" },
	[PC_DESC] = { .name = "PcDesc" },  [CONST_METHOD_SIZE] = { .name = "ConstMethod" },
	[FLAG] = { .name = "JVMFlag" },
};

static const struct hotspot_number wanted_constants[NR_CONSTANTS] = {
	[HAS_LINES] = { .name = "ConstMethod::_has_linenumber_table" },
	[HAS_LINES_NEW] = { .name = "ConstMethodFlags::_misc_has_linenumber_table" },
	[ORIGIN_MASK] = { .name = "JVMFlag::VALUE_ORIGIN_MASK" },
};

/* Both were called otherwise at one time. */
static void choose(struct hotspot_field *field, const struct hotspot_field *other)
{
	if (!field->is_found)
		*field = *other;
}

/* "type::field", where it is not as methods and names know it. */
static int refuse(const struct hotspot_field *field, const char *what, struct fpl_err *err)
{
	return fpl_fail(err, -ENOTSUP, "HotSpot: %s::%s %s", field->type, field->name, what);
}

/* The bytes of a number of type @content; 0: the type is not known. */
static uint8_t width_of(const char *content)
{
	static const struct {
		const char *content;
		uint8_t bytes;
	} widths[] = {
		{ "int", 4 },	   { "int16_t", 2 },	    { "short", 2 },   { "jint", 4 },
		{ "address", 8 },  { "unsigned short", 2 }, { "u2", 2 },      { "size_t", 8 },
		{ "bool", 1 },	   { "const char*", 8 },    { "int32_t", 4 }, { "u4", 4 },
		{ "uint32_t", 4 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(widths); i++)
		if (!strcmp(widths[i].content, content))
			return widths[i].bytes;
	return 0;
}

/* Are these fields there, of the widths that methods read? */
static int judge_fields(const struct finding *finding, struct fpl_err *err)
{
	const struct hotspot_field *fields = finding->fields;
	static const struct {
		enum field field;
		uint8_t bytes;
	} of_width[] = { { BLOB_NAME, 8 }, { BLOB_SIZE, 4 }, { FRAME_SIZE, 4 }, { LOG2, 4 } };

	for (size_t i = 0; i < NR_NEEDED; i++)
		if (!fields[i].is_found)
			return refuse(&wanted[i], "is missing", err);
	if (!fields[CODE_BEGIN].is_found)
		return refuse(&wanted[CODE_BEGIN], "is missing", err);
	for (size_t i = 0; i < ARRAY_SIZE(of_width); i++) {
		const struct hotspot_field *field = &fields[of_width[i].field];

		if (width_of(field->content) != of_width[i].bytes)
			return refuse(field, "is of another type", err);
	}
	if (!width_of(fields[COMPLETE].content))
		return refuse(&fields[COMPLETE], "is of another type", err);
	if (!fields[HEAPS].is_static || !fields[CALL_STUB].is_static)
		return refuse(&fields[HEAPS], "is not static", err);
	if (!finding->types[BLOCK].is_found || finding->types[BLOCK].value >= FPL_BLOB_BYTES)
		return fpl_fail(err, -ENOTSUP, "HotSpot: HeapBlock is missing or too large");
	return 0;
}

/* All that names need, where all of it is there. */
static bool take_layout(const struct finding *finding, struct hotspot_names_layout *ret)
{
	const struct hotspot_field *fields = finding->fields;

	for (size_t i = COMPILE_ID; i <= TEXT; i++)
		if (!fields[i].is_found && i != METHOD_NEW)
			return false;
	if (!finding->types[POOL].is_found)
		return false;
	*ret = (struct hotspot_names_layout){
		.compile_id = (uint32_t)fields[COMPILE_ID].off,
		.method = (uint32_t)fields[METHOD].off,
		.blob_size = (uint32_t)fields[BLOB_SIZE].off,
		.block_length = (uint32_t)fields[BLOCK_LENGTH].off,
		.block_length_bytes = width_of(fields[BLOCK_LENGTH].content),
		.block_used = (uint32_t)fields[BLOCK_USED].off,
		.const_method = (uint32_t)fields[CONST_METHOD].off,
		.constants = (uint32_t)fields[CONSTANTS].off,
		.name = (uint32_t)fields[METHOD_NAME].off,
		.pool_size = (uint32_t)finding->types[POOL].value,
		.holder = (uint32_t)fields[HOLDER].off,
		.class_name = (uint32_t)fields[CLASS_NAME].off,
		.text_length = (uint32_t)fields[TEXT_LENGTH].off,
		.text = (uint32_t)fields[TEXT].off,
	};
	return true;
}

/* Is each of these fields a number of @bytes? */
static bool are_numbers(const struct finding *finding, const enum field *list, size_t nr,
			uint8_t bytes)
{
	for (size_t i = 0; i < nr; i++) {
		const struct hotspot_field *field = &finding->fields[list[i]];

		if (!field->is_found || field->is_static || width_of(field->content) != bytes)
			return false;
	}
	return true;
}

static uint8_t narrow(uint64_t off)
{
	return off < UINT8_MAX ? (uint8_t)off : UINT8_MAX;
}

/* Take what tells a Method, where it is known, so that frames of the interpreter have theirs. */
static bool take_methods(const struct finding *finding, struct hotspot *ret)
{
	static const enum field shorts[] = { METHOD_NUMBER, CODE_SIZE },
				ints[] = { METHODS_LENGTH };
	const struct hotspot_field *fields = finding->fields;
	const struct hotspot_number *size = &finding->types[CONST_METHOD_SIZE];

	if (!are_numbers(finding, shorts, ARRAY_SIZE(shorts), 2) ||
	    !are_numbers(finding, ints, ARRAY_SIZE(ints), 4) || !fields[METHODS].is_found ||
	    !fields[METHODS_DATA].is_found || !size->is_found || size->value > UINT8_MAX ||
	    fields[CONST_METHOD].off > UINT8_MAX || fields[CODE_SIZE].off > UINT8_MAX ||
	    ret->layout.name > UINT8_MAX)
		return false;
	ret->layout.idnum = (uint32_t)fields[METHOD_NUMBER].off;
	ret->layout.methods = (uint32_t)fields[METHODS].off;
	ret->layout.methods_length = (uint32_t)fields[METHODS_LENGTH].off;
	ret->layout.methods_data = (uint32_t)fields[METHODS_DATA].off;
	for (uint32_t i = 0; i < ret->nr_heaps; i++) {
		ret->heaps[i].has_methods = true;
		ret->heaps[i].const_method_off = narrow(fields[CONST_METHOD].off);
		ret->heaps[i].const_bytes = narrow(size->value);
		ret->heaps[i].code_size_off = narrow(fields[CODE_SIZE].off);
		ret->heaps[i].method_name_off = narrow(ret->layout.name);
	}
	return true;
}

/* Take where an nmethod has its parts. Returns whether it is known. */
static bool take_parts(const struct finding *finding, struct hotspot_scopes_layout *ret)
{
	static const enum field in_blob[] = { DEPENDENCIES, METADATA };
	static const enum field apart[] = { DATA_OFFSET, IMMUTABLE_SIZE, MUTABLE_SIZE,
					    RELOCATION_SIZE };
	static const enum field address[] = { DATA_ADDR }, addresses[] = { IMMUTABLE, MUTABLE };
	const struct hotspot_field *fields = finding->fields;

	ret->is_apart = are_numbers(finding, addresses, ARRAY_SIZE(addresses), 8);
	ret->dependencies = (uint32_t)fields[DEPENDENCIES].off;
	ret->metadata = (uint32_t)fields[METADATA].off;
	ret->data_addr = (uint32_t)fields[DATA_ADDR].off;
	ret->data = (uint32_t)fields[DATA_OFFSET].off;
	ret->immutable = (uint32_t)fields[IMMUTABLE].off;
	ret->immutable_size = (uint32_t)fields[IMMUTABLE_SIZE].off;
	ret->mutable = (uint32_t)fields[MUTABLE].off;
	ret->mutable_size = (uint32_t)fields[MUTABLE_SIZE].off;
	ret->relocation_size = (uint32_t)fields[RELOCATION_SIZE].off;
	return ret->is_apart ? are_numbers(finding, apart, ARRAY_SIZE(apart), 4)
			     : are_numbers(finding, in_blob, ARRAY_SIZE(in_blob), 4) &&
				       are_numbers(finding, address, ARRAY_SIZE(address), 8);
}

/* Take where a JVM has its options, if it is known. */
static void take_flags(const struct finding *finding, struct hotspot_scopes_layout *ret)
{
	const struct hotspot_field *fields = finding->fields;

	if (!fields[FLAGS].is_found || !fields[FLAGS].is_static || !fields[NR_FLAGS].is_found ||
	    !fields[NR_FLAGS].is_static || !fields[FLAG_NAME].is_found ||
	    !fields[FLAG_VALUE].is_found || !fields[FLAG_BITS].is_found ||
	    !finding->types[FLAG].is_found)
		return;
	ret->flags = fields[FLAGS].off;
	ret->nr_flags = fields[NR_FLAGS].off;
	ret->flag_bytes = (uint32_t)finding->types[FLAG].value;
	ret->flag_name = (uint32_t)fields[FLAG_NAME].off;
	ret->flag_value = (uint32_t)fields[FLAG_VALUE].off;
	ret->flag_bits = (uint32_t)fields[FLAG_BITS].off;
	ret->origin_mask = (uint32_t)finding->constants[ORIGIN_MASK].value;
}

/* All that reading scopes and lines needs, where all of it is there. */
static bool take_scopes(const struct finding *finding, struct hotspot_scopes_layout *ret)
{
	static const enum field ints[] = { PCS, PC_OFFSET, PC_SCOPE, CONST_WORDS };
	static const enum field shorts[] = { CODE_SIZE }, source[] = { SOURCE };
	const struct hotspot_field *fields = finding->fields;
	const struct hotspot_number *types = finding->types;

	*ret = (struct hotspot_scopes_layout){
		.pcs = (uint32_t)fields[PCS].off,
		.pc_bytes = (uint32_t)types[PC_DESC].value,
		.pc_offset = (uint32_t)fields[PC_OFFSET].off,
		.pc_scope = (uint32_t)fields[PC_SCOPE].off,
		.const_method = (uint32_t)fields[CONST_METHOD].off,
		.const_bytes = (uint32_t)types[CONST_METHOD_SIZE].value,
		.const_words = (uint32_t)fields[CONST_WORDS].off,
		.const_flags = (uint32_t)fields[CONST_FLAGS].off,
		.const_flags_bytes = width_of(fields[CONST_FLAGS].content),
		.has_lines = (uint32_t)finding->constants[HAS_LINES].value,
		.code_size = (uint32_t)fields[CODE_SIZE].off,
		.has_source = are_numbers(finding, source, ARRAY_SIZE(source), 2),
		.source = (uint32_t)fields[SOURCE].off,
	};
	take_flags(finding, ret);
	return are_numbers(finding, ints, ARRAY_SIZE(ints), 4) &&
	       are_numbers(finding, shorts, ARRAY_SIZE(shorts), 2) && ret->pc_bytes &&
	       types[CONST_METHOD_SIZE].is_found && take_parts(finding, ret);
}

/* The region of the CodeHeap at @heap. */
static int read_heap(const struct finding *finding, uint64_t heap, uint64_t call_stub_ra,
		     struct fpl_region *ret, struct fpl_err *err)
{
	struct jit_memory *memory = finding->memory;
	const struct hotspot_field *fields = finding->fields;
	uint64_t segments = heap + fields[SEGMAP].off, space = heap + fields[MEMORY].off;
	uint64_t log2, start, end, segmap, segmap_end;

	*ret = (struct fpl_region){
		.kind = FPL_REGION_NMETHOD,
		.call_stub_ra = call_stub_ra,
		.block_bytes = narrow(finding->types[BLOCK].value),
		.name_off = narrow(fields[BLOB_NAME].off),
		.frame_size_off = narrow(fields[FRAME_SIZE].off),
		.complete_off = narrow(fields[COMPLETE].off),
		.complete_bytes = width_of(fields[COMPLETE].content),
		.code_off = narrow(fields[CODE_BEGIN].off),
		.code_bytes = width_of(fields[CODE_BEGIN].content),
	};
	if (!jit_read_uint(memory, heap + fields[LOG2].off, 4, &log2) ||
	    !jit_read_uint(memory, space + fields[LOW].off, 8, &start) ||
	    !jit_read_uint(memory, space + fields[HIGH].off, 8, &end) ||
	    !jit_read_uint(memory, segments + fields[LOW].off, 8, &segmap) ||
	    !jit_read_uint(memory, segments + fields[HIGH].off, 8, &segmap_end))
		return fpl_fail(err, -EFAULT, "HotSpot: a code heap cannot be read");
	/* neither is set before the heap is reserved */
	if (!start || !segmap)
		return -EAGAIN;
	ret->start = start;
	ret->end = end;
	ret->segment_log2 = narrow(log2);
	ret->segmap = segmap;
	ret->segmap_bytes = segmap_end - segmap;
	if (!fpl_region_holds(ret))
		return fpl_fail(err, -ENOTSUP, "HotSpot: a code heap of no known layout");
	return 0;
}

static int read_heaps(const struct finding *finding, struct hotspot *ret, struct fpl_err *err)
{
	struct jit_memory *memory = finding->memory;
	const struct hotspot_field *fields = finding->fields;
	uint64_t array, nr, data, heap, call_stub_ra;

	if (!jit_read_uint(memory, fields[CALL_STUB].off, 8, &call_stub_ra) ||
	    !jit_read_uint(memory, fields[HEAPS].off, 8, &array))
		return fpl_fail(err, -EFAULT, "HotSpot: its variables cannot be read");
	if (!array || !call_stub_ra)
		return -EAGAIN;
	if (!jit_read_uint(memory, array + fields[LENGTH].off, 4, &nr) ||
	    !jit_read_uint(memory, array + fields[DATA].off, 8, &data))
		return fpl_fail(err, -EFAULT, "HotSpot: its code heaps cannot be read");
	if (nr > HOTSPOT_HEAPS_MAX)
		return fpl_fail(err, -ENOTSUP, "HotSpot: more than %u code heaps",
				HOTSPOT_HEAPS_MAX);
	for (size_t i = 0; i < nr; i++) {
		int code;

		if (!jit_read_uint(memory, data + 8 * i, 8, &heap))
			return fpl_fail(err, -EFAULT, "HotSpot: its code heaps cannot be read");
		code = read_heap(finding, heap, call_stub_ra, &ret->heaps[i], err);
		if (code)
			return code;
	}
	ret->nr_heaps = (uint32_t)nr;
	return nr ? 0 : -EAGAIN;
}

static void read_version(const struct finding *finding, struct hotspot *ret)
{
	const struct hotspot_field *field = &finding->fields[RELEASE];
	char text[JIT_TEXT_MAX];
	uint64_t addr;

	if (!field->is_found || !field->is_static ||
	    !jit_read_uint(finding->memory, field->off, 8, &addr) ||
	    !jit_read_text(finding->memory, addr, text))
		return;
	memcpy(ret->version, text, sizeof(ret->version) - 1);
	ret->version[sizeof(ret->version) - 1] = '\0';
}

int hotspot_describe(struct jit_memory *memory, uint64_t base, struct hotspot *ret,
		     struct fpl_err *err)
{
	struct finding finding = { .memory = memory };
	struct hotspot_field *fields = finding.fields;
	const struct hotspot_wanted all = {
		.fields = fields,
		.types = finding.types,
		.constants = finding.constants,
		.nr_fields = NR_FIELDS,
		.nr_types = NR_TYPES,
		.nr_constants = NR_CONSTANTS,
	};
	int code;

	*ret = (struct hotspot){ 0 };
	memcpy(finding.fields, wanted, sizeof(wanted));
	memcpy(finding.types, wanted_types, sizeof(wanted_types));
	memcpy(finding.constants, wanted_constants, sizeof(wanted_constants));
	code = hotspot_types_read(memory, base, &all);
	if (code == -ENOENT)
		return fpl_fail(err, code, "no HotSpot that describes itself");
	if (code)
		return fpl_fail(err, code, "HotSpot: its types cannot be read");
	choose(&fields[LENGTH], &fields[LENGTH_BASE]);
	choose(&fields[CODE_BEGIN], &fields[CODE_OFFSET]);
	choose(&fields[METHOD], &fields[METHOD_NEW]);
	choose(&fields[CONST_FLAGS], &fields[CONST_FLAGS_NEW]);
	if (!finding.constants[HAS_LINES].is_found)
		finding.constants[HAS_LINES] = finding.constants[HAS_LINES_NEW];
	read_version(&finding, ret);
	code = judge_fields(&finding, err);
	if (!code)
		code = read_heaps(&finding, ret, err);
	if (code == -EAGAIN)
		return fpl_fail(err, code, "HotSpot: it has not begun yet");
	ret->has_names = !code && take_layout(&finding, &ret->layout);
	for (uint32_t i = 0; ret->has_names && i < ret->nr_heaps; i++)
		if (ret->layout.compile_id < FPL_COMPILE_ID_OFF_MAX)
			ret->heaps[i].compile_id_off = (__u16)ret->layout.compile_id;
	ret->has_methods = ret->has_names && take_methods(&finding, ret);
	ret->has_scopes = ret->has_names && take_scopes(&finding, &ret->scopes);
	return code;
}

bool hotspot_check(const struct hotspot *hotspot)
{
	if (hotspot->nr_heaps > HOTSPOT_HEAPS_MAX || hotspot->nr_stubs > HOTSPOT_STUBS_MAX ||
	    !memchr(hotspot->version, '\0', sizeof(hotspot->version)))
		return false;
	for (size_t i = 0; i < hotspot->nr_heaps; i++)
		if (!fpl_region_holds(&hotspot->heaps[i]))
			return false;
	for (size_t i = 0; i < hotspot->nr_stubs; i++)
		if (hotspot->stubs[i].kind != FPL_REGION_ROW ||
		    !fpl_region_holds(&hotspot->stubs[i]))
			return false;
	return true;
}
