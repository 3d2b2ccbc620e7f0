/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/kernel_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/sorted.h"
#include "naming/kernel_text.h"
#include "symbolize/demangle.h"

#define TEXT_SIZE 1024u /* KSYM_SYMBOL_LEN is less */

/* How names of BPF programs begin; the kernel's "%pS" does not say that they are no code of its
 * own, where /proc/kallsyms has them in a module "bpf". */
#define BPF_PREFIX     "bpf_prog_"
#define BPF_TAG_DIGITS 16u

void kernel_names_fini(struct kernel_names *names)
{
	for (size_t i = 0; i < names->nr; i++) {
		free(names->known[i].name);
		free(names->known[i].module);
	}
	free(names->known);
	kallsyms_destroy(names->kallsyms);
	*names = (struct kernel_names){ .nr = 0 };
}

/* Take a number behind @prefix from *@pos, which is moved behind it. */
static bool take_number(const char **pos, const char *prefix, uint64_t *ret)
{
	size_t length = strlen(prefix);
	char *end;

	if (strncmp(*pos, prefix, length) != 0)
		return false;
	errno = 0;
	*ret = strtoull(*pos + length, &end, 16);
	if (errno || end == *pos + length)
		return false;
	*pos = end;
	return true;
}

static bool is_bpf_program(const char *name)
{
	const char *tag = name + strlen(BPF_PREFIX);

	if (strncmp(name, BPF_PREFIX, strlen(BPF_PREFIX)) != 0 ||
	    strspn(tag, "0123456789abcdef") != BPF_TAG_DIGITS)
		return false;
	return tag[BPF_TAG_DIGITS] == '\0' || tag[BPF_TAG_DIGITS] == '_';
}

/* Read what @text says of @addr. Returns false where that is no name. */
static bool parse(char *text, uint64_t addr, struct kallsyms_match *ret)
{
	char *plus = strrchr(text, '+');
	const char *pos = plus;
	uint64_t off, size;

	if (!plus || plus == text || !take_number(&pos, "+0x", &off) ||
	    !take_number(&pos, "/0x", &size) || off >= size || off > addr ||
	    size - off > UINT64_MAX - addr)
		return false;
	*plus = '\0';
	*ret = (struct kallsyms_match){ .name = text,
					.start = addr - off,
					.end = addr - off + size };
	if (is_bpf_program(text)) {
		ret->module = "bpf";
	} else if (strncmp(pos, " [", 2) == 0) {
		ret->module = pos + 2;
		text[strcspn(pos, "]") + (size_t)(pos - text)] = '\0';
	}
	return true;
}

/* Adds what @match says, before names->known[at]. False: without memory. */
static bool add(struct kernel_names *names, size_t at, const struct kallsyms_match *match)
{
	/* most are plain C; Rust in the kernel is mangled */
	bool is_mangled = match->name && match->name[0] == '_' && !names->no_demangle;
	AUTO_FREE char *name = is_mangled ? demangle_name(match->name) : NULL;
	AUTO_FREE char *module = match->module ? strdup(match->module) : NULL;
	struct kernel_name known = { match->start, match->end, .start = match->start };

	if (!name && match->name)
		name = strdup(match->name);
	if (!name != !match->name || !module != !match->module ||
	    array_reserve(&names->known, sizeof(*names->known), &names->room, names->nr + 1))
		return false;
	/* where code came and went, the last answer may reach into what was told before */
	if (at && known.first < names->known[at - 1].end)
		known.first = names->known[at - 1].end;
	if (at < names->nr && known.end > names->known[at].first)
		known.end = names->known[at].first;
	known.name = TAKE_PTR(name);
	known.module = TAKE_PTR(module);
	memmove(names->known + at + 1, names->known + at, (names->nr - at) * sizeof(*names->known));
	names->known[at] = known;
	names->nr++;
	return true;
}

static bool look_up(struct kernel_names *names, uint64_t addr, struct kallsyms_match *ret)
{
	const char *path = names->path ? names->path : "/proc/kallsyms";
	struct fpl_err err = { 0 };

	if (!names->is_read && kallsyms_read(path, &names->kallsyms, &err))
		fpl_log(FPL_LOG_WARN, "kernel functions have no names: %s", err.msg);
	else if (!names->is_read)
		fpl_log(FPL_LOG_DEBUG, "%s: %zu symbols", path,
			kallsyms_nr_symbols(names->kallsyms));
	names->is_read = true;
	return names->kallsyms && kallsyms_find(names->kallsyms, addr, ret);
}

bool kernel_names_find(struct kernel_names *names, uint64_t addr, struct kallsyms_match *ret)
{
	size_t at = SORTED_UP_TO(names->known, first, names->nr, addr);
	char text[TEXT_SIZE] = "";
	struct kallsyms_match match;

	if (!at || addr >= names->known[at - 1].end) {
		bool is_told =
			names->text && !kernel_text_ask(names->text, addr, text, sizeof(text));

		if (!(is_told ? parse(text, addr, &match) : look_up(names, addr, &match)))
			match = (struct kallsyms_match){ .start = addr, .end = addr + 1 };
		if (!add(names, at, &match))
			return false;
		at++;
	}

	const struct kernel_name *known = &names->known[at - 1];

	*ret = (struct kallsyms_match){
		.name = known->name,
		.module = known->module,
		.start = known->start,
		.end = known->end,
	};
	return known->name;
}

bool kernel_names_is_scheduler(struct kernel_names *names, uint64_t addr)
{
	uint64_t *range = names->scheduler;

	if (!names->is_scheduler_known && names->text &&
	    (kernel_text_find(names->text, "__sched_text_start", &range[0]) ||
	     kernel_text_find(names->text, "__sched_text_end", &range[1])))
		range[0] = range[1] = 0;
	names->is_scheduler_known = true;
	return range[0] <= addr && addr < range[1];
}
