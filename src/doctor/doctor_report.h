/* SPDX-License-Identifier: Apache-2.0 */
/* The findings of doctor as text and as JSON. Write errors stay in the stream (ferror). */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "doctor/checkup.h"
#include "doctor/object_report.h"
#include "doctor/process_report.h"

/* One line per check, then the summary. Bytes that could break a terminal are escaped. @colour: the
 * verdicts are marked. */
void doctor_report_checkup(FILE *to, const struct checkup *checkup, bool colour);
void doctor_json_checkup(FILE *to, const struct checkup *checkup, const struct trial *trial);

/* Write the word of @verdict, such as "warn"; @colour: in its colour. */
void doctor_report_verdict(FILE *to, enum check_verdict verdict, bool colour);

/* The findings in a file, and in a process. process_remarks() makes @remarks [nr_remarks]. @colour:
 * lacks are marked. */
void doctor_report_object(FILE *to, const struct object_report *object, bool colour);
void doctor_report_process(FILE *to, const struct process_report *process,
			   const struct check *remarks, size_t nr_remarks, bool colour);
void doctor_json_object(FILE *to, const struct object_report *object);
void doctor_json_process(FILE *to, const struct process_report *process,
			 const struct check *remarks, size_t nr_remarks);
