/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <linux/capability.h>
#include <string.h>

#include "doctor/judge.h"
#include "doctor/process_report.h"

static void judge_bits(const struct process_report *report, struct check *check)
{
	if (!report->is_32bit) {
		check_ok(check, "64-bit code");
		return;
	}
	check_fact(check, "a 32-bit program");
	check_fail(check, "its stacks end at the first frame, as compat32");
	check_fix(check, "run the 64-bit build of it");
}

/* Is a run time mapped whose compiled functions are named by their frames? */
static bool names_compiled(const struct process_report *report)
{
	for (size_t i = 0; i < report->nr; i++) {
		if (report->objects[i].found.names_compiled)
			return true;
	}
	return false;
}

static void judge_jit(const struct process_report *report, struct check *check)
{
	if (!report->nr_jit) {
		check_ok(check, "all code is in files");
		return;
	}
	check_fact(check, "%" PRIu64 " KiB of code in %zu mapping%s without a file",
		   report->jit_bytes >> 10, report->nr_jit, report->nr_jit == 1 ? "" : "s");
	if (report->has_jvm) {
		check_ok(check, "HotSpot %s: its code is walked and named as it describes itself",
			 report->jvm);
		return;
	}
	if (report->has_beam) {
		check_ok(check, "Erlang: its code is walked and named as it describes itself");
		return;
	}
	if (names_compiled(report)) {
		check_ok(check, "V8: its code keeps frame pointers, and its frames name functions");
		return;
	}
	if (report->jit_why[0])
		check_fact(check, "%s", report->jit_why);
	check_warn(check, "walked by frame pointers, where it keeps them; %s",
		   report->names_code
			   ? "names are from the perf map or jitdump it writes"
			   : "without names: it writes no perf map or jitdump that may be read");
	check_fix(
		check,
		"where the runtime has an option for frame pointers, use it (java -XX:+PreserveFramePointer; node keeps them)");
}

static void judge_deleted(const struct process_report *report, struct check *check)
{
	if (!report->nr_deleted) {
		check_ok(check, "no file was deleted or replaced");
	} else if (!report->nr_deleted_refused) {
		check_ok(check, "%zu deleted or replaced since, but readable", report->nr_deleted);
	} else {
		check_fact(check, "%zu of %zu deleted or replaced since cannot be read",
			   report->nr_deleted_refused, report->nr_deleted);
		check_warn(check, "code in them has neither table nor names");
		check_fix(
			check,
			"run as root, or with CAP_CHECKPOINT_RESTORE, CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH");
	}
}

static void judge_refused(const struct process_report *report, struct check *check)
{
	if (!report->nr_refused && !report->nr_beyond) {
		check_ok(check, "all %zu can be read", report->nr);
		return;
	}
	check_fact(check, "%zu cannot be read (below)", report->nr_refused + report->nr_beyond);
	check_warn(check, "code in them stays unnamed, and is walked by frame pointers");
	check_fix(
		check,
		"run as root, or with CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH and CAP_CHECKPOINT_RESTORE");
}

static void judge_namespaces(const struct process_report *report, struct check *check)
{
	if (report->other_mnt_ns)
		check_ok(
			check,
			"its own files%s: paths are relative to its root, packages are not looked up",
			report->other_pid_ns ? " and process numbers" : "");
	else if (report->other_pid_ns)
		check_ok(check, "its own process numbers: -p takes the number seen here");
	else
		check_ok(check, "the same as here");
}

static void judge_rights(const struct host *host, struct check *check)
{
	bool admin = host_has_cap(host, CAP_SYS_ADMIN);

	if ((admin || host_has_cap(host, CAP_BPF)) && (admin || host_has_cap(host, CAP_PERFMON))) {
		check_ok(check, "sufficient to load programs and open events");
		return;
	}
	check_fact(check, "insufficient to load programs and open events");
	check_fail(check, "it cannot be profiled");
	check_fix(check, "run as root; `%s doctor' lists alternatives", host->self_path);
}

/* Is a file of @language an interpreter whose scripts' functions can be shown? */
static bool has_script_frames(const struct process_report *report, const struct language *language)
{
	for (size_t i = 0; i < report->nr; i++) {
		struct language own[LANGUAGES_MAX];
		size_t nr = 0;

		if (!report->objects[i].found.has_script_frames)
			continue;
		languages_add(own, &nr, report->objects[i].path);
		if (nr && own[0].row == language->row)
			return true;
	}
	return false;
}

/* Judge the languages of the process, one check each. Returns their number. */
static size_t judge_languages(const struct process_report *report, struct check *ret)
{
	struct language languages[LANGUAGES_MAX];
	size_t nr = 0;

	for (size_t i = 0; i < report->nr; i++)
		languages_add(languages, &nr, report->objects[i].path);
	for (size_t i = 0; i < report->nr_refused; i++)
		languages_add(languages, &nr, report->refused[i].path);
	for (size_t i = 0; i < nr; i++) {
		bool is_shown = has_script_frames(report, &languages[i]);
		char name[LANGUAGE_NAME_MAX];

		ret[i] = (struct check){ .subject = "language" };
		language_name(&languages[i], name, sizeof(name));
		if (report->has_jvm && !strncmp(name, "Java", 4)) {
			check_ok(&ret[i], "Java: stacks show its methods");
			continue;
		}
		if (report->has_beam && !strncmp(name, "Erlang", 6)) {
			check_ok(&ret[i], "Erlang: stacks show its functions");
			continue;
		}
		language_judge(&languages[i], report->pid, report->names_code, is_shown, &ret[i]);
	}
	return nr;
}

size_t process_remarks(const struct process_report *report, const struct host *host,
		       struct check *ret)
{
	static const char *const subjects[] = { "code",	 "run-time code", "deleted files",
						"files", "namespaces",	  "rights" };
	const size_t nr = sizeof(subjects) / sizeof(subjects[0]);

	_Static_assert(sizeof(subjects) / sizeof(subjects[0]) + LANGUAGES_MAX <=
			       PROCESS_REMARKS_MAX,
		       "room");
	for (size_t i = 0; i < nr; i++)
		ret[i] = (struct check){ .subject = subjects[i] };
	judge_bits(report, &ret[0]);
	judge_jit(report, &ret[1]);
	judge_deleted(report, &ret[2]);
	judge_refused(report, &ret[3]);
	judge_namespaces(report, &ret[4]);
	judge_rights(host, &ret[5]);
	return nr + judge_languages(report, ret + nr);
}
