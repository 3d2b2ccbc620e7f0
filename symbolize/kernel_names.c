/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/kernel_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/sorted.h"

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
	*names = (struct kernel_names){ 0 };
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

/* What @text says of @addr. Returns false where that is no name. */
static bool parse(char *text, uint64_t addr, struct kallsyms_match *ret, uint64_t *ret_end)
{
	char *plus = strrchr(text, '+');
	const char *pos = plus;
	uint64_t off, size;

	if (!plus || plus == text || !take_number(&pos, "+0x", &off) ||
	    !take_number(&pos, "/0x", &size) || off >= size || off > addr ||
	    size - off > UINT64_MAX - addr)
		return false;
	*plus = '\0';
	*ret = (struct kallsyms_match){ .name = text, .start = addr - off };
	*ret_end = addr - off + size;
	if (is_bpf_program(text)) {
		ret->module = "bpf";
	} else if (strncmp(pos, " [", 2) == 0) {
		ret->module = pos + 2;
		text[strcspn(pos, "]") + (size_t)(pos - text)] = '\0';
	}
	return true;
}

static int add(struct kernel_names *names, size_t at, const struct kernel_name *range,
	       const struct kallsyms_match *match)
{
	AUTO_FREE char *name = strdup(match->name);
	AUTO_FREE char *module = match->module ? strdup(match->module) : NULL;

	if (!name || (match->module && !module))
		return -ENOMEM;
	if (names->nr == names->room) {
		size_t room = names->room ? 2 * names->room : 256;
		struct kernel_name *grown = reallocarray(names->known, room, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		names->known = grown;
		names->room = room;
	}
	memmove(names->known + at + 1, names->known + at, (names->nr - at) * sizeof(*names->known));
	names->known[at] = *range;
	names->known[at].name = TAKE_PTR(name);
	names->known[at].module = TAKE_PTR(module);
	names->nr++;
	return 0;
}

/* Ask for @addr, which lies before names->known[at] and in none that is known. Returns as
 * kernel_names_find(). */
static int ask(struct kernel_names *names, const struct kernel_name_source *source, uint64_t addr,
	       size_t at)
{
	char text[TEXT_SIZE] = "";
	struct kallsyms_match match;
	uint64_t end;

	int code = source->ask ? source->ask(source->ctx, addr, text, sizeof(text)) : -ENOSYS;

	if (code || !parse(text, addr, &match, &end))
		return code;
	/* where code came and went, the last answer may reach into what was told before */
	struct kernel_name known = { .first = match.start, .end = end, .start = match.start };

	if (at && known.first < names->known[at - 1].end)
		known.first = names->known[at - 1].end;
	if (at < names->nr && known.end > names->known[at].first)
		known.end = names->known[at].first;
	code = add(names, at, &known, &match);
	return code ? code : 1;
}

int kernel_names_find(struct kernel_names *names, const struct kernel_name_source *source,
		      uint64_t addr, struct kallsyms_match *ret)
{
	size_t at = SORTED_UP_TO(names->known, first, names->nr, addr);

	if (!at || addr >= names->known[at - 1].end) {
		int code = ask(names, source, addr, at);

		if (code <= 0)
			return code;
		at++;
	}

	const struct kernel_name *known = &names->known[at - 1];

	*ret = (struct kallsyms_match){
		.name = known->name,
		.module = known->module,
		.start = known->start,
	};
	return 1;
}
