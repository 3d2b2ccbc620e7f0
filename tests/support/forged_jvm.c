/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: forged_jvm FOLDER KIND
 * A program that looks like a JVM: it maps FOLDER/libjvm.so, which describes types, a code heap and
 * one compiled method, String.length, and runs the code of that until it is ended. KIND "honest"
 * tells the truth; the others lie, as `lies` says.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/jvm_memory.h"

/* push rbp; sub rsp, 16; 1: dec rdi; jnz 1b; add rsp, 16; pop rbp; ret: a frame of 4 words */
static const uint8_t loop[] = "\x55\x48\x83\xec\x10\x48\xff\xcf\x75\xfb\x48\x83\xc4\x10\x5d\xc3";

#define OF_INTERPRETER UINT64_MAX /* the name of the interpreter */

static const struct {
	const char *kind;
	struct {
		uint64_t addr, value;
		uint32_t size; /* 0: no more */
	} words[3];
} lies[] = {
	{ "honest", { { 0 } } },
	{ "types of no size", { { JVM_NUMBERS + 16, 0, 8 } } },
	{ "types that are texts", { { JVM_NUMBERS + 8, JVM_TEXTS, 8 } } },
	{ "a symbol in a chain of itself", { { JVM_HASH + 28, 0, 8 }, { JVM_HASH + 36, 0, 8 } } },
	{ "a code heap that is the list of heaps", { { JVM_DATA + 0x20, JVM_DATA + 0x10, 8 } } },
	{ "2^31 code heaps", { { JVM_DATA + 0x10, INT32_MAX, 4 } } },
	{ "hops to the beginning", { { JVM_SEGMAP + 16, 0x0101010101010101, 8 } } },
	{ "no hops", { { JVM_SEGMAP + 16, 0, 8 } } },
	{ "a frame of 2^31 words", { { JVM_NMETHOD + 28, INT32_MAX, 4 } } },
	{ "a frame of 1 word", { { JVM_NMETHOD + 28, 1, 4 } } },
	{ "a blob named by itself", { { JVM_NMETHOD + 96, JVM_NMETHOD + 96, 8 } } },
	{ "a method of itself", { { JVM_DATA + 0x208, JVM_DATA + 0x200, 8 } } },
	{ "a constant pool of itself", { { JVM_DATA + 0x280 + 72 + 40, JVM_DATA + 0x280, 8 } } },
	{ "a scope in itself", { { JVM_SCOPES + 8, 8, 1 } } },
	{ "2^26 places of calls", { { JVM_NMETHOD + 52, 1u << 30, 4 } } },
	{ "an interpreter without frames", { { JVM_NMETHOD + 96, OF_INTERPRETER, 8 } } },
};

static void *map(uint64_t addr, size_t size, int fd)
{
	void *at = mmap((void *)addr, size, PROT_READ | PROT_WRITE | PROT_EXEC,
			MAP_PRIVATE | MAP_FIXED | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0);

	if (at == MAP_FAILED) {
		perror("mmap");
		exit(77);
	}
	return at;
}

/* libjvm.so needs a segment to be a file of code. */
static void make_file(struct jvm_memory *jvm)
{
	Elf64_Ehdr *head = (Elf64_Ehdr *)jvm->bytes;
	const Elf64_Phdr load = { .p_type = PT_LOAD,
				  .p_flags = PF_R | PF_X,
				  .p_filesz = JVM_SIZE,
				  .p_memsz = JVM_SIZE,
				  .p_align = 0x1000 };

	head->e_ident[EI_CLASS] = ELFCLASS64;
	head->e_ident[EI_DATA] = ELFDATA2LSB;
	head->e_ident[EI_VERSION] = EV_CURRENT;
	head->e_type = ET_DYN;
	head->e_machine = EM_X86_64;
	head->e_version = EV_CURRENT;
	head->e_ehsize = sizeof(*head);
	head->e_phnum = 2;
	memcpy(jvm->bytes + 64 + sizeof(load), &load, sizeof(load));
}

static int lie(struct jvm_memory *jvm, const char *kind)
{
	uint64_t interpreter, value;

	memcpy(&interpreter, jvm->bytes + (JVM_HEAP + 16 + 96 - JVM_BASE), sizeof(interpreter));
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		if (strcmp(lies[i].kind, kind))
			continue;
		for (size_t j = 0; j < 3 && lies[i].words[j].size; j++) {
			value = lies[i].words[j].value;
			jvm_put(jvm, lies[i].words[j].addr,
				value == OF_INTERPRETER ? interpreter : value,
				lies[i].words[j].size);
		}
		return 0;
	}
	return -1;
}

int main(int argc, char **argv)
{
	static struct jvm_memory jvm;
	char path[PATH_MAX];
	int fd;

	if (argc == 2 && !strcmp(argv[1], "--kinds")) {
		for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++)
			puts(lies[i].kind);
		return 0;
	}
	jvm_make(&jvm, 0);
	if (argc != 3 || lie(&jvm, argv[2]))
		return 1;
	make_file(&jvm);
	memcpy(jvm.bytes + (JVM_CODE - JVM_BASE), loop, sizeof(loop) - 1);
	snprintf(path, sizeof(path), "%s/libjvm.so", argv[1]);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
	if (fd < 0 || write(fd, jvm.bytes, JVM_SIZE) != JVM_SIZE) {
		perror(path);
		return 1;
	}
	map(JVM_BASE, JVM_SIZE, fd);
	memcpy(map(JVM_HEAP, JVM_END - JVM_HEAP, -1), jvm.bytes + JVM_SIZE, JVM_END - JVM_HEAP);
	for (;;)
		((void (*)(long))JVM_CODE)(1000000);
}
