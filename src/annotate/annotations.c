/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "annotate/annotator.h"
#include "base/alloc.h"
#include "base/cleanup.h"

/* Bytes that a page has of it, about. */
static size_t text_bytes(const struct annotation *annotation)
{
	size_t bytes = 0;

	for (size_t i = 0; i < annotation->nr_insns; i++) {
		const struct annotation_insn *insn = &annotation->insns[i];

		bytes += strlen(insn->text) + (insn->target_name ? strlen(insn->target_name) : 0);
	}
	for (size_t i = 0; i < annotation->nr_lines; i++)
		bytes += strlen(annotation->lines[i].file) +
			 (annotation->lines[i].text ? strlen(annotation->lines[i].text) : 0);
	for (size_t i = 0; i < annotation->nr_sites; i++)
		bytes += annotation->sites[i].function ? strlen(annotation->sites[i].function) : 0;
	return bytes;
}

/* The rows of all stacks; @kernel is that of the kernel. */
static void find_rows(const struct recording *recording, const struct hot_code *code,
		      const uint32_t *row_of_pcs, uint32_t kernel, struct annotations *ret)
{
	ret->rows = must_calloc(recording->nr_stacks + 1, sizeof(*ret->rows));
	for (size_t i = 0; i < recording->nr_stacks; i++) {
		const struct recording_stack *stack = &recording->stacks[i];
		const struct recording_frame *leaf = recording_own_leaf(recording, stack);
		uint32_t pc = hot_code_pc(code, recording, stack);

		ret->rows[i] = stack->nr_kernel || (leaf && leaf->kind == RECORDING_KERNEL) ? kernel
			       : pc == HOT_CODE_NO_PC ? ANNOTATION_NONE
						      : row_of_pcs[pc];
	}
}

void annotations_make(struct annotator *annotator, const struct recording *recording,
		      const struct hot_code *code, struct annotations *ret)
{
	AUTO_FREE uint32_t *row_of_pcs = must_calloc(code->nr_pcs + 1, sizeof(*row_of_pcs));
	size_t left = ANNOTATIONS_BYTES_MAX;
	uint32_t first = 0;

	memset(row_of_pcs, 0xff, code->nr_pcs * sizeof(*row_of_pcs));
	*ret = (struct annotations){ .list = must_calloc(ANNOTATIONS_MAX, sizeof(*ret->list)) };
	for (size_t i = 0; i < code->nr && i < 4 * ANNOTATIONS_MAX && ret->nr < ANNOTATIONS_MAX;
	     i++) {
		struct annotation *annotation = &ret->list[ret->nr];
		size_t bytes;

		(void)annotator_make(annotator, recording, code, &code->functions[i], annotation);
		bytes = text_bytes(annotation);
		if (!annotation->nr_insns || bytes > left) {
			annotation_fini(annotation);
			continue;
		}
		left -= bytes;
		ret->nr++;
		for (size_t k = 0; k < code->functions[i].nr_pcs; k++)
			row_of_pcs[code->functions[i].first_pc + k] = first + annotation->rows[k];
		first += (uint32_t)annotation->nr_insns + 1;
	}
	ret->left_out = code->nr - ret->nr;
	find_rows(recording, code, row_of_pcs, first, ret);
}

void annotations_fini(struct annotations *annotations)
{
	for (size_t i = 0; i < annotations->nr; i++)
		annotation_fini(&annotations->list[i]);
	free(annotations->list);
	free(annotations->rows);
	*annotations = (struct annotations){ .nr = 0 };
}
