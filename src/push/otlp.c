/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenTelemetry over HTTP: fpless query writes the whole request, labels included. A profile has
 * the same id each time it is sent.
 */
#include "base/cursor.h"
#include "push/target.h"

static void write_request(FILE *to, const struct profile *profile, const struct labels *labels)
{
	(void)labels;
	fwrite(profile->bytes, 1, profile->size, to);
}

enum { WIRE_VARINT, WIRE_64, WIRE_BYTES, WIRE_32 = 5 };

/*
 * Take a field at @cursor: its number, and its value (@ret_value) or its bytes (@ret_bytes).
 * Returns 0 at the end and where it is no field, then with cursor->bad.
 */
static uint64_t next_field(struct cursor *cursor, uint64_t *ret_value, struct cursor *ret_bytes)
{
	const uint8_t *bytes;
	uint64_t tag, size;

	*ret_value = 0;
	*ret_bytes = cursor_make(NULL, 0);
	if (!cursor_left(cursor))
		return 0;
	tag = cursor_uleb(cursor);
	switch (tag & 7) {
	case WIRE_VARINT:
		*ret_value = cursor_uleb(cursor);
		break;
	case WIRE_64:
		(void)cursor_skip(cursor, 8);
		break;
	case WIRE_BYTES:
		size = cursor_uleb(cursor);
		bytes = cursor_skip(cursor, size);
		if (bytes)
			*ret_bytes = cursor_make(bytes, (size_t)size);
		break;
	case WIRE_32:
		(void)cursor_skip(cursor, 4);
		break;
	default:
		cursor_fail(cursor);
	}
	if (!(tag >> 3))
		cursor_fail(cursor);
	return cursor->bad ? 0 : tag >> 3;
}

/* An answer without fields, or with partial_success = 1, in which rejected_profiles = 1. */
static enum verdict judge_body(const struct http_answer *answer)
{
	struct cursor cursor = cursor_make((const uint8_t *)answer->body, answer->size), inner,
		      rest;
	enum verdict verdict = VERDICT_TAKEN;
	uint64_t number, value;

	while ((number = next_field(&cursor, &value, &inner))) {
		if (number != 1)
			continue;
		while ((number = next_field(&inner, &value, &rest)))
			if (number == 1 && value)
				verdict = VERDICT_REFUSED;
		if (inner.bad)
			return VERDICT_LATER;
	}
	return cursor.bad ? VERDICT_LATER : verdict;
}

static enum verdict judge(const struct http_answer *answer)
{
	if (answer->status != 200)
		return target_judge_status(answer);
	return http_answer_is_of(answer, "application/x-protobuf") ? judge_body(answer)
								   : VERDICT_LATER;
}

const struct target target_otlp = {
	.name = "otlp",
	.path = "/v1development/profiles",
	.content_type = "application/x-protobuf",
	.encoding = "gzip",
	.format = "otlp",
	.max_age_ns = TARGET_ANY_AGE,
	.write = write_request,
	.judge = judge,
};
