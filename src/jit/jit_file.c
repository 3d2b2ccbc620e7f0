/* SPDX-License-Identifier: Apache-2.0 */
#include "jit/jit_file.h"

#include <errno.h>
#include <string.h>

#include "base/vector.h"
#include "bpf/shared_region.h"

int jit_files_open(struct jit_memory *memory, uint64_t base, struct jit_files *ret)
{
	if (memory->pages_left > JIT_FILES_PAGES_MAX)
		memory->pages_left = JIT_FILES_PAGES_MAX;
	int code;

	*ret = (struct jit_files){ .sections_left = JIT_SECTIONS_MAX,
				   .symbols_left = JIT_SYMBOLS_MAX };
	code = jit_list_open(memory, base, &ret->list);
	ret->list.left = JIT_FILES_MAX;
	return code;
}

static bool open_file(struct jit_files *files, uint64_t addr, uint64_t size, struct jit_file *ret)
{
	struct jit_memory *memory = files->list.memory;
	Elf64_Ehdr head;

	if (size < sizeof(head) || !jit_read(memory, addr, &head, sizeof(head)) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    head.e_machine != EM_X86_64 || head.e_shentsize != sizeof(Elf64_Shdr) ||
	    head.e_shnum > files->sections_left || head.e_shoff > size ||
	    head.e_shnum * sizeof(Elf64_Shdr) > size - head.e_shoff)
		return false;
	files->sections_left -= head.e_shnum;
	*ret = (struct jit_file){
		.memory = memory,
		.addr = addr,
		.size = size,
		.sections = addr + head.e_shoff,
		.nr_sections = head.e_shnum,
		.names = head.e_shstrndx,
		.is_relocatable = head.e_type == ET_REL,
	};
	return true;
}

bool jit_files_next(struct jit_files *files, struct jit_file *ret)
{
	uint64_t addr, size;

	while (jit_list_next(&files->list, &addr, &size)) {
		if (addr == files->first)
			return false;
		if (!files->first)
			files->first = addr;
		if (open_file(files, addr, size, ret))
			return true;
	}
	return false;
}

bool jit_file_section(const struct jit_file *file, uint32_t idx, Elf64_Shdr *ret)
{
	return idx < file->nr_sections &&
	       jit_read(file->memory, file->sections + idx * sizeof(*ret), ret, sizeof(*ret));
}

/* The address of byte @off of the file's section @header, of which [@off, @off + @size) is wanted;
 * 0: it leaves the section or the file. */
static uint64_t part(const struct jit_file *file, const Elf64_Shdr *header, uint64_t off,
		     uint64_t size)
{
	if (header->sh_type == SHT_NOBITS || header->sh_offset > file->size ||
	    header->sh_size > file->size - header->sh_offset || off > header->sh_size ||
	    size > header->sh_size - off)
		return 0;
	return file->addr + header->sh_offset + off;
}

bool jit_file_is_named(const struct jit_file *file, const Elf64_Shdr *header, const char *name)
{
	size_t size = strlen(name) + 1;
	char text[JIT_TEXT_MAX];
	Elf64_Shdr names;
	uint64_t addr;

	if (!jit_file_section(file, file->names, &names))
		return false;
	addr = part(file, &names, header->sh_name, size);
	return addr && jit_read(file->memory, addr, text, size) && !memcmp(text, name, size);
}

uint64_t jit_file_bytes(const struct jit_file *file, const Elf64_Shdr *header)
{
	if (file->is_relocatable)
		return header->sh_flags & SHF_ALLOC ? header->sh_addr : 0;
	return part(file, header, 0, header->sh_size);
}

/* Is [@start, @start + @size) in the memory of user space? */
static bool is_user(uint64_t start, uint64_t size)
{
	return start && start < FPL_REGION_END_MAX && size <= FPL_REGION_END_MAX - start;
}

/* Find the place of the function @symbol. False: it is no function, or leaves its section. */
static bool place_of(const struct jit_file *file, const Elf64_Sym *symbol, uint64_t *ret)
{
	Elf64_Shdr section;
	uint64_t off;

	*ret = symbol->st_value;
	if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || !symbol->st_size)
		return false;
	if (symbol->st_shndx == SHN_ABS)
		return is_user(*ret, symbol->st_size);
	if (!jit_file_section(file, symbol->st_shndx, &section) ||
	    !is_user(section.sh_addr, section.sh_size))
		return false;
	off = file->is_relocatable ? symbol->st_value : symbol->st_value - section.sh_addr;
	*ret = section.sh_addr + off;
	return off < section.sh_size && symbol->st_size <= section.sh_size - off;
}

static int add_symbol(const struct jit_file *file, const Elf64_Shdr *texts, const Elf64_Sym *symbol,
		      struct code_table *table)
{
	char name[JIT_TEXT_MAX];
	uint64_t start, addr = part(file, texts, symbol->st_name, 1);

	if (!addr || !place_of(file, symbol, &start) || !jit_read_text(file->memory, addr, name) ||
	    !name[0])
		return 0;
	return code_table_add(table, start, symbol->st_size, 0, name, strlen(name));
}

static int add_symbols(struct jit_files *files, const struct jit_file *file,
		       const Elf64_Shdr *symbols, struct code_table *table)
{
	Elf64_Shdr texts;
	Elf64_Sym symbol;
	int code = 0;

	if (!jit_file_section(file, symbols->sh_link, &texts))
		return 0;
	for (uint64_t off = 0; !code && files->symbols_left; off += sizeof(symbol)) {
		uint64_t addr = part(file, symbols, off, sizeof(symbol));

		if (!addr || !jit_read(file->memory, addr, &symbol, sizeof(symbol)))
			break;
		files->symbols_left--;
		code = add_symbol(file, &texts, &symbol, table);
	}
	return code;
}

static int add_file(struct jit_files *files, const struct jit_file *file, struct code_table *table)
{
	Elf64_Shdr header;
	int code = 0;

	for (uint32_t i = 0; !code && jit_file_section(file, i, &header); i++)
		if (header.sh_type == SHT_SYMTAB)
			code = add_symbols(files, file, &header, table);
	return code;
}

int jit_files_names(struct jit_memory *memory, uint64_t base, struct code_table *ret)
{
	VECTOR(struct jit_file) all = { 0 };
	struct jit_files files;
	struct jit_file file;
	int code = 0;

	if (jit_files_open(memory, base, &files))
		return 0;
	while (!code && jit_files_next(&files, &file))
		code = vector_push(&all, file);
	/* the table has what is added last on top */
	for (size_t i = all.nr; !code && i-- > 0;)
		code = add_file(&files, &all.list[i], ret);
	vector_fini(&all);
	return code;
}
