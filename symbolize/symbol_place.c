/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/symbol_place.h"

#include <stdlib.h>

void symbol_chains_fini(struct symbol_chains *chains)
{
	free(chains->chains);
	free(chains->lines);
	free(chains->text);
	*chains = (struct symbol_chains){ .chains = NULL };
}

void symbol_places_fini(struct symbol_places *places)
{
	free(places->places);
	free(places->text);
	symbol_chains_fini(&places->chains);
	*places = (struct symbol_places){ .places = NULL };
}
