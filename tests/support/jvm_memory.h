/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of a small JVM: a libjvm with its tables of types, one code heap, three blobs. One of
 * them is String.length, in which charAt is inlined. Every part can be overwritten by its address.
 */
#pragma once

#include <elf.h>
#include <stdint.h>
#include <string.h>

#include "jit/hotspot.h"

#define JVM_BASE      0x10000u /* libjvm: its headers, symbols and tables */
#define JVM_SIZE      0x10000u
#define JVM_HEAP      0x20000u /* the code heap */
#define JVM_HEAP_END  0x24000u
#define JVM_SEGMAP    0x24000u
#define JVM_DATA      0x25000u /* CodeHeap, arrays, a Method and what it leads to */
#define JVM_END	      0x28000u
#define JVM_DYNAMIC   (JVM_BASE + 0x200)
#define JVM_SYMTAB    (JVM_BASE + 0x400)
#define JVM_STRTAB    (JVM_BASE + 0x1000)
#define JVM_HASH      (JVM_BASE + 0x2000)
#define JVM_NUMBERS   (JVM_BASE + 0x3000) /* variables that the symbols are of, 8 bytes each */
#define JVM_STRUCTS   (JVM_BASE + 0x4000)
#define JVM_TYPES     (JVM_BASE + 0x6000)
#define JVM_CONSTANTS (JVM_BASE + 0x7000)
#define JVM_TEXTS     (JVM_BASE + 0x8000)
#define JVM_STRIDE    48u
#define JVM_STATICS   (JVM_DATA + 0x800) /* _heaps, _call_stub_return_address, _s_vm_release */
#define JVM_STUB_RA   (JVM_HEAP + 0x3000)
#define JVM_NMETHOD   (JVM_HEAP + 0x810) /* the blob of String.length */

#define JVM_CODE       (JVM_NMETHOD + 0x80)
#define JVM_METADATA   (JVM_DATA + 0x1000) /* charAt, length */
#define JVM_SCOPES     (JVM_METADATA + 16) /* 48 bytes of numbers, and the PcDesc, 16 bytes each */
#define JVM_PCS	       (JVM_SCOPES + 48)
#define JVM_SCOPES_NEW (JVM_PCS + 64)	  /* the same numbers, as they are in JDK 25 */
#define JVM_INNER      (JVM_DATA + 0x520) /* the ConstMethod of charAt */
#define JVM_FLAGS      (JVM_DATA + 0x880) /* two flags, their names and values */
#define JVM_METHODS    (JVM_DATA + 0x900) /* the array of charAt and length */

struct jvm_memory {
	uint8_t bytes[JVM_END - JVM_BASE];
	uint32_t nr_symbols, nr_structs, nr_types, nr_constants;
	uint32_t strtab_size, texts_size;
};

static inline void jvm_put(struct jvm_memory *jvm, uint64_t addr, uint64_t value, size_t size)
{
	memcpy(jvm->bytes + (addr - JVM_BASE), &value, size);
}

static inline int jvm_read(void *ctx, uint64_t addr, void *dst, size_t size)
{
	struct jvm_memory *jvm = ctx;

	if (addr < JVM_BASE || addr > JVM_END || size > JVM_END - addr)
		return -1;
	memcpy(dst, jvm->bytes + (addr - JVM_BASE), size);
	return 0;
}

static inline uint64_t jvm_text(struct jvm_memory *jvm, const char *text)
{
	uint64_t at = JVM_TEXTS + jvm->texts_size;

	memcpy(jvm->bytes + (at - JVM_BASE), text, strlen(text) + 1);
	jvm->texts_size += (uint32_t)strlen(text) + 1;
	return at;
}

static inline uint32_t jvm_hash(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (uint8_t)*name;
	return hash;
}

/* The variable @name, a number. All symbols are in one bucket. */
static inline void jvm_symbol(struct jvm_memory *jvm, const char *name, uint64_t value)
{
	uint32_t idx = ++jvm->nr_symbols;
	uint64_t variable = JVM_NUMBERS + 8 * idx;
	Elf64_Sym sym = { .st_name = ++jvm->strtab_size, .st_shndx = 1 };

	sym.st_value = variable - JVM_BASE;
	memcpy(jvm->bytes + (JVM_SYMTAB - JVM_BASE) + idx * sizeof(sym), &sym, sizeof(sym));
	memcpy(jvm->bytes + (JVM_STRTAB - JVM_BASE) + jvm->strtab_size, name, strlen(name) + 1);
	jvm->strtab_size += (uint32_t)strlen(name);
	jvm_put(jvm, variable, value, 8);
	jvm_put(jvm, JVM_HASH + 16 + 8 + 4 + 4 * (idx - 1), jvm_hash(name) & ~1u, 4);
}

