/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/object_report.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "obj/debug_file.h"
#include "obj/mini_debug.h"
#include "symbolize/symtab.h"

/* What is open while an object is examined. */
struct examination {
	const struct elf_file *elf;
	struct elf_file *debug, *mini; /* NULL: none */
	struct symtab *tab;	       /* NULL: no symbols */
};

static void cleanup_examination(struct examination *e)
{
	symtab_destroy(e->tab);
	elf_file_close(e->mini);
	elf_file_close(e->debug);
}

static void cleanup_table(struct table **table)
{
	table_destroy(*table);
}

void object_report_fini(struct object_report *report)
{
	if (report->measured)
		coverage_fini(&report->coverage);
	free(report->path);
	free(report->debug_path);
	*report = (struct object_report){ .path = NULL };
}

static bool has_section_of(const struct elf_file *elf, uint32_t type)
{
	for (size_t i = 1; i < elf->nr_sections; i++) {
		if (elf->sections[i].type == type && elf->sections[i].size > 0)
			return true;
	}
	return false;
}

static bool has_info(const struct elf_file *elf)
{
	static const char *const names[] = { ".debug_info", ".zdebug_info" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct elf_section *section = elf_file_section(elf, names[i]);

		if (section && section->type != SHT_NOBITS && section->size > 0)
			return true;
	}
	return false;
}

static int read_symbols(struct examination *e, const char *path, struct object_report *report)
{
	const struct elf_file *others[2];
	size_t nr_others = 0;
	int code = 0;

	/* as the symbolizer does: the vDSO has no debug file */
	if (e->elf->fd >= 0)
		code = debug_file_open(e->elf, path, NULL, &e->debug, NULL);
	if (code == -ENOMEM)
		return code;
	if (e->debug)
		others[nr_others++] = e->debug;
	code = mini_debug_open(e->elf, &e->mini, NULL);
	if (code == -ENOMEM)
		return code;
	if (e->mini)
		others[nr_others++] = e->mini;
	code = symtab_create(e->elf, others, nr_others, &e->tab, NULL);
	if (code == -ENOMEM)
		return code;

	report->has_symtab = has_section_of(e->elf, SHT_SYMTAB);
	report->has_dynsym = has_section_of(e->elf, SHT_DYNSYM);
	report->has_mini_debug = e->mini != NULL;
	report->has_debug_symtab = e->debug && has_section_of(e->debug, SHT_SYMTAB);
	report->nr_symbols = e->tab ? symtab_nr_symbols(e->tab) : 0;
	report->has_debug_info = has_info(e->elf);
	if (!e->debug)
		return 0;
	report->debug_has_info = has_info(e->debug);
	report->debug_path = strdup(e->debug->name);
	return report->debug_path ? 0 : -ENOMEM;
}

/* The message without the name it begins with: the report has it already. */
static void say_problem(struct object_report *report, const struct elf_file *elf,
			const struct fpl_err *err)
{
	size_t length = strlen(elf->name);
	const char *msg = err->msg;

	if (strncmp(msg, elf->name, length) == 0 && strncmp(msg + length, ": ", 2) == 0)
		msg += length + 2;
	snprintf(report->problem, sizeof(report->problem), "%s", msg);
}

static int read_table(const struct examination *e, struct object_report *report)
{
	CLEANUP(cleanup_table) struct table *table = NULL;
	struct fpl_err err = { 0 };
	int code = table_compile(e->elf, e->debug, &table_limits_default, &table, &err);

	if (code == -ENOMEM)
		return code;
	report->has_table = code == 0;
	if (code == 0)
		report->stats = table->stats;
	else
		say_problem(report, e->elf, &err);
	if (code && code != -ENODATA)
		return 0; /* what cannot be decoded cannot be measured */
	code = coverage_measure(e->elf, e->debug, e->tab, &report->coverage, &err);
	report->measured = code == 0;
	if (code)
		coverage_fini(&report->coverage);
	if (code && !report->problem[0])
		say_problem(report, e->elf, &err);
	return code == -ENOMEM ? code : 0;
}

