/* SPDX-License-Identifier: Apache-2.0 */
#include "parse/worker_go.h"

#include <errno.h>

#include "symbolize/symtab_build.h"

int worker_go_open(const struct elf_file *elf, struct go_lines **lines, struct fpl_err *err)
{
	struct budget budget;

	if (*lines)
		return 0;
	budget_init(&budget, elf->name, &table_limits_default);

	int code = go_lines_open(elf, &budget, lines, err);

	return code == -ENODATA ? -ENOENT : code;
}

static int add_all(const struct elf_file *elf, const struct go_functions *functions,
		   struct symtab *tab)
{
	const struct go_table *table = &functions->table;

	if (table->names_off >= table->units_off || table->units_off > table->size)
		return 0;

	int source = symtab_add_names(tab, elf, table->file_off + table->names_off,
				      table->units_off - table->names_off);
	int code = source < 0 ? source : 0;

	for (size_t i = 0; !code && i < functions->nr; i++) {
		const struct go_function *function = &functions->list[i];

		code = symtab_add_function(tab, source, function->start,
					   function->end - function->start,
					   go_lines_name(functions, function));
	}
	return code ? code : symtab_arrange(tab);
}

int worker_go_names(const struct elf_file *elf, struct go_lines **lines, struct symtab *tab)
{
	if (elf_file_section(elf, ".symtab"))
		return 0;

	int code = worker_go_open(elf, lines, NULL);

	if (!code)
		code = add_all(elf, go_lines_functions(*lines), tab);
	return code == -ENOMEM ? code : 0;
}
