/* SPDX-License-Identifier: Apache-2.0 */
#include "diff/oracle/unwinder.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

static const Dwfl_Callbacks file_callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.section_address = dwfl_offline_section_address,
};

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread_arg)
{
	(void)dwfl;
	*thread_arg = arg;
	return 0; /* threads are asked for by number */
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *arg, void **thread_arg)
{
	(void)dwfl;
	(void)tid;
	*thread_arg = arg;
	return true;
}

/* The copy of the page @addr is in was not taken: it was not resident. */
static bool is_missing(const struct fpl_regs *regs, uint64_t addr)
{
	uint64_t page = addr / FPL_STACK_PAGE - regs->stack_addr / FPL_STACK_PAGE;

	return page < 32 && (regs->missing >> page) & 1;
}

static bool memory_read(Dwfl *dwfl, Dwarf_Addr addr, Dwarf_Word *ret, void *arg)
{
	struct unwinder *unwinder = arg;
	const struct walk *walk = unwinder->walk;
	uint64_t off = addr - walk->regs->stack_addr;

	(void)dwfl;
	if (addr < walk->regs->stack_addr || walk->regs->stack_size < sizeof(*ret) ||
	    off > walk->regs->stack_size - sizeof(*ret) || is_missing(walk->regs, addr) ||
	    is_missing(walk->regs, addr + sizeof(*ret) - 1)) {
		unwinder->result->left_stack = true;
		return false;
	}
	memcpy(ret, walk->stack + off, sizeof(*ret));
	return true;
}

static bool set_initial_registers(Dwfl_Thread *thread, void *arg)
{
	const struct fpl_regs *regs = ((struct unwinder *)arg)->walk->regs;
	Dwarf_Word pc = regs->pc;

	for (unsigned int i = 0; i < FPL_NR_REGS; i++) {
		Dwarf_Word value = regs->reg[i];

		if ((regs->known >> i) & 1 &&
		    !dwfl_thread_state_registers(thread, (int)i, 1, &value))
			return false;
	}
	return dwfl_thread_state_registers(thread, FPL_NR_REGS, 1, &pc);
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = next_thread,
	.get_thread = get_thread,
	.memory_read = memory_read,
	.set_initial_registers = set_initial_registers,
};

/* The vDSO is in no file: the one of this process is the same, kernel and boot being the same. */
static int vdso_fd(void)
{
	const uint8_t *image = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	const Elf64_Ehdr *header = (const void *)image;
	int fd = memfd_create("vdso", MFD_CLOEXEC);
	size_t size;

	if (image == NULL || fd < 0)
		return fd;
	/* the section headers come last in it */
	size = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
	if (write(fd, image, size) != (ssize_t)size) {
		close(fd);
		return -1;
	}
	return fd;
}

static void report_mapping(Dwfl *dwfl, const char *path, const struct fpl_mapping *mapping)
{
	int fd = strcmp(path, "[vdso]") == 0 ? vdso_fd() : open(path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0 && dwfl_report_elf(dwfl, path, path, fd, mapping->bias, true) == NULL)
		close(fd); /* a file libdwfl does not take: its frames have no module */
}

/* Executable bytes of the object of @mapping mapped with its bias. */
static uint64_t mapped_bytes(const struct walk_mapset *mapset, const struct fpl_mapping *mapping)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < mapset->nr; i++) {
		const struct fpl_mapping *other = &mapset->mappings[i];

		if (other->object == mapping->object && other->bias == mapping->bias)
			bytes += other->end - other->start;
	}
	return bytes;
}

/*
 * A module is reported once, at the first of its mappings. A module that maps a part of itself a
 * second time elsewhere (node its builtins, next to the code it makes) is one module still: libdwfl
 * drops both where it is told twice of a file with fixed addresses.
 */
static bool is_module(const struct walk_mapset *mapset, uint32_t idx)
{
	const struct fpl_mapping *mapping = &mapset->mappings[idx];
	uint64_t bytes = mapped_bytes(mapset, mapping);

	for (uint32_t i = 0; i < mapset->nr; i++) {
		const struct fpl_mapping *other = &mapset->mappings[i];

		if (other->object != mapping->object)
			continue;
		if (other->bias == mapping->bias ? i < idx : mapped_bytes(mapset, other) > bytes)
			return false;
	}
	return true;
}