int object_report_make(const struct elf_file *elf, const char *path, struct object_report *ret,
		       struct fpl_err *err)
{
	CLEANUP(cleanup_examination) struct examination e = { .elf = elf };
	int code;

	*ret = (struct object_report){ .path = strdup(path) };
	for (size_t i = 0; i < elf->build_id_size; i++)
		snprintf(ret->build_id + 2 * i, 3, "%02x", elf->build_id[i]);
	code = ret->path ? read_symbols(&e, path, ret) : -ENOMEM;
	if (!code)
		code = read_table(&e, ret);
	return code ? fpl_fail(err, code, "%s: out of memory", path) : 0;
}

bool object_report_lacks_debug(const struct object_report *report)
{
	return !report->has_debug_info && !report->debug_has_info;
}

double object_report_percent(const struct object_report *report)
{
	uint64_t code = report->coverage.covered_bytes + report->coverage.bare_bytes;

	/* rounded down: 100.00 is for all of it. Code is below 2^40 bytes where CFI was read */
	return code ? (double)(report->coverage.covered_bytes * 10000 / code) / 100.0 : 100.0;
}

/* The path to ask dpkg for: without symlinks. NULL: none (an anonymous or deleted file). */
static char *real_path_of(const struct object_report *report)
{
	return report->path[0] == '[' || report->deleted ? NULL : realpath(report->path, NULL);
}

struct package_work {
	struct package_query *queries; /* owned [nr]: two per report, file and debug file */
	struct package **debugs;       /* owned [nr_reports] */
	char **paths;		       /* owned [nr_reports]: real paths */
	size_t nr_reports;
};

static void cleanup_work(struct package_work *work)
{
	for (size_t i = 0; work->paths && i < work->nr_reports; i++)
		free(work->paths[i]);
	free(work->paths);
	free(work->debugs);
	free(work->queries);
}

/* Who owns the debug file that is there; else who would bring it. */
static void name_debug_packages(struct package_work *work, struct object_report *reports)
{
	for (size_t i = 0; i < work->nr_reports; i++) {
		const struct package *holder = &work->queries[2 * i + 1].owner;

		reports[i].package = work->queries[2 * i].owner;
		if (holder->name[0])
			reports[i].debug_package = *holder;
		else if (!reports[i].debug_path && !reports[i].has_debug_info)
			package_debug_name(&reports[i].package, &reports[i].debug_package);
		work->debugs[i] = &reports[i].debug_package;
	}
}

int object_reports_packages(const char *root, const struct host *host,
			    struct object_report *reports, size_t nr, struct fpl_err *err)
{
	CLEANUP(cleanup_work)
	struct package_work work = {
		.queries = calloc(2 * nr + 1, sizeof(*work.queries)),
		.debugs = calloc(nr + 1, sizeof(*work.debugs)),
		.paths = calloc(nr + 1, sizeof(*work.paths)),
		.nr_reports = nr,
	};

	if (!work.queries || !work.debugs || !work.paths)
		return fpl_fail(err, -ENOMEM, "packages: out of memory");
	for (size_t i = 0; i < nr; i++) {
		work.paths[i] = real_path_of(&reports[i]);
		work.queries[2 * i].path = work.paths[i] ? work.paths[i] : "";
		work.queries[2 * i + 1].path = reports[i].debug_path ? reports[i].debug_path : "";
	}

	int code = packages_find(root, work.queries, 2 * nr, err);

	if (code == -ENOMEM)
		return code;
	name_debug_packages(&work, reports);
	code = packages_status(root, work.debugs, nr, err);
	if (code == -ENOMEM)
		return code;
	for (size_t i = 0; i < nr; i++) {
		struct object_report *report = &reports[i];

		/* installed, but of another version: it holds other build-ids */
		if (object_report_lacks_debug(report) && report->path[0] != '[' && !report->deleted)
			package_debug_hint(host, &report->debug_package, report->path,
					   report->build_id, report->hint, sizeof(report->hint));
	}
	return 0;
}