static inline void jvm_field(struct jvm_memory *jvm, const char *type, const char *name,
			     const char *content, int is_static, uint64_t off)
{
	uint64_t at = JVM_STRUCTS + JVM_STRIDE * jvm->nr_structs++;

	jvm_put(jvm, at, jvm_text(jvm, type), 8);
	jvm_put(jvm, at + 8, jvm_text(jvm, name), 8);
	jvm_put(jvm, at + 16, jvm_text(jvm, content), 8);
	jvm_put(jvm, at + 24, (uint64_t)is_static, 4);
	jvm_put(jvm, at + (is_static ? 40 : 32), off, 8);
}

static inline void jvm_type(struct jvm_memory *jvm, const char *name, uint64_t size)
{
	uint64_t at = JVM_TYPES + JVM_STRIDE * jvm->nr_types++;

	jvm_put(jvm, at, jvm_text(jvm, name), 8);
	jvm_put(jvm, at + 24, size, 8);
}

static inline void jvm_make_symbols(struct jvm_memory *jvm)
{
	Elf64_Ehdr head = { .e_phoff = 64, .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 1 };
	Elf64_Phdr phdr = { .p_type = PT_DYNAMIC, .p_vaddr = JVM_DYNAMIC - JVM_BASE };
	/* one as the loader of glibc leaves it, two as they are in the file */
	const Elf64_Dyn dynamic[] = { { DT_SYMTAB, { JVM_SYMTAB } },
				      { DT_STRTAB, { JVM_STRTAB - JVM_BASE } },
				      { DT_GNU_HASH, { JVM_HASH - JVM_BASE } },
				      { DT_NULL, { 0 } } };

	memcpy(head.e_ident, ELFMAG, SELFMAG);
	memcpy(jvm->bytes, &head, sizeof(head));
	memcpy(jvm->bytes + 64, &phdr, sizeof(phdr));
	memcpy(jvm->bytes + (JVM_DYNAMIC - JVM_BASE), dynamic, sizeof(dynamic));
	jvm_put(jvm, JVM_HASH, 1, 4);	   /* buckets */
	jvm_put(jvm, JVM_HASH + 4, 1, 4);  /* the first symbol in them */
	jvm_put(jvm, JVM_HASH + 8, 1, 4);  /* words of the filter */
	jvm_put(jvm, JVM_HASH + 24, 1, 4); /* where the bucket begins */
	jvm_symbol(jvm, "gHotSpotVMStructs", JVM_STRUCTS);
	jvm_symbol(jvm, "gHotSpotVMStructEntryArrayStride", JVM_STRIDE);
	jvm_symbol(jvm, "gHotSpotVMStructEntryTypeNameOffset", 0);
	jvm_symbol(jvm, "gHotSpotVMStructEntryFieldNameOffset", 8);
	jvm_symbol(jvm, "gHotSpotVMStructEntryTypeStringOffset", 16);
	jvm_symbol(jvm, "gHotSpotVMStructEntryIsStaticOffset", 24);
	jvm_symbol(jvm, "gHotSpotVMStructEntryOffsetOffset", 32);
	jvm_symbol(jvm, "gHotSpotVMStructEntryAddressOffset", 40);
	jvm_symbol(jvm, "gHotSpotVMTypes", JVM_TYPES);
	jvm_symbol(jvm, "gHotSpotVMTypeEntryArrayStride", JVM_STRIDE);
	jvm_symbol(jvm, "gHotSpotVMTypeEntryTypeNameOffset", 0);
	jvm_symbol(jvm, "gHotSpotVMTypeEntrySizeOffset", 24);
	jvm_symbol(jvm, "gHotSpotVMIntConstants", JVM_CONSTANTS);
	jvm_symbol(jvm, "gHotSpotVMIntConstantEntryArrayStride", JVM_STRIDE);
	jvm_symbol(jvm, "gHotSpotVMIntConstantEntryNameOffset", 0);
	jvm_symbol(jvm, "gHotSpotVMIntConstantEntryValueOffset", 8);
}

