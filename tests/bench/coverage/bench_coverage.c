/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of the code without FDE gets rows (unwind/synth), why the rest has none, and how fast
 * that goes on one thread: entries found and code analysed, beside bare decoding of the same bytes
 * by libzydis, one instruction behind the other, in the same run; and what rows around one sample
 * take, the median of some places, with the CFI's own table. Best of RUNS (3) each.
 *
 * usage: bench_coverage [-r RUNS] [FILE...]; prints a table in Markdown.
 */
#include <Zydis/Zydis.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "unwind/synth/file.h"
#include "unwind/synth/fill.h"
#include "tests/support/elf_path.h"

enum { PLACES = 9 }; /* at which rows around a sample are made */

#define LIBRARIES "/usr/lib/x86_64-linux-gnu/"

static const char *const default_files[] = {
	LIBRARIES "libx264.so.164",    LIBRARIES "libx265.so.199",
	LIBRARIES "libavcodec.so.59",  LIBRARIES "libavutil.so.57",
	LIBRARIES "libswscale.so.6",   LIBRARIES "libdav1d.so.6",
	LIBRARIES "libvpx.so.7",       LIBRARIES "libaom.so.3",
	LIBRARIES "libSvtAv1Enc.so.1", LIBRARIES "openblas-pthread/libopenblas.so.0",
	LIBRARIES "libgmp.so.10",      LIBRARIES "libcrypto.so.3",
	LIBRARIES "libzstd.so.1",      LIBRARIES "libc.so.6",
	LIBRARIES "libLLVM-14.so.1",
};

static const struct table_limits patient = {
	.cpu_ns = 120ull * 1000000000,
	.memory_bytes = 4ull << 30,
	.rows = 64u << 20,
};

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void cleanup_elf(struct elf_file **elf)
{
	elf_file_close(*elf);
}

/* One analysis; the caller ends @ret. *ret_s: its time, without the CFI's own. */
static int analyse(const struct elf_file *elf, struct synth_result *ret, double *ret_s,
		   struct fpl_err *err)
{
	CLEANUP(cfi_file_cleanup) struct cfi_file *cfi = NULL;
	CLEANUP(synth_file_cleanup) struct synth_file *file = NULL;
	int code = cfi_file_open(elf, NULL, &patient, &cfi, err);
	double start_s = now_s();

	if (code == 0)
		code = synth_file_open(elf, NULL, cfi, SYNTH_HOLES, &cfi->budget, &file, err);
	if (code == 0)
		code = synth_file_analyse(file, NULL, NULL, ret, err);
	*ret_s = now_s() - start_s;
	return code;
}

/* Decode [start, end) of @elf; returns instructions, or 0 where it cannot be read. */
static uint64_t decode_range(const struct elf_file *elf, uint64_t start, uint64_t end,
			     double *ret_s)
{
	const struct elf_segment *segment = elf_file_load_at(elf, start, end - start);
	AUTO_FREE uint8_t *bytes = malloc(end - start);
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction instruction;
	ZydisDecoder decoder;
	uint64_t nr = 0;

	if (!segment || !bytes ||
	    elf_file_read(elf, segment->off + (start - segment->vaddr), bytes, end - start, NULL))
		return 0;
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);

	double start_s = now_s();

	for (uint64_t at = 0; at < end - start; nr++)
		at += ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes + at, end - start - at,
							  &instruction, operands))
			      ? instruction.length
			      : 1;
	*ret_s += now_s() - start_s;
	return nr;
}

/* All holes: what rows and gaps cover, side by side. */
static double decode_holes(const struct elf_file *elf, const struct synth_result *result)
{
	uint64_t start = 0, end = 0;
	size_t row = 0, gap = 0;
	double spent_s = 0;

	while (row < result->nr_rows || gap < result->nr_gaps) {
		bool is_row = gap == result->nr_gaps ||
			      (row < result->nr_rows &&
			       result->rows[row].start < result->gaps[gap].start);
		uint64_t from = is_row ? result->rows[row].start : result->gaps[gap].start;
		uint64_t to = is_row ? result->rows[row++].end : result->gaps[gap++].end;

		if (from != end) {
			if (end > start)
				decode_range(elf, start, end, &spent_s);
			start = from;
		}
		end = to;
	}
	if (end > start)
		decode_range(elf, start, end, &spent_s);
	return spent_s;
}

