/* SPDX-License-Identifier: Apache-2.0 */
#include "view/annotation.h"

bool annotation_is_same_function(const struct annotation *annotation,
				 const struct annotation_insn *a, const struct annotation_insn *b)
{
	if (a->nr_sites != b->nr_sites)
		return false;
	for (uint32_t i = 0; i < a->nr_sites; i++) {
		const struct annotation_site *left = &annotation->sites[a->first_site + i];
		const struct annotation_site *right = &annotation->sites[b->first_site + i];

		if (left->function != right->function || (i && left->line != right->line))
			return false;
	}
	return true;
}

size_t annotation_place_end(const struct annotation *annotation, size_t first,
			    uint64_t *ret_samples)
{
	const struct annotation_insn *insns = annotation->insns;
	size_t i = first;

	*ret_samples = 0;
	do {
		*ret_samples += insns[i++].samples;
	} while (i < annotation->nr_insns && insns[i].line == insns[first].line &&
		 annotation_is_same_function(annotation, &insns[i], &insns[first]));
	return i;
}
