/* SPDX-License-Identifier: Apache-2.0 */
/* fpless verify: the compact tables of files, judged by libdw's CFI interpreter, or by stepping. */
#include <argp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/file_guard.h"
#include "cli/elf_input.h"
#include "cli/live_options.h"
#include "cli/verbs.h"
#include "cli/parse.h"
#include "verify/file_list.h"
#include "verify/verify_file.h"
#include "verify/verify_pool.h"

enum { WORKERS_MAX = 256, DEFAULT_TIMEOUT_S = 10 };

struct options {
	struct file_list files;
	unsigned int nr_workers;
	uint64_t timeout_ns;
	bool verbose;
	bool of_files; /* an option was given that only files have */
	struct live_cli live;
};

/* Counts over all files. */
struct totals {
	struct report sum;
	size_t nr_judged, nr_no_cfi, nr_skipped, nr_refused, nr_failed, nr_disagreeing;
	size_t nr_named_skipped; /* of them, those that are arguments */
};

static const struct argp_option argp_options[] = {
	{ "jobs", 'j', "N", 0, "Judge N files side by side (one per CPU)", 0 },
	{ "timeout", 't', "SECONDS", 0, "Time limit for a file (default 10)", 0 },
	{ "verbose", 'v', NULL, 0, "Also list files without findings", 0 },
	{ 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;
	struct fpl_err err = { 0 };
	uint64_t number;

	switch (key) {
	case 'j':
		if (!parse_number(arg, 1, WORKERS_MAX, &number))
			argp_failure(state, CLI_EXIT_USAGE, 0,
				     "-j %s: expected a number from 1 to %d", arg, WORKERS_MAX);
		options->nr_workers = (unsigned int)number;
		options->of_files = true;
		return 0;
	case 't':
		if (!parse_seconds(arg, &number))
			argp_failure(state, CLI_EXIT_USAGE, 0, "-t %s: expected seconds above 0",
				     arg);
		options->timeout_ns = number * 1000000;
		options->of_files = true;
		return 0;
	case 'v':
		options->verbose = options->live.verbose = true;
		return 0;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &options->live;
		return 0;
	case ARGP_KEY_ARG:
		if (options->live.live) {
			live_cli_word(&options->live, arg, state);
			return 0;
		}
		file_guard((const char *const *)&arg, 1);
		if (file_list_add(&options->files, arg, &err) != 0) {
			fpl_log(FPL_LOG_ERROR, "%s", err.msg);
			exit(CLI_EXIT_CANNOT_RUN);
		}
		return 0;
	case ARGP_KEY_NO_ARGS:
		if (!options->live.live)
			argp_failure(state, CLI_EXIT_USAGE, 0, "no FILE to judge: see --help");
		return 0;
	case ARGP_KEY_END:
		live_cli_check(&options->live, state);
		if (options->live.live && (options->of_files || options->files.nr))
			argp_failure(
				state, CLI_EXIT_USAGE, 0,
				"--live: expected before PID or --, and without files, -j and -t");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = { { .argp = &live_argp }, { 0 } };

const struct argp verify_argp = {
	.options = argp_options,
	.parser = parse_option,
	.children = children,
	.args_doc = "FILE...\n--live PID\n--live -- COMMAND [ARG...]",
	.doc = "Compare the unwind table fpless makes of each FILE with libdw's CFI interpreter on the same file, at every row boundary of every FDE and inside every row: CFA, return "
	       "address and callee-saved registers. A folder stands for every ELF file below it. With --live a process is judged while it runs, rows made from code included.\v"
	       "Exit status: 0 no disagreement, 1 usage, 2 a file or process could not be judged, 3 --live: the process is gone or no requested code was judged, "
	       "5 a disagreement, 6 output could not be written.",
};

static void print_counts(const struct report *report)
{
	for (unsigned int i = 0; i < VERDICT_COUNT; i++) {
		if (report->nr[i] != 0 && i != VERDICT_AGREE && i != VERDICT_NONE)
			printf("    %" PRIu64 " %s%s\n", report->nr[i],
			       verdict_is_bad(i) ? "DISAGREE: " : "", verdict_text(i));
	}
}

static void print_summary(const struct report *report)
{
	printf("%" PRIu64 " FDEs, %" PRIu64 " rows, %" PRIu64 " pcs, %" PRIu64
	       " agreements, %" PRIu64 " disagreements, %.2f s CPU\n",
	       report->fdes, report->rows, report->pcs,
	       report->nr[VERDICT_AGREE] + report->nr[VERDICT_NONE], report_disagreements(report),
	       (double)report->cpu_ns / 1e9);
}

static void print_differences(const struct report *report)
{
	for (uint32_t i = 0; i < report->nr_first; i++) {
		const struct report_difference *difference = &report->first[i];

		printf("    0x%" PRIx64 " %s", difference->vaddr,
		       verdict_text(difference->verdict));
		if (difference->verdict == VERDICT_REG)
			printf(" (DWARF register %u)", difference->reg);
		printf("\n        table: %s\n        libdw: %s\n", difference->table,
		       difference->libdw);
	}
}

static void print_report(const char *path, const struct report *report)
{
	char safe[4096];

	text_escape(safe, sizeof(safe), path, "");
	switch (report->status) {
	case REPORT_DONE:
		printf("%s: ", safe);
		print_summary(report);
		print_counts(report);
		print_differences(report);
		break;
	case REPORT_SKIPPED:
		printf("%s: skipped: not an ELF64 x86-64 program or library\n", safe);
		break;
	default: /* the message begins with the path */
		text_escape(safe, sizeof(safe), report->message, "");
		printf("%s\n", safe);
		break;
	}
}

static void count_report(struct totals *totals, const struct report *report)
{
	report_add(&totals->sum, report);
	switch (report->status) {
	case REPORT_DONE:
		totals->nr_judged++;
		break;
	case REPORT_NO_CFI:
		totals->nr_no_cfi++;
		break;
	case REPORT_SKIPPED:
		totals->nr_skipped++;
		break;
	case REPORT_REFUSED:
		totals->nr_refused++;
		break;
	default:
		totals->nr_failed++;
		break;
	}
	if (report_disagreements(report) != 0)
		totals->nr_disagreeing++;
}

static void print_totals(const struct totals *totals)
{
	printf("total: %zu files judged, %zu without CFI, %zu skipped, %zu refused by the table's compiler, %zu could not be judged, %zu with disagreements\n"
	       "total: ",
	       totals->nr_judged, totals->nr_no_cfi, totals->nr_skipped, totals->nr_refused,
	       totals->nr_failed, totals->nr_disagreeing);
	print_summary(&totals->sum);
	print_counts(&totals->sum);
}

/* Files found in a folder are listed only if they have something to report. */
static bool is_worth_a_line(const struct options *options, const struct listed_file *file,
			    const struct report *report)
{
	if (options->verbose || !file->from_folder)
		return true;
	return report->status == REPORT_FAILED || report->status == REPORT_REFUSED ||
	       report_disagreements(report) != 0;
}

static int by_path(const void *a, const void *b)
{
	const struct verify_job *x = a, *y = b;

	return strcmp(x->path, y->path);
}

struct printer {
	const struct options *options;
	struct verify_job *jobs;
	struct totals totals;
};

static void job_done(struct verify_job *job, void *ctx)
{
	struct printer *printer = ctx;
	const struct listed_file *file = &printer->options->files.files[job - printer->jobs];

	count_report(&printer->totals, job->report);
	if (job->report->status == REPORT_SKIPPED && !file->from_folder)
		printer->totals.nr_named_skipped++;
	if (is_worth_a_line(printer->options, file, job->report))
		return;
	free(job->report); /* nothing to print later */
	job->report = NULL;
}

static int exit_code(const struct totals *totals)
{
	if (fflush(stdout) != 0 || ferror(stdout))
		return CLI_EXIT_OUTPUT;
	if (totals->nr_disagreeing != 0)
		return CLI_EXIT_DISAGREEMENT;
	return totals->nr_failed || totals->nr_named_skipped ? CLI_EXIT_CANNOT_RUN : CLI_EXIT_OK;
}

/* Judge one file in a process of its own. */
static void judge(const char *path, struct report *ret)
{
	struct elf_input input;
	struct fpl_err err = { 0 };

	if (elf_input_open(path, PARSER_FORK, &input, &err) || elf_input_give_up_rights(&err))
		verify_refuse(&err, ret);
	else
		verify_file(path, TAKE_FD(input.fd), TAKE_FD(input.debug_fd), ret);
	elf_input_close(&input);
}

static int run(const struct options *options)
{
	size_t nr = options->files.nr;
	AUTO_FREE struct verify_job *jobs = calloc(nr + 1, sizeof(*jobs));
	struct printer printer = { .options = options, .jobs = jobs };
	const struct verify_pool_options pool = {
		.nr_workers = options->nr_workers,
		.timeout_ns = options->timeout_ns,
		.judge = judge,
		.done = job_done,
		.ctx = &printer,
	};
	struct fpl_err err = { 0 };
	int rc;

	if (jobs == NULL) {
		fpl_log(FPL_LOG_ERROR, "verify: no memory");
		return CLI_EXIT_CANNOT_RUN;
	}
	for (size_t i = 0; i < nr; i++)
		jobs[i].path = options->files.files[i].path;
	rc = verify_pool_run(jobs, nr, &pool, &err);
	qsort(jobs, nr, sizeof(*jobs), by_path);
	for (size_t i = 0; i < nr; i++) {
		if (jobs[i].report != NULL)
			print_report(jobs[i].path, jobs[i].report);
		free(jobs[i].report);
	}
	if (rc != 0) {
		fpl_log(FPL_LOG_ERROR, "%s", err.msg);
		return CLI_EXIT_CANNOT_RUN;
	}
	if (nr != 1 || options->files.files[0].from_folder)
		print_totals(&printer.totals);
	return exit_code(&printer.totals);
}

int cmd_verify(int argc, char **argv)
{
	long nr_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct options options = {
		.nr_workers = nr_cpus > 0 && nr_cpus < WORKERS_MAX ? (unsigned int)nr_cpus : 1,
		.timeout_ns = DEFAULT_TIMEOUT_S * 1000000000ull,
	};
	int rc;

	if (argp_parse(&verify_argp, argc, argv, ARGP_IN_ORDER, NULL, &options) != 0)
		return CLI_EXIT_USAGE;
	if (options.live.live)
		return live_cli_run(&options.live);
	file_list_sort_by_size(&options.files);
	rc = run(&options);
	file_list_fini(&options.files);
	return rc;
}
