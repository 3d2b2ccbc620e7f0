/* SPDX-License-Identifier: Apache-2.0 */
#include "parse/worker_go.h"

#include <errno.h>

#include "base/cleanup.h"
#include "symbolize/symtab_build.h"
#include "unwind/go_pclntab.h"

static int add_all(struct symtab *tab, const struct elf_file *elf,
		   const struct go_functions *functions)
{
	const struct go_table *table = &functions->table;
	int source = symtab_add_names(tab, elf, table->file_off + table->names_off,
				      table->units_off - table->names_off);
	int code = source < 0 ? source : 0;

	for (size_t i = 0; !code && i < functions->nr; i++) {
		const struct go_function *function = &functions->list[i];

		code = symtab_add_function(
			tab, source, function->start, function->end - function->start,
			go_table_u32(table,
				     table->functions_off + function->record + GO_RECORD_NAME));
	}
	return code ? code : symtab_arrange(tab);
}

int worker_go_names(struct symtab *tab, const struct elf_file *elf)
{
	CLEANUP(go_functions_fini) struct go_functions functions = { .nr = 0 };
	struct budget budget;

	if (elf_file_section(elf, ".symtab"))
		return 0;
	budget_init(&budget, elf->name, &table_limits_default);

	int code = go_functions_list(elf, &budget, &functions, NULL);

	if (!code && functions.nr && functions.table.names_off < functions.table.units_off &&
	    functions.table.units_off <= functions.table.size)
		code = add_all(tab, elf, &functions);
	return code == -ENOMEM ? code : 0;
}
