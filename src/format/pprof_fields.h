/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the fields of a pprof Profile one by one, and each text before it is first referred to. */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdint.h>
#include <stdio.h>

#include "base/strings.h"
#include "format/gzip_members.h"
#include "recording/recording.h"

/* Numbers of the fields of Profile. */
enum {
	PPROF_FIELD_SAMPLE_TYPE = 1,
	PPROF_FIELD_SAMPLE = 2,
	PPROF_FIELD_MAPPING = 3,
	PPROF_FIELD_LOCATION = 4,
	PPROF_FIELD_FUNCTION = 5,
	PPROF_FIELD_STRING = 6,
	PPROF_FIELD_TIME = 9,
	PPROF_FIELD_DURATION = 10,
	PPROF_FIELD_PERIOD_TYPE = 11,
	PPROF_FIELD_PERIOD = 12,
	PPROF_FIELD_COMMENT = 13,
	PPROF_FIELD_DEFAULT_TYPE = 14,
	PPROF_FIELD_RAW_TEXT = 1000,
};

struct pprof_fields {
	const struct recording *recording; /* borrowed */
	struct gzip_members members;	   /* whose error is the writer's */
	int64_t *texts; /* owned [recording.strings.nr]: index in string_table; 0: not there yet */
	struct strings words;	  /* what is no text of the recording */
	VECTOR(int64_t) word_ids; /* index of each */
	int64_t nr;		  /* of string_table */
	uint64_t bytes;		  /* of all fields so far, unpacked */
};

void pprof_fields_init(struct pprof_fields *fields, FILE *to, const struct recording *recording);
void pprof_fields_fini(struct pprof_fields *fields);

/* The index in string_table of a text of the recording. */
int64_t pprof_fields_text(struct pprof_fields *fields, uint32_t text);

/* The same of any other text. */
int64_t pprof_fields_word(struct pprof_fields *fields, const char *word);

/* Write @message as field @number, or, with 0, its fields as fields of the Profile. */
void pprof_fields_message(struct pprof_fields *fields, unsigned number,
			  const ProtobufCMessage *message);
