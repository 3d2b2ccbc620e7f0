/* SPDX-License-Identifier: Apache-2.0 */
/* Puts symbols into a symbol table. */
#pragma once

#include "symbolize/symtab_table.h"

/* Add one symbol. Errors: -EFBIG over SYMTAB_SYMBOLS_MAX, -ENOMEM. */
FPL_MUST_CHECK int symtab_push(struct symtab *tab, const struct symtab_symbol *symbol);

/* Sort what was added and settle what covers what: only then symtab_find sees it. */
FPL_MUST_CHECK int symtab_arrange(struct symtab *tab);
