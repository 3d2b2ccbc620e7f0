/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "annotate/annotator.h"
#include "base/alloc.h"

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

void annotations_make(struct annotator *annotator, const struct recording *recording,
		      const struct hot_code *code, struct annotations *ret)
{
	size_t left = ANNOTATIONS_BYTES_MAX;

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
	}
	ret->left_out = code->nr - ret->nr;
	ret->kernel = code->kernel;
}

void annotations_fini(struct annotations *annotations)
{
	for (size_t i = 0; i < annotations->nr; i++)
		annotation_fini(&annotations->list[i]);
	free(annotations->list);
	*annotations = (struct annotations){ .nr = 0 };
}
