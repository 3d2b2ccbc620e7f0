/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast .eh_frame bytes in memory become a table image in memory, on one thread, beside a pass
 * that adds up the same bytes and beside libdw asked for every row; and how large the image is.
 * "libdw" makes the frame of each row (dwarf_cfi_addrframe); "libdw rules" also asks it for what an
 * image holds: the CFA, the return address and the six callee-saved registers.
 *
 * usage: bench_compile [FILE...]; prints TSV: name, unit, median, p10, p90, n, best, build-id.
 */
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "unwind/table_compile.h"
#include "tests/support/elf_path.h"

enum { RUNS = 7, CFI_MAX = 256 << 20 };

/* A default list: what the published figures of this field were taken on. */
static const char *const default_files[] = {
	"/lib/x86_64-linux-gnu/libc.so.6",
	"/usr/bin/python3.11",
	"/usr/bin/gdb",
	"/usr/lib/gcc/x86_64-linux-gnu/12/cc1",
	"/usr/lib/x86_64-linux-gnu/libLLVM-16.so.1",
};

struct input {
	const char *path;
	const char *name;
	struct elf_file *elf;
	struct cfi_section section;
	struct cfi_range *text;
	size_t nr_text;
	char build_id[2 * ELF_FILE_BUILD_ID_MAX + 1];
};

/* Sums over the files, for the last lines. */
struct total {
	uint64_t image_bytes, text_bytes;
	double compile_s, libdw_s, libdw_rules_s, bytes;
};

struct row_starts {
	uint64_t *pc;
	size_t nr, cap;
};

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int compare_doubles(const void *a, const void *b)
{
	const double *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

/* Print one line for the speeds that @seconds [n] give for @bytes; returns the best time. */
static double print_speeds(const struct input *input, const char *what, double bytes,
			   double *seconds, size_t n)
{
	qsort(seconds, n, sizeof(*seconds), compare_doubles);
	printf("%s %s\tMB/s\t%.1f\t%.1f\t%.1f\t%zu\t%.1f\t%s\n", input->name, what,
	       bytes / 1e6 / seconds[n / 2], bytes / 1e6 / seconds[n - 1 - n / 10],
	       bytes / 1e6 / seconds[n / 10], n, bytes / 1e6 / seconds[0], input->build_id);
	return seconds[0];
}

static void print_value(const struct input *input, const char *what, const char *unit, double value)
{
	printf("%s %s\t%s\t%.2f\t%.2f\t%.2f\t1\t%.2f\t%s\n", input->name, what, unit, value, value,
	       value, value, input->build_id);
}

static int input_open(struct input *input, const char *path, struct fpl_err *err)
{
	const char *slash = strrchr(path, '/');
	const struct elf_section *section;
	int code = elf_file_open_path(path, &input->elf, err);

	if (code)
		return code;
	input->path = path;
	input->name = slash ? slash + 1 : path;
	section = elf_file_section(input->elf, ".eh_frame");
	if (!section)
		return fpl_fail(err, -ENODATA, "%s: no .eh_frame", path);
	input->section = (struct cfi_section){
		.vaddr = section->vaddr,
		.source = CFI_SOURCE_EH_FRAME,
		.terminator_off = SIZE_MAX,
	};
	input->text = calloc(input->elf->nr_segments + 1, sizeof(*input->text));
	if (!input->text)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", path);
	for (size_t i = 0; i < input->elf->nr_segments; i++) {
		const struct elf_segment *segment = &input->elf->segments[i];

		if (segment->type == PT_LOAD && (segment->flags & PF_X))
			input->text[input->nr_text++] =
				(struct cfi_range){ segment->vaddr,
						    segment->vaddr + segment->mem_size };
	}
	for (size_t i = 0; i < input->elf->build_id_size; i++)
		snprintf(input->build_id + 2 * i, 3, "%02x", input->elf->build_id[i]);
	return elf_file_section_bytes(input->elf, section, CFI_MAX, &input->section.bytes,
				      &input->section.size, err);
}

static void input_close(struct input *input)
{
	elf_file_close(input->elf);
	free(input->section.bytes);
	free(input->text);
}

static int compile(const struct input *input, struct table **ret, struct fpl_err *err)
{
	struct cfi_file *file;
	int code = cfi_file_from_sections(input->name, &input->section, 1, input->text,
					  input->nr_text, &table_limits_default, &file, err);

	if (code)
		return code;
	code = table_compile_file(file, ret, err);
	cfi_file_close(file);
	return code;
}

static double time_byte_sum(const struct input *input)
{
	double seconds[RUNS];

	for (size_t run = 0; run < RUNS; run++) {
		double start = now_s();
		uint64_t sum = 0;

		for (size_t i = 0; i < input->section.size; i++) {
			sum += input->section.bytes[i];
			__asm__ volatile("" : "+r"(sum)); /* byte by byte, as a decoder reads */
		}
		seconds[run] = now_s() - start;
	}
	return print_speeds(input, "byte sum", (double)input->section.size, seconds, RUNS);
}

static int keep_start(const struct cfi_row *row, void *ctx)
{
	struct row_starts *starts = ctx;

	if (row->source != CFI_SOURCE_EH_FRAME)
		return 0; /* libdw has none for code without FDE */
	if (starts->nr == starts->cap) {
		size_t cap = starts->cap ? 2 * starts->cap : 1 << 16;
		uint64_t *pc = reallocarray(starts->pc, cap, sizeof(*pc));

		if (!pc)
			return -ENOMEM;
		starts->pc = pc;
		starts->cap = cap;
	}
	starts->pc[starts->nr++] = row->start;
	return 0;
}

/* Read the facts of a row from libdw that an image holds. */
static size_t read_rules(Dwarf_Frame *frame)
{
	static const int regs[] = { 16, 3, 6, 12, 13, 14, 15 };
	size_t nr_ops, nr = 0;
	Dwarf_Op *ops, room[3];

	if (dwarf_frame_cfa(frame, &ops, &nr_ops) == 0)
		nr += nr_ops;
	for (size_t i = 0; i < ARRAY_SIZE(regs); i++)
		if (dwarf_frame_register(frame, regs[i], room, &ops, &nr_ops) == 0)
			nr += nr_ops;
	return nr;
}

/* Seconds libdw takes for the rows that begin at @starts, with their rules where @rules. */
static double time_libdw(const struct input *input, const struct row_starts *starts, bool rules)
{
	AUTO_FD int fd = open(input->path, O_RDONLY | O_CLOEXEC);
	Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ, NULL);
	Dwarf_CFI *cfi = elf ? dwarf_getcfi_elf(elf) : NULL;
	double start = now_s();
	size_t nr_found = 0;

	for (size_t i = 0; cfi && i < starts->nr; i++) {
		Dwarf_Frame *frame;

		if (dwarf_cfi_addrframe(cfi, starts->pc[i], &frame))
			continue;
		nr_found += rules ? read_rules(frame) > 0 : 1;
		free(frame);
	}

	double seconds = now_s() - start;

	if (nr_found < starts->nr)
		fprintf(stderr, "bench_compile: %s: libdw found %zu of %zu rows\n", input->path,
			nr_found, starts->nr);
	dwarf_cfi_end(cfi);
	elf_end(elf);
	return seconds;
}

