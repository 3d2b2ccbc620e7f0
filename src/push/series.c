/* SPDX-License-Identifier: Apache-2.0 */
#include "push/series.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

static void write_label(struct json *json, const char *name, const char *value)
{
	json_open(json, NULL, '{');
	json_string(json, "name", name);
	json_string(json, "value", value);
	json_close(json, '}');
}

void series_write_labels(struct json *json, const char *metric, const struct labels *labels)
{
	json_open(json, "labels", '[');
	write_label(json, "__name__", metric);
	for (size_t i = 0; i < labels->nr; i++)
		write_label(json, labels->list[i].name, labels->list[i].value);
	json_close(json, ']');
}

/* RFC 4648, section 4. */
static void write_base64(FILE *to, const char *bytes, size_t nr)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *at = (const unsigned char *)bytes;

	for (size_t i = 0; i < nr; i += 3) {
		size_t left = nr - i;
		uint32_t three = (uint32_t)at[i] << 16 | (left > 1 ? (uint32_t)at[i + 1] << 8 : 0) |
				 (left > 2 ? at[i + 2] : 0u);
		const char four[] = { digits[three >> 18], digits[three >> 12 & 63],
				      left > 1 ? digits[three >> 6 & 63] : '=',
				      left > 2 ? digits[three & 63] : '=' };

		fwrite(four, 1, sizeof(four), to);
	}
}

void series_write_samples(struct json *json, const struct profile *profile)
{
	json_open(json, "samples", '[');
	json_open(json, NULL, '{');
	fputs("\"rawProfile\":\"", json->to);
	write_base64(json->to, profile->bytes, profile->size);
	fputc('"', json->to);
	json_close(json, '}');
	json_close(json, ']');
}

bool series_is_object(const struct http_answer *answer)
{
	static const char blanks[] = " \t\r\n";
	size_t first = 0, end = answer->size;

	while (first < end && memchr(blanks, answer->body[first], sizeof(blanks) - 1))
		first++;
	while (end > first && memchr(blanks, answer->body[end - 1], sizeof(blanks) - 1))
		end--;
	return http_answer_is_of(answer, "application/json") && end - first >= 2 &&
	       answer->body[first] == '{' && answer->body[end - 1] == '}';
}