/* The hash of older linkers in place of the other: all symbols are in one bucket. */
static inline void jvm_hash_as_11(struct jvm_memory *jvm)
{
	jvm_put(jvm, JVM_DYNAMIC + 2 * sizeof(Elf64_Dyn), DT_HASH, 8);
	jvm_put(jvm, JVM_HASH, 1, 4); /* buckets */
	jvm_put(jvm, JVM_HASH + 4, jvm->nr_symbols + 1, 4);
	jvm_put(jvm, JVM_HASH + 8, 1, 4); /* where the bucket begins */
	for (uint32_t i = 0; i <= jvm->nr_symbols;
	     i++) /* each leads to the next, the last to none */
		jvm_put(jvm, JVM_HASH + 12 + 4 * i, i < jvm->nr_symbols ? i + 1 : 0, 4);
}

static inline void jvm_constant(struct jvm_memory *jvm, const char *name, uint32_t value)
{
	uint64_t at = JVM_CONSTANTS + JVM_STRIDE * jvm->nr_constants++;

	jvm_put(jvm, at, jvm_text(jvm, name), 8);
	jvm_put(jvm, at + 8, value, 4);
}

/* Types that what is inlined is read by. */
static inline void jvm_make_scope_types(struct jvm_memory *jvm, int new)
{
	jvm_field(jvm, "nmethod", "_scopes_pcs_offset", "int", 0, 48);
	jvm_field(jvm, "PcDesc", "_pc_offset", "int", 0, 0);
	jvm_field(jvm, "PcDesc", "_scope_decode_offset", "int", 0, 4);
	jvm_field(jvm, "ConstMethod", "_code_size", "u2", 0, 32);
	jvm_field(jvm, "ConstMethod", "_constMethod_size", "int", 0, 24);
	jvm_field(jvm, "ConstMethod", new ? "_flags._flags" : "_flags", new ? "u4" : "u2", 0, 28);
	jvm_field(jvm, "ConstantPool", "_source_file_name_index", "u2", 0, 54);
	jvm_field(jvm, "JVMFlag", "flags", "JVMFlag*", 1, JVM_STATICS + 24);
	jvm_field(jvm, "JVMFlag", "numFlags", "size_t", 1, JVM_STATICS + 32);
	jvm_field(jvm, "JVMFlag", "_name", "const char*", 0, 8);
	jvm_field(jvm, "JVMFlag", "_addr", "void*", 0, 0);
	jvm_field(jvm, "JVMFlag", "_flags", "JVMFlag::Flags", 0, 16);
	if (new) {
		jvm_field(jvm, "nmethod", "_immutable_data", "address", 0, 64);
		jvm_field(jvm, "nmethod", "_immutable_data_size", "int", 0, 72);
		jvm_field(jvm, "nmethod", "_scopes_data_offset", "int", 0, 76);
		jvm_field(jvm, "CodeBlob", "_mutable_data", "address", 0, 80);
		jvm_field(jvm, "CodeBlob", "_mutable_data_size", "int", 0, 88);
		jvm_field(jvm, "CodeBlob", "_relocation_size", "int", 0, 92);
	} else {
		jvm_field(jvm, "nmethod", "_dependencies_offset", "int", 0, 52);
		jvm_field(jvm, "nmethod", "_metadata_offset", "int", 0, 56);
		jvm_field(jvm, "CompiledMethod", "_scopes_data_begin", "address", 0, 40);
	}
	jvm_type(jvm, "PcDesc", 16);
	jvm_type(jvm, "ConstMethod", 48);
	jvm_type(jvm, "JVMFlag", 24);
	jvm_constant(jvm, "JVMFlag::VALUE_ORIGIN_MASK", 15);
	jvm_constant(jvm,
		     new ? "ConstMethodFlags::_misc_has_linenumber_table"
			 : "ConstMethod::_has_linenumber_table",
		     1);
}