int unwinder_create(const struct walk_reader *reader, const struct walk_mapset *mapset,
		    struct unwinder **ret, struct fpl_err *err)
{
	struct unwinder *unwinder = calloc(1, sizeof(*unwinder));

	if (unwinder == NULL)
		return fpl_fail(err, -ENOMEM, "no memory for an unwinder");
	unwinder->mapset = mapset;
	unwinder->dwfl = dwfl_begin(&file_callbacks);
	if (unwinder->dwfl == NULL)
		goto refused;
	dwfl_report_begin(unwinder->dwfl);
	for (uint32_t i = 0; i < mapset->nr; i++) {
		const char *path = walk_reader_path(reader, mapset->mappings[i].object);

		if (path != NULL && is_module(mapset, i))
			report_mapping(unwinder->dwfl, path, &mapset->mappings[i]);
	}
	dwfl_report_end(unwinder->dwfl, NULL, NULL);
	if (!dwfl_attach_state(unwinder->dwfl, NULL, (pid_t)mapset->tgid, &thread_callbacks,
			       unwinder))
		goto refused;
	*ret = unwinder;
	return 0;
refused:
	unwinder_destroy(unwinder);
	return fpl_fail(err, -EIO, "libdwfl: %s", dwfl_errmsg(-1));
}

void unwinder_destroy(struct unwinder *unwinder)
{
	if (unwinder == NULL)
		return;
	if (unwinder->dwfl != NULL)
		dwfl_end(unwinder->dwfl);
	free(unwinder);
}

static int take_frame(Dwfl_Frame *frame, void *arg)
{
	struct unwound *result = ((struct unwinder *)arg)->result;

	if (result->nr == UNWOUND_MAX ||
	    !dwfl_frame_pc(frame, &result->pc[result->nr], &result->exact[result->nr]))
		return DWARF_CB_ABORT;
	result->nr++;
	return DWARF_CB_OK;
}

void unwinder_run(struct unwinder *unwinder, const struct walk *walk, struct unwound *ret)
{
	ret->nr = 0;
	ret->error = NULL;
	ret->left_stack = false;
	unwinder->walk = walk;
	unwinder->result = ret;
	dwfl_errno(); /* forget what was */
	if (dwfl_getthread_frames(unwinder->dwfl, (pid_t)walk->sample->tid, take_frame, unwinder) !=
	    0)
		ret->error = dwfl_errmsg(-1);
}

bool unwinder_has_cfi(struct unwinder *unwinder, uint64_t pc, bool exact)
{
	uint64_t lookup_pc = pc - !exact;
	Dwfl_Module *module = dwfl_addrmodule(unwinder->dwfl, lookup_pc);
	Dwarf_Frame *frame = NULL;
	Dwarf_Addr bias = 0;
	Dwarf_CFI *cfi;

	if (module == NULL)
		return false;
	cfi = dwfl_module_eh_cfi(module, &bias);
	if (cfi == NULL || dwarf_cfi_addrframe(cfi, lookup_pc - bias, &frame) != 0) {
		cfi = dwfl_module_dwarf_cfi(module, &bias);
		if (cfi == NULL || dwarf_cfi_addrframe(cfi, lookup_pc - bias, &frame) != 0)
			return false;
	}
	free(frame);
	return true;
}

void unwinder_name(struct unwinder *unwinder, uint64_t pc, char *text, size_t size)
{
	Dwfl_Module *module = dwfl_addrmodule(unwinder->dwfl, pc);
	const char *path = NULL, *symbol;
	GElf_Off off = 0;
	GElf_Sym sym;
	Dwarf_Addr start = 0, bias = 0;

	if (module == NULL) {
		snprintf(text, size, "in no object");
		return;
	}
	path = dwfl_module_info(module, NULL, &start, NULL, NULL, NULL, NULL, NULL);
	dwfl_module_getelf(module, &bias);
	symbol = dwfl_module_addrinfo(module, pc - 1, &off, &sym, NULL, NULL, NULL);
	snprintf(text, size, "%s+0x%" PRIx64 " %s", path, pc - bias, symbol != NULL ? symbol : "?");
}
