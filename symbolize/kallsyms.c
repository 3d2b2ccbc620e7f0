/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/kallsyms.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/sorted.h"
#include "base/vector.h"
#include "symbolize/name_rule.h"

#define MODULES_MAX 4096u
#define LINE_SIZE   1024u /* KSYM_NAME_LEN is 512 */
#define PAGE	    4096u

struct kernel_symbol {
	uint64_t addr;
	uint32_t name_off;
	uint16_t module; /* index; 0 the kernel itself */
	uint8_t binding; /* enum name_binding */
	uint8_t _pad;
};

struct kallsyms {
	VECTOR(struct kernel_symbol); /* ascending addr, one per address */
	VECTOR(char) names;	      /* NUL-terminated, one behind the other */
	char **modules;		      /* owned [nr_modules]; [0] is NULL */
	size_t nr_modules;
};

struct kernel_line {
	uint64_t addr;
	char type;
	char *name, *module; /* in the line; module NULL for the kernel itself */
};

static void cleanup_file(FILE **file)
{
	if (*file)
		fclose(*file);
}

static void cleanup_kallsyms(struct kallsyms **syms)
{
	kallsyms_destroy(*syms);
}

void kallsyms_destroy(struct kallsyms *syms)
{
	if (!syms)
		return;
	for (size_t i = 0; i < syms->nr_modules; i++)
		free(syms->modules[i]);
	free(syms->modules);
	vector_fini(syms);
	vector_fini(&syms->names);
	free(syms);
}

size_t kallsyms_nr_symbols(const struct kallsyms *syms)
{
	return syms->nr;
}

static bool parse_line(char *line, struct kernel_line *ret)
{
	char *pos;

	errno = 0;
	ret->addr = strtoull(line, &pos, 16);
	if (errno || pos == line || pos[0] != ' ' || !pos[1] || pos[2] != ' ')
		return false;
	ret->type = pos[1];
	ret->name = pos + 3;
	ret->module = NULL;
	pos = ret->name + strcspn(ret->name, "\t\n");
	if (*pos == '\t' && pos[1] == '[') {
		ret->module = pos + 2;
		ret->module[strcspn(ret->module, "]\n")] = '\0';
	}
	*pos = '\0';
	return ret->name[0] != '\0';
}

/* The index of module @name; the kernel lists a module's symbols together, so the last is tried. */
static int module_index(struct kallsyms *syms, const char *name, uint16_t *ret)
{
	size_t nr = syms->nr_modules;

	if (!name) {
		*ret = 0;
		return 0;
	}
	for (size_t i = nr; i-- > 1;) {
		if (strcmp(syms->modules[i], name) == 0) {
			*ret = (uint16_t)i;
			return 0;
		}
	}
	if (nr >= MODULES_MAX)
		return -EFBIG;
	syms->modules[nr] = strdup(name);
	if (!syms->modules[nr])
		return -ENOMEM;
	syms->nr_modules++;
	*ret = (uint16_t)nr;
	return 0;
}

/* Store @name; *ret is its offset. */
static int add_name(struct kallsyms *syms, const char *name, uint32_t *ret)
{
	size_t size = strlen(name) + 1;

	if (syms->names.nr > UINT32_MAX - size)
		return -EFBIG;
	if (vector_reserve(&syms->names, syms->names.nr + size))
		return -ENOMEM;
	memcpy(syms->names.list + syms->names.nr, name, size);
	*ret = (uint32_t)syms->names.nr;
	syms->names.nr += size;
	return 0;
}

static int add_symbol(struct kallsyms *syms, const struct kernel_line *line)
{
	struct kernel_symbol symbol = { .addr = line->addr };
	int rc;

	if (syms->nr >= KALLSYMS_SYMBOLS_MAX)
		return -EFBIG;
	symbol.binding = line->type == 'T'			  ? NAME_GLOBAL
			 : line->type == 'W' || line->type == 'w' ? NAME_WEAK
								  : NAME_LOCAL;
	rc = module_index(syms, line->module, &symbol.module);
	if (!rc)
		rc = add_name(syms, line->name, &symbol.name_off);
	return rc ? rc : vector_push(syms, symbol);
}

