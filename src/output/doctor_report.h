/* SPDX-License-Identifier: Apache-2.0 */
/* What doctor found, for people and as JSON. Write errors stay in the stream (ferror). */
#pragma once

#include <stdio.h>

#include "doctor/checkup.h"

/* One line per check, then the summary. Bytes that could break a terminal are escaped. */
void doctor_report_checkup(FILE *to, const struct checkup *checkup);
void doctor_json_checkup(FILE *to, const struct checkup *checkup, const struct trial *trial);
