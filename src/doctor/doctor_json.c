/* SPDX-License-Identifier: Apache-2.0 */
/* The findings of doctor as JSON; fpless-formats(5) lists the keys. */
#include "doctor/doctor_report.h"
#include "view/json.h"

static void put_check(struct json *json, const struct check *check)
{
	json_open(json, NULL, '{');
	json_string(json, "subject", check->subject);
	json_string(json, "verdict", check_verdict_text(check->verdict));
	json_string(json, "fact", check->fact);
	json_string(json, "cost", check->cost);
	json_string(json, "fix", check->fix);
	json_close(json, '}');
}

static void put_checks(struct json *json, const struct check *checks, size_t nr)
{
	json_open(json, "checks", '[');
	for (size_t i = 0; i < nr; i++)
		put_check(json, &checks[i]);
	json_close(json, ']');
}

static void put_trial(struct json *json, const struct trial *trial)
{
	json_open(json, "trial", '{');
	if (trial->code) {
		json_string(json, "error", trial->said);
	} else {
		json_string(json, "event", trial->event);
		json_number(json, "hz", trial->hz);
		json_number(json, "samples", trial->nr_samples);
		json_number(json, "complete", trial->nr_complete);
		json_number(json, "startup_ms", trial->startup_ms);
	}
	json_close(json, '}');
}

void doctor_json_checkup(FILE *to, const struct checkup *checkup, const struct trial *trial)
{
	struct json json = { .to = to };

	json_open(&json, NULL, '{');
	json_number(&json, "format", 1);
	json_string(&json, "subject", "system");
	json_bool(&json, "can_run", checkup->can_run);
	json_string(&json, "summary", checkup->summary);
	put_checks(&json, checkup->checks, checkup->nr);
	put_trial(&json, trial);
	json_close(&json, '}');
	putc('\n', to);
}

static void put_string_or_null(struct json *json, const char *key, const char *text)
{
	if (text && text[0])
		json_string(json, key, text);
	else
		json_null(json, key);
}

static void put_table(struct json *json, const struct object_report *object)
{
	const struct table_stats *stats = &object->found.stats;

	if (!object->found.has_table) {
		json_null(json, "table");
		json_string(json, "problem", object->found.problem);
		return;
	}
	json_open(json, "table", '{');
	json_number(json, "rows", stats->rows);
	json_number(json, "rules", stats->rules);
	json_number(json, "bytes", stats->image_bytes);
	json_number(json, "rows_expr", stats->rows_expr);
	json_number(json, "fdes", stats->fdes);
	json_number(json, "fdes_bad", stats->fdes_bad);
	json_number(json, "judged_bytes", stats->judged_bytes);
	json_bool(json, "synth_refused", stats->synth_refused != 0);
	json_close(json, '}');
}

static void put_coverage(struct json *json, const struct object_report *object)
{
	static const char *const sources[CFI_SOURCE_COUNT] = {
		[CFI_SOURCE_EH_FRAME] = "eh_frame",
		[CFI_SOURCE_GO] = "go_pclntab",
		[CFI_SOURCE_DEBUG_FRAME] = "debug_frame",
		[CFI_SOURCE_DEBUG_FILE] = "debug_file",
		[CFI_SOURCE_SYNTH] = "synth",
	};
	const struct coverage *coverage = &object->found.coverage;

	if (!object->found.measured) {
		json_null(json, "coverage");
		return;
	}
	json_open(json, "coverage", '{');
	json_number(json, "code_bytes", coverage->code_bytes);
	json_number(json, "covered_bytes", coverage->covered_bytes);
	json_number(json, "padding_bytes", coverage->padding_bytes);
	json_number(json, "bare_bytes", coverage->bare_bytes);
	json_number(json, "expr_bytes", coverage->expr_bytes);
	json_open(json, "covered_by", '{');
	for (size_t i = 0; i < CFI_SOURCE_COUNT; i++)
		json_number(json, sources[i], coverage->source_bytes[i]);
	json_close(json, '}');
	json_number(json, "functions", coverage->nr_functions);
	json_number(json, "functions_bare", coverage->nr_bare);
	json_open(json, "largest_bare", '[');
	for (size_t i = 0; i < coverage->nr_largest; i++) {
		json_open(json, NULL, '{');
		put_string_or_null(json, "symbol", coverage->largest[i].name);
		json_address(json, "vaddr", coverage->largest[i].vaddr);
		json_number(json, "bytes", coverage->largest[i].size);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_close(json, '}');
}

static void put_package(struct json *json, const char *key, const struct package *package)
{
	if (!package->name[0]) {
		json_null(json, key);
		return;
	}
	json_open(json, key, '{');
	json_string(json, "name", package->name);
	put_string_or_null(json, "version", package->version);
	json_bool(json, "installed", package->installed);
	json_close(json, '}');
}

/* The members of one object. */
static void put_object(struct json *json, const struct object_report *object)
{
	json_string(json, "object", object->path);
	put_string_or_null(json, "build_id", object->found.build_id);
	put_table(json, object);
	put_coverage(json, object);
	json_open(json, "symbols", '{');
	json_number(json, "code", object->found.nr_symbols);
	json_bool(json, "symtab", object->found.has_symtab);
	json_bool(json, "dynsym", object->found.has_dynsym);
	json_bool(json, "gnu_debugdata", object->found.has_mini_debug);
	json_bool(json, "pclntab", object->found.has_go_names);
	json_bool(json, "debug_file", object->found.has_debug_symtab);
	json_close(json, '}');
	json_open(json, "debug_info", '{');
	json_bool(json, "in_file", object->found.has_debug_info);
	put_string_or_null(json, "debug_file", object->debug_path);
	json_bool(json, "in_debug_file", object->found.debug_has_info);
	json_close(json, '}');
	put_package(json, "package", &object->package);
	put_package(json, "debug_package", &object->debug_package);
	put_string_or_null(json, "hint", object->hint);
}

void doctor_json_object(FILE *to, const struct object_report *object)
{
	struct json json = { .to = to };

	json_open(&json, NULL, '{');
	json_number(&json, "format", 1);
	json_string(&json, "subject", "file");
	put_object(&json, object);
	json_close(&json, '}');
	putc('\n', to);
}

void doctor_json_process(FILE *to, const struct process_report *process,
			 const struct check *remarks, size_t nr_remarks)
{
	struct json json = { .to = to };

	json_open(&json, NULL, '{');
	json_number(&json, "format", 1);
	json_string(&json, "subject", "process");
	json_number(&json, "pid", (uint64_t)process->pid);
	json_string(&json, "comm", process->comm);
	put_checks(&json, remarks, nr_remarks);
	json_number(&json, "runtime_code_bytes", process->jit_bytes);
	json_open(&json, "objects", '[');
	for (size_t i = 0; i < process->nr; i++) {
		json_open(&json, NULL, '{');
		put_object(&json, &process->objects[i]);
		json_bool(&json, "deleted", process->objects[i].deleted);
		json_close(&json, '}');
	}
	json_close(&json, ']');
	json_open(&json, "refused", '[');
	for (size_t i = 0; i < process->nr_refused; i++) {
		json_open(&json, NULL, '{');
		json_string(&json, "object", process->refused[i].path);
		json_string(&json, "error", process->refused[i].why);
		json_close(&json, '}');
	}
	json_close(&json, ']');
	json_number(&json, "not_examined", process->nr_beyond);
	json_close(&json, '}');
	putc('\n', to);
}