/* The types of JDK 17 or, with @new, those that 25 has otherwise: narrow, and relative. */
static inline void jvm_make_types(struct jvm_memory *jvm, int new)
{
	jvm_field(jvm, "CodeCache", "_heaps", "GrowableArray<CodeHeap*>*", 1, JVM_STATICS);
	jvm_field(jvm, "StubRoutines", "_call_stub_return_address", "address", 1, JVM_STATICS + 8);
	jvm_field(jvm, "Abstract_VM_Version", "_s_vm_release", "const char*", 1, JVM_STATICS + 16);
	jvm_field(jvm, new ? "GrowableArrayBase" : "GenericGrowableArray", "_len", "int", 0, 0);
	jvm_field(jvm, "GrowableArray<int>", "_data", "int*", 0, 8);
	jvm_field(jvm, "CodeHeap", "_memory", "VirtualSpace", 0, 8);
	jvm_field(jvm, "CodeHeap", "_segmap", "VirtualSpace", 0, 64);
	jvm_field(jvm, "CodeHeap", "_log2_segment_size", "int", 0, 128);
	jvm_field(jvm, "VirtualSpace", "_low_boundary", "char*", 0, 0);
	jvm_field(jvm, "VirtualSpace", "_high_boundary", "char*", 0, 8);
	jvm_field(jvm, "CodeBlob", "_name", "const char*", 0, 96);
	jvm_field(jvm, "CodeBlob", "_size", "int", 0, 12);
	jvm_field(jvm, "CodeBlob", "_frame_size", "int", 0, 28);
	jvm_field(jvm, "CodeBlob", "_frame_complete_offset", new ? "int16_t" : "int", 0, 20);
	if (new)
		jvm_field(jvm, "CodeBlob", "_code_offset", "int", 0, 32);
	else
		jvm_field(jvm, "CodeBlob", "_code_begin", "address", 0, 32);
	jvm_field(jvm, "nmethod", "_compile_id", "int", 0, 304);
	jvm_field(jvm, new ? "nmethod" : "CompiledMethod", "_method", "Method*", 0, 112);
	jvm_field(jvm, "HeapBlock::Header", "_length", new ? "uint32_t" : "size_t", 0, 0);
	jvm_field(jvm, "HeapBlock::Header", "_used", "bool", 0, new ? 4 : 8);
	jvm_field(jvm, "Method", "_constMethod", "ConstMethod*", 0, 8);
	jvm_field(jvm, "ConstMethod", "_constants", "ConstantPool*", 0, 8);
	jvm_field(jvm, "ConstMethod", "_name_index", "u2", 0, 34);
	jvm_field(jvm, "ConstantPool", "_pool_holder", "InstanceKlass*", 0, 24);
	jvm_field(jvm, "Klass", "_name", "Symbol*", 0, 24);
	jvm_field(jvm, "ConstMethod", "_method_idnum", "u2", 0, 36);
	jvm_field(jvm, "InstanceKlass", "_methods", "Array<Method*>*", 0, 16);
	jvm_field(jvm, "Array<int>", "_length", "int", 0, 0);
	jvm_field(jvm, "Array<Method*>", "_data", "Method*", 0, 8);
	jvm_field(jvm, "Symbol", "_length", "u2", 0, 4);
	jvm_field(jvm, "Symbol", "_body", "", 0, 6);
	jvm_type(jvm, "HeapBlock", 16);
	jvm_type(jvm, "ConstantPool", 72);
	jvm_make_scope_types(jvm, new);
}

static inline void jvm_make_symbol_text(struct jvm_memory *jvm, uint64_t at, const char *text)
{
	jvm_put(jvm, at + 4, strlen(text), 2);
	memcpy(jvm->bytes + (at + 6 - JVM_BASE), text, strlen(text));
}

static inline void jvm_make_blob(struct jvm_memory *jvm, uint64_t block, uint32_t segments,
				 const char *name, int new)
{
	uint64_t blob = block + 16, first = (block - JVM_HEAP) / 128;

	for (uint32_t i = 0; i < segments; i++)
		jvm_put(jvm, JVM_SEGMAP + first + i, i, 1);
	jvm_put(jvm, block, segments, new ? 4 : 8);
	jvm_put(jvm, block + (new ? 4 : 8), 1, 1);
	jvm_put(jvm, blob + 96, jvm_text(jvm, name), 8);
	jvm_put(jvm, blob + 12, 128 * segments - 16, 4);
	jvm_put(jvm, blob + 28, 4, 4);
	jvm_put(jvm, blob + 32, new ? 0x80 : blob + 0x80, new ? 4 : 8);
}