/* Rows around @vaddr alone, the CFI read anew as a worker does: seconds; 0: it failed. */
static double make_near(const struct elf_file *elf, uint64_t vaddr)
{
	CLEANUP(cfi_file_cleanup) struct cfi_file *cfi = NULL;
	struct table_limits limits = patient;
	struct fpl_err err;
	double start_s = now_s();

	limits.synth_near = &vaddr;
	limits.nr_synth_near = 1;
	if (cfi_file_open(elf, NULL, &limits, &cfi, &err) || synth_fill(cfi, elf, &err))
		return 0;
	return now_s() - start_s;
}

static int by_size(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return left < right ? -1 : left > right;
}

/* The median of some places that have rows. */
static double near_s(const struct elf_file *elf, const struct synth_result *result)
{
	double took[PLACES];

	if (!result->nr_rows)
		return 0;
	for (size_t i = 0; i < PLACES; i++)
		took[i] = make_near(elf, result->rows[result->nr_rows * i / PLACES].start);
	qsort(took, PLACES, sizeof(*took), by_size);
	return took[PLACES / 2];
}

static void print_file(const char *path, const struct synth_result *result, double made_s,
		       double decoded_s, double around_s)
{
	const char *slash = strrchr(path, '/');
	uint64_t bytes[SYNTH_REASON_COUNT] = { 0 };
	double all = (double)result->hole_bytes, code;

	for (size_t i = 0; i < result->nr_gaps; i++)
		bytes[result->gaps[i].reason] += result->gaps[i].end - result->gaps[i].start;
	code = all - (double)bytes[SYNTH_REASON_FILLER];
	printf("| %s | %zu | %zu | %zu | %.1f | %zu |", slash ? slash + 1 : path,
	       (size_t)result->hole_bytes, (size_t)bytes[SYNTH_REASON_FILLER],
	       (size_t)result->row_bytes, code > 0 ? 100 * (double)result->row_bytes / code : 0,
	       (size_t)result->guess_bytes);
	for (unsigned reason = 1; reason < SYNTH_REASON_FILLER; reason++)
		printf(" %zu |", (size_t)bytes[reason]);
	printf(" %.1f | %.2f | %.1f | %.1f |\n", all / made_s / 1e6, decoded_s / made_s,
	       made_s * 1e3, around_s * 1e3);
}

static int measure(const char *path, unsigned runs, struct fpl_err *err)
{
	CLEANUP(cleanup_elf) struct elf_file *elf = NULL;
	double best_s = 0, decoded_s = 0;
	int code = elf_file_open_path(path, &elf, err);

	for (unsigned run = 0; run < runs && code == 0; run++) {
		CLEANUP(synth_result_fini) struct synth_result result = { 0 };
		double made_s, once_s;

		code = analyse(elf, &result, &made_s, err);
		if (code)
			break;
		once_s = decode_holes(elf, &result);
		best_s = run == 0 || made_s < best_s ? made_s : best_s;
		decoded_s = run == 0 || once_s < decoded_s ? once_s : decoded_s;
		if (run == runs - 1)
			print_file(path, &result, best_s, decoded_s, near_s(elf, &result));
	}
	return code;
}

int main(int argc, char **argv)
{
	bool has_runs = argc > 2 && strcmp(argv[1], "-r") == 0;
	unsigned runs = has_runs ? (unsigned)strtoul(argv[2], NULL, 10) : 3;
	int first = has_runs ? 3 : 1;
	const char *const *paths = argc > first ? (const char *const *)argv + first : default_files;
	size_t nr = argc > first ? (size_t)(argc - first) : ARRAY_SIZE(default_files);
	int status = 0;

	printf("| file | bytes without FDE | filler | with rows | %% of what is no filler | "
	       "guesses |");
	for (unsigned reason = 1; reason < SYNTH_REASON_FILLER; reason++)
		printf(" %s |", synth_reason_key((enum synth_reason)reason));
	printf(" MB/s | decoding / analysis | all, ms | around one, ms |\n|");
	for (unsigned i = 0; i < 10 + SYNTH_REASON_FILLER - 1; i++)
		printf(" --- |");
	printf("\n");
	for (size_t i = 0; i < nr; i++) {
		struct fpl_err err = { 0 };

		if (paths == default_files && access(paths[i], R_OK))
			continue;
		if (measure(paths[i], runs, &err)) {
			fprintf(stderr, "%s\n", err.msg);
			status = 1;
		}
	}
	return status;
}