static int read_lines(struct kallsyms *syms, FILE *file, const char *path, struct fpl_err *err)
{
	char line[LINE_SIZE];
	size_t nr_zero = 0;

	while (fgets(line, sizeof(line), file)) {
		struct kernel_line parsed;
		int rc;

		if (!parse_line(line, &parsed) || !strchr("tTwW", parsed.type))
			continue;
		if (parsed.addr == 0) {
			nr_zero++;
			continue;
		}
		rc = add_symbol(syms, &parsed);
		if (rc == -EFBIG) /* what is there is still of use */
			break;
		if (rc)
			return fpl_fail(err, rc, "%s: out of memory", path);
	}
	if (ferror(file))
		return fpl_fail(err, -EIO, "%s: read error", path);
	if (syms->nr == 0 && nr_zero)
		return fpl_fail(err, -EPERM,
				"%s: the kernel hides its addresses: run as root or with "
				"CAP_SYSLOG, and with sysctl kernel.kptr_restrict at most 1",
				path);
	if (syms->nr == 0)
		return fpl_fail(err, -EINVAL, "%s: no symbols in it", path);
	return 0;
}

static int compare_addrs(const void *left, const void *right)
{
	const struct kernel_symbol *a = left, *b = right;

	return a->addr < b->addr ? -1 : a->addr > b->addr;
}

/* Sort, and keep of each address the name to show. */
static void arrange(struct kallsyms *syms)
{
	size_t kept = 0;

	qsort(syms->list, syms->nr, sizeof(*syms->list), compare_addrs);
	for (size_t i = 0; i < syms->nr; i++) {
		struct kernel_symbol *last = kept ? &syms->list[kept - 1] : NULL;
		const struct kernel_symbol *symbol = &syms->list[i];

		if (last && last->addr == symbol->addr) {
			const struct name_candidate old = {
				.text = syms->names.list + last->name_off,
				.binding = (enum name_binding)last->binding,
			};
			const struct name_candidate fresh = {
				.text = syms->names.list + symbol->name_off,
				.binding = (enum name_binding)symbol->binding,
			};

			if (name_rule_compare(&fresh, &old) < 0)
				*last = *symbol;
			continue;
		}
		syms->list[kept++] = *symbol;
	}
	syms->nr = kept;
}

int kallsyms_read(const char *path, struct kallsyms **ret, struct fpl_err *err)
{
	CLEANUP(cleanup_kallsyms) struct kallsyms *syms = calloc(1, sizeof(*syms));
	CLEANUP(cleanup_file) FILE *file = fopen(path, "re");
	int rc;

	if (!file) {
		rc = -errno;
		return fpl_fail(err, rc, "%s: %s", path, strerror(-rc));
	}
	if (!syms || !(syms->modules = calloc(MODULES_MAX, sizeof(*syms->modules))))
		return fpl_fail(err, -ENOMEM, "%s: out of memory", path);
	syms->nr_modules = 1;
	rc = read_lines(syms, file, path, err);
	if (rc)
		return rc;
	arrange(syms);
	*ret = TAKE_PTR(syms);
	return 0;
}

bool kallsyms_find(const struct kallsyms *syms, uint64_t addr, struct kallsyms_match *ret)
{
	size_t lo = SORTED_UP_TO(syms->list, addr, syms->nr, addr);

	if (lo == 0)
		return false;
	const struct kernel_symbol *symbol = &syms->list[lo - 1];
	uint64_t size = lo < syms->nr ? symbol[1].addr - symbol->addr : UINT64_MAX;
	bool bounded = lo < syms->nr && symbol[1].module == symbol->module;

	if (!bounded && size > 2 * PAGE - symbol->addr % PAGE)
		size = 2 * PAGE - symbol->addr % PAGE;
	if (addr - symbol->addr >= size)
		return false;
	*ret = (struct kallsyms_match){
		.name = syms->names.list + symbol->name_off,
		.module = syms->modules[symbol->module],
		.start = symbol->addr,
		.end = symbol->addr + size,
	};
	return true;
}