/* Writes @number at *@at as JDK 17 does or, with @new, so that no byte is 0. */
static inline void jvm_number(struct jvm_memory *jvm, uint64_t *at, uint32_t number, int new)
{
	uint32_t least = new ? 1 : 0, few = 192 - least;

	for (; number >= few; number = (number - few) >> 6)
		jvm_put(jvm, (*at)++, least + few + ((number - few) & 63), 1);
	jvm_put(jvm, (*at)++, least + number, 1);
}

static inline void jvm_scope(struct jvm_memory *jvm, uint64_t at, uint32_t outer, uint32_t method,
			     int32_t bci, int new)
{
	jvm_number(jvm, &at, outer, new);
	jvm_number(jvm, &at, method, new);
	jvm_number(jvm, &at, (uint32_t)(bci + 1), new);
}

static inline void jvm_pc(struct jvm_memory *jvm, uint32_t idx, uint32_t off, uint32_t scope)
{
	jvm_put(jvm, JVM_PCS + 16 * idx, off, 4);
	jvm_put(jvm, JVM_PCS + 16 * idx + 4, scope, 4);
}

/* A flag of the command line that is 0 or 1. */
static inline void jvm_flag(struct jvm_memory *jvm, uint32_t idx, const char *name, uint8_t value)
{
	jvm_put(jvm, JVM_FLAGS + 24 * idx, JVM_FLAGS + 48 + idx, 8);
	jvm_put(jvm, JVM_FLAGS + 24 * idx + 8, jvm_text(jvm, name), 8);
	jvm_put(jvm, JVM_FLAGS + 24 * idx + 16, 0x101, 4); /* it was given at the start */
	jvm_put(jvm, JVM_FLAGS + 48 + idx, value, 1);
}

/* A ConstMethod of @size bytes of code, with lines behind it. *ret: where these begin. */
static inline void jvm_const_method(struct jvm_memory *jvm, uint64_t at, uint64_t pool,
				    uint16_t name, uint16_t size, uint64_t *ret)
{
	jvm_put(jvm, at + 8, pool, 8);
	jvm_put(jvm, at + 24, (48u + size + 32) / 8, 4);
	jvm_put(jvm, at + 28, 1, 2);
	jvm_put(jvm, at + 32, size, 2);
	jvm_put(jvm, at + 34, name, 2);
	*ret = at + 48 + size;
}

/* In length, whose ConstMethod is at @outer, charAt is inlined: its code up to 0x20 is length's
 * own, up to 0x40 it is at bci 200 of charAt, which is called at bci 4. */
static inline void jvm_make_scopes(struct jvm_memory *jvm, uint64_t pool, uint64_t outer, int new)
{
	const uint64_t method = JVM_DATA + 0x500, scopes = new ? JVM_SCOPES_NEW : JVM_SCOPES;
	uint64_t at;

	jvm_put(jvm, JVM_NMETHOD + 40, JVM_SCOPES, 8);
	jvm_put(jvm, JVM_NMETHOD + 48, new ? 0 : JVM_PCS - JVM_NMETHOD, 4);
	jvm_put(jvm, JVM_NMETHOD + 52, JVM_PCS + 64 - JVM_NMETHOD, 4);
	jvm_put(jvm, JVM_NMETHOD + 56, JVM_METADATA - JVM_NMETHOD, 4);
	jvm_put(jvm, JVM_NMETHOD + 64, JVM_PCS, 8);
	jvm_put(jvm, JVM_NMETHOD + 72, 64 + 48, 4);
	jvm_put(jvm, JVM_NMETHOD + 76, 64, 4);
	if (new) {
		jvm_put(jvm, JVM_NMETHOD + 80, JVM_METADATA - 8, 8);
		jvm_put(jvm, JVM_NMETHOD + 88, 24, 4);
		jvm_put(jvm, JVM_NMETHOD + 92, 8, 4);
	}
	jvm_put(jvm, JVM_METADATA, method, 8);
	jvm_put(jvm, JVM_METADATA + 8, JVM_DATA + 0x200, 8);
	jvm_put(jvm, scopes, 0xff, 1);
	jvm_scope(jvm, scopes + 1, 0, 2, 4, new);
	jvm_scope(jvm, scopes + 8, 1, 1, 200, new);
	jvm_pc(jvm, 0, UINT32_MAX, 0);
	jvm_pc(jvm, 1, 0x20, 1);
	jvm_pc(jvm, 2, 0x40, 8);
	jvm_pc(jvm, 3, INT32_MAX, 0);
	jvm_const_method(jvm, outer, pool, 5, 10, &at);
	jvm_put(jvm, at, 3, 1);		     /* bci 0: line 3 */
	jvm_put(jvm, at + 1, 3 << 3 | 2, 1); /* bci 3: line 5 */
	jvm_put(jvm, method + 8, JVM_INNER, 8);
	jvm_const_method(jvm, JVM_INNER, pool, 6, 210, &at);
	jvm_put(jvm, at++, 0xff, 1); /* bci 150, line 100: steps that are twice as many */
	jvm_number(jvm, &at, 300, new);
	jvm_number(jvm, &at, 200, new);
	jvm_put(jvm, at++, 5 << 3 | 7, 1); /* bci 155: line 107 */
	jvm_put(jvm, at++, 0xff, 1);	   /* bci 165: line 57, 50 back */
	jvm_number(jvm, &at, 20, new);
	jvm_number(jvm, &at, 99, new);
	jvm_put(jvm, JVM_STATICS + 24, JVM_FLAGS, 8);
	jvm_put(jvm, JVM_STATICS + 32, 2, 8);
	jvm_flag(jvm, 0, "DebugNonSafepointsToo", 1);
	jvm_flag(jvm, 1, "DebugNonSafepoints", 0);
}

