/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/time_point.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "cli/parse.h"

enum { DAY_S = 86400, DAYS_MAX = 36500, TEXT_MAX = 64 };

bool time_length_parse(const char *text, uint64_t *ret_ns)
{
	size_t length = strlen(text);
	char number[TEXT_MAX];
	uint64_t value;

	if (!length || length >= sizeof(number))
		return false;
	if (text[length - 1] != 'd') {
		if (!parse_seconds(text, &value))
			return false;
		*ret_ns = value * NS_PER_MS;
		return true;
	}
	snprintf(number, sizeof(number), "%.*s", (int)length - 1, text);
	if (!text_to_number(number, DAYS_MAX, &value) || !value)
		return false;
	*ret_ns = value * DAY_S * NS_PER_S;
	return true;
}

/* Does all of @text have the form @format of strptime(3)? */
static bool has_form(const char *text, const char *format, struct tm *ret)
{
	const char *end = strptime(text, format, ret);

	return end && !*end;
}

static bool take(time_t seconds, uint64_t *ret)
{
	if (seconds < 0 || (uint64_t)seconds > INT64_MAX / NS_PER_S)
		return false;
	*ret = (uint64_t)seconds * NS_PER_S;
	return true;
}

/* A time of day: the last moment that had it. */
static bool parse_clock(const char *text, uint64_t now_ns, uint64_t *ret)
{
	static const char *const forms[] = { "%H:%M", "%H:%M:%S" };
	time_t now = (time_t)(now_ns / NS_PER_S), then;

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		struct tm tm;

		localtime_r(&now, &tm);
		tm.tm_sec = 0;
		if (!has_form(text, forms[i], &tm))
			continue;
		tm.tm_isdst = -1;
		then = mktime(&tm);
		if (then > now) {
			tm.tm_mday--;
			tm.tm_isdst = -1;
			then = mktime(&tm);
		}
		return take(then, ret);
	}
	return false;
}

static bool parse_date(const char *text, uint64_t *ret)
{
	static const char *const forms[] = { "%Y-%m-%d",	  "%Y-%m-%dT%H:%M",
					     "%Y-%m-%d %H:%M",	  "%Y-%m-%dT%H:%M:%S",
					     "%Y-%m-%d %H:%M:%S", "%Y%m%dT%H%M%S" };
	size_t length = strlen(text);
	char plain[TEXT_MAX];
	bool utc = length && text[length - 1] == 'Z';

	if (length >= sizeof(plain))
		return false;
	snprintf(plain, sizeof(plain), "%.*s", (int)(length - utc), text);
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		struct tm tm = { .tm_isdst = -1 };

		if (has_form(plain, forms[i], &tm))
			return take(utc ? timegm(&tm) : mktime(&tm), ret);
	}
	return false;
}

/* "1795968762", with up to nine decimals. */
static bool parse_seconds_since(const char *text, uint64_t *ret)
{
	const char *point = strchrnul(text, '.');
	char digits[TEXT_MAX];
	uint64_t seconds, ns = 0;
	size_t nr;

	if (point - text >= TEXT_MAX)
		return false;
	snprintf(digits, sizeof(digits), "%.*s", (int)(point - text), text);
	if (!text_to_number(digits, INT64_MAX / NS_PER_S, &seconds))
		return false;
	if (*point) {
		nr = strlen(point + 1);
		if (!nr || nr > 9)
			return false;
		snprintf(digits, sizeof(digits), "%s%.*s", point + 1, (int)(9 - nr), "00000000");
		if (!text_to_number(digits, NS_PER_S - 1, &ns))
			return false;
	}
	*ret = seconds * NS_PER_S + ns;
	return true;
}

bool time_point_parse(const char *text, uint64_t now_ns, uint64_t *ret)
{
	uint64_t number;

	if (!strcmp(text, "now")) {
		*ret = now_ns;
		return true;
	}
	if (*text == '-') {
		if (!time_length_parse(text + 1, &number))
			return false;
		*ret = number < now_ns ? now_ns - number : 0;
		return true;
	}
	if (*text == '@')
		return parse_seconds_since(text + 1, ret);
	return parse_clock(text, now_ns, ret) || parse_date(text, ret);
}

bool time_range_parse(const char *text, uint64_t now_ns, uint64_t *ret_from, uint64_t *ret_to)
{
	const char *parting = strstr(text, "..");
	char first[TEXT_MAX];
	uint64_t from, to;

	if (!parting || parting - text >= TEXT_MAX)
		return false;
	snprintf(first, sizeof(first), "%.*s", (int)(parting - text), text);
	if (!time_point_parse(first, now_ns, &from) ||
	    !time_point_parse(parting + 2, now_ns, &to) || from >= to)
		return false;
	*ret_from = from;
	*ret_to = to;
	return true;
}

const char *time_text(uint64_t unix_ns, char buf[static TIME_TEXT_SIZE])
{
	time_t seconds = (time_t)(unix_ns / NS_PER_S);
	struct tm tm;

	if (!localtime_r(&seconds, &tm) || !strftime(buf, TIME_TEXT_SIZE, "%Y-%m-%d %H:%M:%S", &tm))
		snprintf(buf, TIME_TEXT_SIZE, "%llu", (unsigned long long)seconds);
	return buf;
}
