// SPDX-License-Identifier: Apache-2.0
/*
 * A program that looks as if PCRE2 or qemu made its code, whose memory may lie about it. It runs
 * that code until it is killed. usage: forged_code FILE KIND: FILE is mapped, and has the name of
 * what makes code; or --kinds: list them.
 */
#include <elf.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CHUNK 0x10000u
#define BLOCK 0x4000u /* in the chunk: where the function is */
#define BYTES 0x1000u /* of its block */

#define FRAME "\x53\x48\x81\xec\x80\0\0\0"	       /* push rbx; sub rsp, 0x80 */
#define LOOP  "\xb9\0\0\x10\0\xff\xc9\x75\xfc"	       /* mov ecx, 1 << 20; dec ecx; jnz */
#define END   "\x48\x81\xc4\x80\0\0\0\x5b\xc3"	       /* add rsp, 0x80; pop rbx; ret */
#define LIE   "\x55\x48\x81\xec\xf0\xff\x07\0\xff\xe6" /* a frame of half a MiB; jmp rsi */

static uint8_t *chunk;

static void put(uint32_t off, uint64_t value)
{
	memcpy(chunk + off, &value, sizeof(value));
}

static void put_small_blocks(void)
{
	for (uint32_t at = 0; at < BLOCK; at += 16) {
		put(at, 16);
		put(at + 8, at ? 16 : 0);
	}
}

static void put_code(uint32_t off, const char *code, size_t size)
{
	memcpy(chunk + off, code, size);
}

static void make(const char *kind)
{
	static const char honest[] = FRAME LOOP END, lie[] = LIE, bare[] = LOOP "\xc3";

	put(32, BLOCK);
	put(BLOCK, BYTES);
	put(BLOCK + 8, BLOCK);
	put_code(BLOCK + 16, honest, sizeof(honest) - 1);
	if (strcmp(kind, "zeroes") == 0)
		put(32, 0);
	else if (strcmp(kind, "ones") == 0)
		memset(chunk, 0xff, 64);
	else if (strcmp(kind, "2-31") == 0)
		put(32, 1u << 31);
	else if (strcmp(kind, "small") == 0)
		put_small_blocks();
	else if (strcmp(kind, "frame") == 0)
		put_code(BLOCK + 16, bare, sizeof(bare) - 1);
	else if (strcmp(kind, "qemu-lie") == 0)
		put_code(0, lie, sizeof(lie) - 1);
}

/* While the code is walked, the sizes change. */
static void *change(void *arg)
{
	volatile uint64_t *words = (volatile uint64_t *)chunk;

	for (uint64_t i = 0;; i++) {
		words[i & 7] = i % 3 ? i * 0x9e3779b97f4a7c15ull : 0;
		words[BLOCK / 8 + (i & 1)] = i & 4 ? BYTES : i << 4;
	}
	return arg;
}

/* Map the code of the file at @path, whose name tells what makes code. */
static int map_maker(const char *path)
{
	int fd = open(path, O_RDONLY);
	Elf64_Ehdr head;
	Elf64_Phdr phdr;

	if (fd < 0 || pread(fd, &head, sizeof(head), 0) != sizeof(head))
		return -1;
	for (off_t at = (off_t)head.e_phoff; pread(fd, &phdr, sizeof(phdr), at) == sizeof(phdr);
	     at += (off_t)sizeof(phdr)) {
		if (phdr.p_type == PT_LOAD && phdr.p_flags & PF_X)
			return mmap(NULL, phdr.p_filesz, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
				    (off_t)phdr.p_offset) == MAP_FAILED;
	}
	return -1;
}

int main(int argc, char **argv)
{
	static const char *const kinds[] = { "honest", "zeroes", "ones",    "2-31",
					     "small",  "frame",	 "changes", "qemu-lie" };
	void (*run)(void);
	pthread_t thread;

	if (argc == 2 && strcmp(argv[1], "--kinds") == 0) {
		for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
			puts(kinds[i]);
		return 0;
	}
	if (argc != 3 || map_maker(argv[1]))
		return 1;
	chunk = mmap(NULL, CHUNK, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
		     -1, 0);
	if (chunk == MAP_FAILED)
		return 1;
	make(argv[2]);
	if (strcmp(argv[2], "changes") == 0 && pthread_create(&thread, NULL, change, NULL))
		return 1;
	memcpy(&run, &(uint8_t *){ chunk + BLOCK + 16 }, sizeof(run));
	for (;;)
		run();
}