/* @jvm is all zeros. */
static inline void jvm_make(struct jvm_memory *jvm, int new)
{
	const uint64_t heap = JVM_DATA + 0x100, array = JVM_DATA + 0x10, list = JVM_DATA + 0x20;
	const uint64_t method = JVM_DATA + 0x200, code = JVM_DATA + 0x240, pool = JVM_DATA + 0x280;
	const uint64_t klass = JVM_DATA + 0x400, name = JVM_DATA + 0x440, of = JVM_DATA + 0x480;

	jvm_make_symbols(jvm);
	jvm_make_types(jvm, new);
	jvm_put(jvm, JVM_STATICS, array, 8);
	jvm_put(jvm, JVM_STATICS + 8, JVM_STUB_RA, 8);
	jvm_put(jvm, JVM_STATICS + 16, jvm_text(jvm, "17.0.2+8"), 8);
	jvm_put(jvm, array, 1, 4);
	jvm_put(jvm, array + 8, list, 8);
	jvm_put(jvm, list, heap, 8);
	jvm_put(jvm, heap + 8, JVM_HEAP, 8);
	jvm_put(jvm, heap + 16, JVM_HEAP_END, 8);
	jvm_put(jvm, heap + 64, JVM_SEGMAP, 8);
	jvm_put(jvm, heap + 72, JVM_SEGMAP + 0x80, 8);
	jvm_put(jvm, heap + 128, 7, 4);
	jvm_make_blob(jvm, JVM_HEAP, 16, "Interpreter", new);
	jvm_make_blob(jvm, JVM_NMETHOD - 16, 8, "nmethod", new);
	jvm_make_blob(jvm, JVM_HEAP + 0xc00, 104, "StubRoutines (1)", new);
	jvm_put(jvm, JVM_NMETHOD + 112, method, 8);
	jvm_put(jvm, method + 8, code, 8);
	jvm_put(jvm, pool + 24, klass, 8);
	jvm_put(jvm, pool + 72 + 8 * 5, name, 8);
	jvm_put(jvm, klass + 24, of, 8);
	jvm_put(jvm, klass + 16, JVM_METHODS, 8);
	jvm_put(jvm, JVM_METHODS, 2, 4);
	jvm_put(jvm, JVM_METHODS + 8, JVM_DATA + 0x500, 8);
	jvm_put(jvm, JVM_METHODS + 16, method, 8);
	jvm_put(jvm, code + 36, 1, 2);
	jvm_make_symbol_text(jvm, name, "length");
	jvm_make_symbol_text(jvm, of, "java/lang/String");
	jvm_put(jvm, pool + 72 + 8 * 6, JVM_DATA + 0x4c0, 8);
	jvm_make_symbol_text(jvm, JVM_DATA + 0x4c0, "charAt");
	jvm_put(jvm, pool + 54, 7, 2);
	jvm_put(jvm, pool + 72 + 8 * 7, JVM_DATA + 0x4e0, 8);
	jvm_make_symbol_text(jvm, JVM_DATA + 0x4e0, "String.java");
	jvm_make_scopes(jvm, pool, code, new);
}
