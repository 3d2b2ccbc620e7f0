/* SPDX-License-Identifier: Apache-2.0 */
#include "core/core_file.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/sorted.h"

/* struct elf_prstatus of x86-64: the signal, the thread, and struct user_regs_struct. */
#define STATUS_SIGNAL 12u
#define STATUS_TID    32u
#define STATUS_REGS   112u
#define STATUS_SIZE   336u
/* struct elf_prpsinfo */
#define INFO_PID  24u
#define INFO_NAME 40u
#define INFO_SIZE 136u

#define AUXV_MAX 256u /* entries */

/* Places of rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8 to r15 among the words of user_regs_struct,
 * and of rip. */
static const uint8_t places[FPL_NR_REGS] = { 10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0 };
#define PLACE_PC 16u

static int read_at(const struct core_file *core, uint64_t off, void *dst, size_t size)
{
	uint8_t *to = dst;

	if (off > core->size || size > core->size - off)
		return -ENODATA;
	while (size) {
		ssize_t n = pread(core->fd, to, size, (off_t)off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -ENODATA;
		to += n;
		off += (uint64_t)n;
		size -= (size_t)n;
	}
	return 0;
}

static int fail_reading(const struct core_file *core, int code, const char *what,
			struct fpl_err *err)
{
	return fpl_fail(err, code, "%s: %s: %s", core->name, what,
			code == -ENODATA ? "the file ends before" : strerror(-code));
}

static int check_header(const struct core_file *core, const Elf64_Ehdr *header, struct fpl_err *err)
{
	if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
		return fpl_fail(err, -ENOEXEC,
				"%s: no core file (a packed one is to be unpacked first)",
				core->name);
	if (header->e_type != ET_CORE)
		return fpl_fail(err, -ENOEXEC, "%s: a program or library, no core file",
				core->name);
	if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
	    header->e_machine != EM_X86_64)
		return fpl_fail(err, -ENOEXEC, "%s: a core file of another machine than x86-64",
				core->name);
	if (header->e_phentsize != sizeof(Elf64_Phdr))
		return fpl_fail(err, -EINVAL, "%s: program headers of %u bytes", core->name,
				header->e_phentsize);
	return 0;
}

/* More than 65,534 are counted by the first section header. */
static int count_segments(const struct core_file *core, const Elf64_Ehdr *header, uint32_t *ret,
			  struct fpl_err *err)
{
	Elf64_Shdr first;
	int code;

	*ret = header->e_phnum;
	if (header->e_phnum == PN_XNUM) {
		code = read_at(core, header->e_shoff, &first, sizeof(first));
		if (code)
			return fail_reading(core, code, "the first section header", err);
		*ret = first.sh_info;
	}
	if (*ret > CORE_SEGMENTS_MAX)
		return fpl_fail(err, -EFBIG, "%s: %u program headers, more than %u", core->name,
				*ret, CORE_SEGMENTS_MAX);
	return 0;
}

static int by_address(const void *a, const void *b)
{
	uint64_t x = ((const struct core_segment *)a)->vaddr,
		 y = ((const struct core_segment *)b)->vaddr;

	return (x > y) - (x < y);
}

/* Sort the memory by address. Errors: -EINVAL a part wraps around, or overlaps another. */
static int order_segments(struct core_file *core, struct fpl_err *err)
{
	uint64_t end = 0;

	if (core->segments.nr)
		qsort(core->segments.list, core->segments.nr, sizeof(*core->segments.list),
		      by_address);
	for (size_t i = 0; i < core->segments.nr; i++) {
		const struct core_segment *s = &core->segments.list[i];

		if (s->vaddr < end || __builtin_add_overflow(s->vaddr, s->size, &end))
			return fpl_fail(err, -EINVAL,
					"%s: memory at 0x%llx is there twice, or has no end",
					core->name, (unsigned long long)s->vaddr);
	}
	return 0;
}

static void add_segment(struct core_file *core, const Elf64_Phdr *header)
{
	struct core_segment segment = {
		.vaddr = header->p_vaddr,
		.size = header->p_memsz,
		.off = header->p_offset,
		.file_size =
			header->p_filesz < header->p_memsz ? header->p_filesz : header->p_memsz,
		.executable = header->p_flags & PF_X,
	};

	/* the file may be cut: by a limit, or by a full disk */
	uint64_t there = segment.off < core->size ? core->size - segment.off : 0;

	if (segment.file_size > there) {
		core->lacking += segment.file_size - there;
		segment.file_size = there;
	}
	if (segment.size)
		must_push(&core->segments, segment);
}