static int bench_libdw(const struct input *input, double best, struct total *total,
		       struct fpl_err *err)
{
	struct row_starts starts = { 0 };
	int code = cfi_rows_for_each(input->elf, NULL, &table_limits_default, keep_start, &starts,
				     err);
	AUTO_FREE uint64_t *pc = starts.pc;
	double bytes = (double)input->section.size;

	if (code || !pc)
		return fpl_fail_in(err, code ? code : -ENODATA, "%s", input->path);
	elf_version(EV_CURRENT);

	double frames_s = time_libdw(input, &starts, false);
	double rules_s = time_libdw(input, &starts, true);

	total->libdw_s += frames_s;
	total->libdw_rules_s += rules_s;
	print_speeds(input, "libdw", bytes, &frames_s, 1);
	print_speeds(input, "libdw rules", bytes, &rules_s, 1);
	print_value(input, "compile / libdw", "ratio", frames_s / best);
	print_value(input, "compile / libdw rules", "ratio", rules_s / best);
	return 0;
}

static int bench(const char *path, struct total *total, struct fpl_err *err)
{
	CLEANUP(input_close) struct input input = { 0 };
	double seconds[RUNS];
	int code = input_open(&input, path, err);

	if (code)
		return code;

	double bytes = (double)input.section.size;

	print_value(&input, "eh_frame", "MB", bytes / 1e6);
	for (size_t run = 0; run < RUNS; run++) {
		struct table *table = NULL;
		double start = now_s();

		code = compile(&input, &table, err);
		seconds[run] = now_s() - start;
		if (code)
			return code;
		if (run == 0) {
			total->image_bytes += table->stats.image_bytes;
			total->text_bytes += table->stats.text_bytes;
			print_value(&input, "rows", "rows", (double)table->stats.rows_raw);
			print_value(&input, "image", "KiB/MiB",
				    (double)table->stats.image_bytes * 1024 /
					    (double)table->stats.text_bytes);
		}
		table_destroy(table);
	}

	double best = print_speeds(&input, "compile", bytes, seconds, RUNS);
	double sum_s = time_byte_sum(&input);

	print_value(&input, "compile / byte sum", "ratio", sum_s / best);
	total->compile_s += best;
	total->bytes += bytes;
	return bench_libdw(&input, best, total, err);
}

/* A CPU that was idle takes a while to reach its speed; the first file must not pay for that. */
static void warm_up(void)
{
	double end = now_s() + 0.3;

	while (now_s() < end)
		;
}

int main(int argc, char **argv)
{
	const char *const *files = argc > 1 ? (const char *const *)argv + 1 : default_files;
	size_t nr_files = argc > 1 ? (size_t)argc - 1 : ARRAY_SIZE(default_files);
	const struct input all = { .name = "total" };
	struct total total = { 0 };
	int failed = 0;

	printf("name\tunit\tmedian\tp10\tp90\tn\tbest\tbuild-id\n");
	warm_up();
	for (size_t i = 0; i < nr_files; i++) {
		struct fpl_err err = { 0 };

		if (bench(files[i], &total, &err)) {
			fprintf(stderr, "bench_compile: %s\n", err.msg);
			failed = 1;
		}
		fflush(stdout);
	}
	if (total.compile_s > 0) {
		print_value(&all, "compile", "MB/s", total.bytes / 1e6 / total.compile_s);
		print_value(&all, "compile / libdw", "ratio", total.libdw_s / total.compile_s);
		print_value(&all, "compile / libdw rules", "ratio",
			    total.libdw_rules_s / total.compile_s);
		print_value(&all, "image", "KiB/MiB",
			    (double)total.image_bytes * 1024 / (double)total.text_bytes);
	}
	return failed;
}
