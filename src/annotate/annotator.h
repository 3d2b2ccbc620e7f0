/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of a recording with their code beside their samples. A worker without rights reads the
 * file of the recording's build-id and its debug file (parse/client.h): instructions, lines, what
 * is inlined; the lines' texts come from the sources (annotate/sources.h).
 */
#pragma once

#include <stdbool.h>

#include "annotate/hot_code.h"
#include "annotate/script_lines.h"
#include "base/err.h"
#include "view/annotation.h"

struct annotator;

struct annotator_options {
	const char *root;   /* folder that files are below; "/": this machine */
	const char *folder; /* as in struct sources_options */
	bool no_sources;    /* no source is read */
	bool debuginfod;    /* servers are asked for what is not here */
	bool intel;	    /* instructions are in the syntax of Intel */
	bool no_demangle;
};

/*
 * Start the workers: before rights are given up, and before there are threads. Texts of options
 * are borrowed. Errors: of debuginfod_open(); parser_create(); -ENOMEM.
 */
FPL_MUST_CHECK int annotator_open(const struct annotator_options *options, struct annotator **ret,
				  struct fpl_err *err);
/* NULL is allowed. Annotations that it made are gone. */
void annotator_close(struct annotator *annotator);

/* A lack of an annotation. One is made in any case; without code it has no instructions. */
enum annotation_lack {
	ANNOTATION_WHOLE,
	ANNOTATION_NO_LINES, /* no debugging information: its package would help */
	ANNOTATION_NO_FILE,  /* no file of this build-id: the package of the program would help */
	ANNOTATION_NO_CODE,  /* for another reason, which its notes say */
};

/*
 * Annotate @function of @code, which was found in @recording; all three outlive the annotator.
 * Afterwards annotation_fini(). A lack of memory ends the process.
 */
enum annotation_lack annotator_make(struct annotator *annotator, const struct recording *recording,
				    const struct hot_code *code,
				    const struct hot_function *function, struct annotation *ret);
/*
 * Annotate @function of @lines, which were found in @recording; @of: samples of the recording. It
 * has lines and no instructions: from the function's first line to the last with samples, where
 * these are not too many. All three outlive the annotator. A lack of memory ends the process.
 */
void annotator_make_script(struct annotator *annotator, const struct recording *recording,
			   const struct script_lines *lines, const struct script_function *function,
			   uint64_t of, struct annotation *ret);
/* Add the line @note, which is copied. */
void annotation_add_note(struct annotation *annotation, const char *note);
void annotation_fini(struct annotation *annotation);

/* Bounds of the annotations for a page: functions, and bytes of their texts. */
#define ANNOTATIONS_MAX	      30u
#define ANNOTATIONS_BYTES_MAX (4u << 20)

/*
 * Annotate the functions of @code, found in @recording, with the most samples, in turn; one that
 * does not fit, and one without code, is left out. Afterwards annotations_fini(). As
 * annotator_make(). Cost: O(stacks); at most 4 * ANNOTATIONS_MAX functions are looked at.
 */
void annotations_make(struct annotator *annotator, const struct recording *recording,
		      const struct hot_code *code, struct annotations *ret);
void annotations_fini(struct annotations *annotations);