static int read_thread(struct core_file *core, const uint8_t *bytes)
{
	struct cursor c = cursor_make(bytes, STATUS_SIZE);
	struct core_thread thread = { 0 };
	uint64_t words[PLACE_PC + 4];

	cursor_skip(&c, STATUS_SIGNAL);
	if (!core->threads.nr)
		core->signal = cursor_u16(&c);
	c = cursor_make(bytes, STATUS_SIZE);
	cursor_skip(&c, STATUS_TID);
	thread.tid = cursor_u32(&c);
	c = cursor_make(bytes, STATUS_SIZE);
	cursor_skip(&c, STATUS_REGS);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		words[i] = cursor_u64(&c);
	for (size_t i = 0; i < FPL_NR_REGS; i++)
		thread.reg[i] = words[places[i]];
	thread.pc = words[PLACE_PC];
	if (core->threads.nr == CORE_THREADS_MAX)
		return -EFBIG;
	must_push(&core->threads, thread);
	return 0;
}

static void read_info(struct core_file *core, const uint8_t *bytes)
{
	struct cursor c = cursor_make(bytes, INFO_SIZE);

	cursor_skip(&c, INFO_PID);
	core->pid = cursor_u32(&c);
	memcpy(core->comm, bytes + INFO_NAME, sizeof(core->comm));
	core->comm[sizeof(core->comm) - 1] = '\0';
}

static void read_auxv(struct core_file *core, const uint8_t *bytes, size_t size)
{
	struct cursor c = cursor_make(bytes, size);

	while (cursor_left(&c) >= 16) {
		uint64_t type = cursor_u64(&c), value = cursor_u64(&c);

		if (type == AT_ENTRY)
			core->entry = value;
		else if (type == AT_BASE)
			core->interp_base = value;
		else if (type == AT_SYSINFO_EHDR)
			core->vdso = value;
	}
}

/* The list of mapped files. @bytes is taken over: paths stay in it. Errors: -EINVAL. */
static int read_files(struct core_file *core, uint8_t *bytes, size_t size)
{
	struct cursor c = cursor_make(bytes, size), paths;
	uint64_t nr = cursor_u64(&c), page = cursor_u64(&c), end = 0;

	free(core->paths);
	core->paths = (char *)bytes;
	core->mappings.nr = 0;
	if (c.bad || nr > cursor_left(&c) / 24)
		return -EINVAL;
	must_reserve(&core->mappings, nr);
	paths = c;
	cursor_skip(&paths, nr * 24);
	for (uint64_t i = 0; i < nr; i++) {
		struct core_mapping map = { .start = cursor_u64(&c), .end = cursor_u64(&c) };

		if (__builtin_mul_overflow(cursor_u64(&c), page, &map.file_off))
			return -EINVAL;
		map.path = cursor_text(&paths, size);
		if (!map.path || map.start < end || map.start >= map.end)
			return -EINVAL;
		end = map.end;
		core->mappings.list[core->mappings.nr++] = map;
	}
	return 0;
}

/* The most bytes of a note that are read, by what it is; 0: not wanted. */
static uint64_t wanted_bytes(const Elf64_Nhdr *note)
{
	switch (note->n_type) {
	case NT_PRSTATUS:
		return note->n_descsz >= STATUS_SIZE ? STATUS_SIZE : 0;
	case NT_PRPSINFO:
		return note->n_descsz >= INFO_SIZE ? INFO_SIZE : 0;
	case NT_AUXV:
		return note->n_descsz < 16 * AUXV_MAX ? note->n_descsz : 16 * AUXV_MAX;
	case NT_FILE:
		return note->n_descsz;
	default:
		return 0;
	}
}

static int take_note(struct core_file *core, const Elf64_Nhdr *note, uint64_t off,
		     struct fpl_err *err)
{
	uint64_t size = wanted_bytes(note);
	AUTO_FREE uint8_t *bytes = NULL;
	int code = 0;

	if (!size)
		return 0;
	if (size > CORE_NOTE_MAX)
		return fpl_fail(err, -EFBIG, "%s: a list of mapped files of %u MiB, more than %u",
				core->name, (unsigned int)(size >> 20), CORE_NOTE_MAX >> 20);
	bytes = must_malloc(size);
	code = read_at(core, off, bytes, size);
	if (code)
		return fail_reading(core, code, "a note", err);
	if (note->n_type == NT_PRSTATUS)
		code = read_thread(core, bytes);
	else if (note->n_type == NT_PRPSINFO)
		read_info(core, bytes);
	else if (note->n_type == NT_AUXV)
		read_auxv(core, bytes, size);
	else
		code = read_files(core, TAKE_PTR(bytes), size);
	if (!code)
		return 0;
	return fpl_fail(err, code, "%s: %s", core->name,
			code == -EFBIG ? "more than 65,536 threads"
				       : "the list of mapped files does not hold together");
}

