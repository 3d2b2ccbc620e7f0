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
	NR_FIELDS
};

enum type { BLOCK, POOL, NR_TYPES };

/* Fields and types that were found, before they are judged. */
struct finding {
	struct jit_memory *memory;
	struct hotspot_field fields[NR_FIELDS];
	struct hotspot_type types[NR_TYPES];
};

static const struct hotspot_field wanted[NR_FIELDS] = {
	[HEAPS] = { "CodeCache", "_heaps" },
	[LENGTH] = { "GenericGrowableArray", "_len" },
	[DATA] = { "GrowableArray<int>", "_data" },
	[MEMORY] = { "CodeHeap", "_memory" },
	[SEGMAP] = { "CodeHeap", "_segmap" },
	[LOG2] = { "CodeHeap", "_log2_segment_size" },
	[LOW] = { "VirtualSpace", "_low_boundary" },
	[HIGH] = { "VirtualSpace", "_high_boundary" },
	[BLOB_NAME] = { "CodeBlob", "_name" },
	[BLOB_SIZE] = { "CodeBlob", "_size" },
	[FRAME_SIZE] = { "CodeBlob", "_frame_size" },
	[COMPLETE] = { "CodeBlob", "_frame_complete_offset" },
	[CALL_STUB] = { "StubRoutines", "_call_stub_return_address" },
	[LENGTH_BASE] = { "GrowableArrayBase", "_len" },
	[CODE_BEGIN] = { "CodeBlob", "_code_begin" },
	[CODE_OFFSET] = { "CodeBlob", "_code_offset" },
	[COMPILE_ID] = { "nmethod", "_compile_id" },
	[METHOD] = { "CompiledMethod", "_method" },
	[METHOD_NEW] = { "nmethod", "_method" },
	[BLOCK_LENGTH] = { "HeapBlock::Header", "_length" },
	[BLOCK_USED] = { "HeapBlock::Header", "_used" },
	[CONST_METHOD] = { "Method", "_constMethod" },
	[CONSTANTS] = { "ConstMethod", "_constants" },
	[METHOD_NAME] = { "ConstMethod", "_name_index" },
	[HOLDER] = { "ConstantPool", "_pool_holder" },
	[CLASS_NAME] = { "Klass", "_name" },
	[TEXT_LENGTH] = { "Symbol", "_length" },
	[TEXT] = { "Symbol", "_body" },
	[RELEASE] = { "Abstract_VM_Version", "_s_vm_release" },
};

static const struct hotspot_type wanted_types[NR_TYPES] = {
	[BLOCK] = { .name = "HeapBlock" },
	[POOL] = { .name = "ConstantPool" },
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
		{ "int", 4 },	  { "int16_t", 2 },	   { "short", 2 },   { "jint", 4 },
		{ "address", 8 }, { "unsigned short", 2 }, { "u2", 2 },	     { "size_t", 8 },
		{ "bool", 1 },	  { "const char*", 8 },	   { "int32_t", 4 }, { "uint32_t", 4 },
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
	if (!finding->types[BLOCK].is_found || finding->types[BLOCK].size >= FPL_BLOB_BYTES)
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
		.pool_size = (uint32_t)finding->types[POOL].size,
		.holder = (uint32_t)fields[HOLDER].off,
		.class_name = (uint32_t)fields[CLASS_NAME].off,
		.text_length = (uint32_t)fields[TEXT_LENGTH].off,
		.text = (uint32_t)fields[TEXT].off,
	};
	return true;
}

static uint8_t narrow(uint64_t off)
{
	return off < UINT8_MAX ? (uint8_t)off : UINT8_MAX;
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
		.block_bytes = narrow(finding->types[BLOCK].size),
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
	int code;

	*ret = (struct hotspot){ 0 };
	memcpy(finding.fields, wanted, sizeof(wanted));
	memcpy(finding.types, wanted_types, sizeof(wanted_types));
	code = hotspot_types_read(memory, base, fields, NR_FIELDS, finding.types, NR_TYPES);
	if (code == -ENOENT)
		return fpl_fail(err, code, "no HotSpot that describes itself");
	if (code)
		return fpl_fail(err, code, "HotSpot: its types cannot be read");
	choose(&fields[LENGTH], &fields[LENGTH_BASE]);
	choose(&fields[CODE_BEGIN], &fields[CODE_OFFSET]);
	choose(&fields[METHOD], &fields[METHOD_NEW]);
	read_version(&finding, ret);
	code = judge_fields(&finding, err);
	if (!code)
		code = read_heaps(&finding, ret, err);
	if (code == -EAGAIN)
		return fpl_fail(err, code, "HotSpot: it has not begun yet");
	ret->has_names = !code && take_layout(&finding, &ret->layout);
	return code;
}

bool hotspot_check(const struct hotspot *hotspot)
{
	if (hotspot->nr_heaps > HOTSPOT_HEAPS_MAX ||
	    !memchr(hotspot->version, '\0', sizeof(hotspot->version)))
		return false;
	for (size_t i = 0; i < hotspot->nr_heaps; i++)
		if (!fpl_region_holds(&hotspot->heaps[i]))
			return false;
	return true;
}