/* The notes in [off, end) of the file. */
static int read_notes(struct core_file *core, uint64_t off, uint64_t end, struct fpl_err *err)
{
	if (end > core->size)
		return fail_reading(core, -ENODATA, "its notes", err);
	while (off < end && end - off >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		uint64_t name, desc;
		char owner[8] = "";
		int code = read_at(core, off, &note, sizeof(note));

		name = off + sizeof(note);
		desc = name + ((uint64_t)note.n_namesz + 3) / 4 * 4;
		if (!code && note.n_namesz && note.n_namesz <= sizeof(owner))
			code = read_at(core, name, owner, note.n_namesz);
		if (code)
			return fail_reading(core, code, "a note", err);
		off = desc + ((uint64_t)note.n_descsz + 3) / 4 * 4;
		/* those of FPU registers go by another owner */
		if (memcmp(owner, "CORE", 5) != 0)
			continue;
		code = take_note(core, &note, desc, err);
		if (code)
			return code;
	}
	return 0;
}

static int read_segments(struct core_file *core, struct fpl_err *err)
{
	Elf64_Ehdr header;
	uint32_t nr;
	int code = read_at(core, 0, &header, sizeof(header));

	if (code)
		return code == -ENODATA ? fpl_fail(err, -ENOEXEC, "%s: no core file", core->name)
					: fail_reading(core, code, "its header", err);
	code = check_header(core, &header, err);
	if (!code)
		code = count_segments(core, &header, &nr, err);
	for (uint32_t i = 0; !code && i < nr; i++) {
		Elf64_Phdr segment;
		uint64_t off, end;

		if (__builtin_add_overflow(header.e_phoff, i * sizeof(segment), &off))
			return fpl_fail(err, -EINVAL, "%s: program headers beyond any file",
					core->name);
		code = read_at(core, off, &segment, sizeof(segment));
		if (code)
			return fail_reading(core, code, "a program header", err);
		if (segment.p_type == PT_LOAD)
			add_segment(core, &segment);
		if (segment.p_type == PT_NOTE &&
		    !__builtin_add_overflow(segment.p_offset, segment.p_filesz, &end))
			code = read_notes(core, segment.p_offset, end, err);
	}
	return code;
}

int core_file_open(int fd, const char *name, struct core_file **ret, struct fpl_err *err)
{
	struct core_file *core = must_calloc(1, sizeof(*core));
	struct stat st;
	int code = 0;

	core->fd = fd;
	core->name = must_strdup(name);
	if (fstat(fd, &st) < 0)
		code = fpl_fail(err, -errno, "%s: %s", name, strerror(errno));
	else
		core->size = (uint64_t)st.st_size;
	if (!code)
		code = read_segments(core, err);
	if (!code)
		code = order_segments(core, err);
	if (!code && !core->threads.nr)
		code = fpl_fail(err, -ENODATA, "%s: no thread in it", name);
	if (code)
		core_file_close(core);
	else
		*ret = core;
	return code;
}

void core_file_close(struct core_file *core)
{
	if (!core)
		return;
	vector_fini(&core->segments);
	vector_fini(&core->threads);
	vector_fini(&core->mappings);
	cleanup_fd(&core->fd);
	free(core->paths);
	free(core->name);
	free(core);
}

const struct core_segment *core_file_segment(const struct core_file *core, uint64_t addr)
{
	const struct core_segment *list = core->segments.list;
	size_t at = SORTED_UP_TO(list, vaddr, core->segments.nr, addr);

	return at && addr - list[at - 1].vaddr < list[at - 1].size ? &list[at - 1] : NULL;
}

const struct core_mapping *core_file_mapping(const struct core_file *core, uint64_t addr)
{
	const struct core_mapping *list = core->mappings.list;
	size_t at = SORTED_UP_TO(list, start, core->mappings.nr, addr);

	return at && addr < list[at - 1].end ? &list[at - 1] : NULL;
}

int core_file_memory(const struct core_file *core, uint64_t addr, void *dst, size_t size)
{
	uint8_t *to = dst;

	/* neighbours may continue each other: protections differ */
	while (size) {
		const struct core_segment *segment = core_file_segment(core, addr);
		uint64_t at = segment ? addr - segment->vaddr : 0, left;
		int code;

		if (!segment || at >= segment->file_size)
			return -ENOENT;
		left = segment->file_size - at;
		if (left > size)
			left = size;
		code = read_at(core, segment->off + at, to, left);
		if (code)
			return code == -ENODATA ? -ENOENT : code;
		addr += left;
		to += left;
		size -= left;
	}
	return 0;
}
