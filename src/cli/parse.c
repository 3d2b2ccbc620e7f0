/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/parse.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "bpf/shared.h"

/* strtoull takes blanks, signs and an empty string, which no option here allows. */
static bool parse_digits(const char *text, int base, const char **end, uint64_t *ret)
{
	char *stop;

	if (base == 16 ? !isxdigit((unsigned char)*text) : !isdigit((unsigned char)*text))
		return false;
	errno = 0;
	unsigned long long value = strtoull(text, &stop, base);
	if (errno)
		return false;
	*end = stop;
	*ret = value;
	return true;
}

bool parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *ret)
{
	uint64_t value;

	if (!text_to_number(text, max, &value) || value < min)
		return false;
	*ret = value;
	return true;
}

bool parse_depth(const char *text, uint32_t *ret_all, uint32_t *ret_root)
{
	const char *end;
	uint64_t leaf, root;

	if (!parse_digits(text, 10, &end, &leaf) || !leaf || leaf > FPL_DEPTH_MAX)
		return false;
	if (!*end) {
		*ret_all = (uint32_t)leaf;
		*ret_root = (uint32_t)leaf / 4;
		return true;
	}
	if (*end != ',' || !parse_digits(end + 1, 10, &end, &root) || *end ||
	    root > FPL_DEPTH_MAX - leaf)
		return false;
	*ret_all = (uint32_t)(leaf + root);
	*ret_root = (uint32_t)root;
	return true;
}

bool parse_address(const char *text, uint64_t *ret)
{
	bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	const char *end;
	uint64_t value;

	if (!parse_digits(hex ? text + 2 : text, hex ? 16 : 10, &end, &value) || *end)
		return false;
	*ret = value;
	return true;
}

bool parse_size(const char *text, uint64_t min, uint64_t max, uint64_t *ret)
{
	const char *end;
	uint64_t value, unit = 1;

	if (!parse_digits(text, 10, &end, &value))
		return false;
	switch (*end) {
	case 'k':
	case 'K':
		unit = 1ull << 10;
		end++;
		break;
	case 'm':
	case 'M':
		unit = 1ull << 20;
		end++;
		break;
	case 'g':
	case 'G':
		unit = 1ull << 30;
		end++;
		break;
	default:
		break;
	}
	if (*end || __builtin_mul_overflow(value, unit, &value) || value < min || value > max)
		return false;
	*ret = value;
	return true;
}

/* Units of a time in milliseconds; the first is meant where none is given. */
static const struct {
	const char *name;
	uint64_t ms;
} time_units[] = { { "", 1000 }, { "s", 1000 }, { "ms", 1 }, { "m", 60000 }, { "h", 3600000 } };

/* Milliseconds of a unit by its name, 0: none. */
static uint64_t unit_ms(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(time_units); i++)
		if (!strcmp(name, time_units[i].name))
			return time_units[i].ms;
	return 0;
}

bool parse_seconds(const char *text, uint64_t *ret_ms)
{
	static const uint64_t limit_ms = 100 * UINT64_C(86400000);
	const char *end;
	uint64_t value, thousandths = 0;

	if (!parse_digits(text, 10, &end, &value) || value > limit_ms)
		return false;
	if (*end == '.') {
		end++;
		for (uint64_t digit = 100; isdigit((unsigned char)*end) && digit;
		     end++, digit /= 10)
			thousandths += digit * (uint64_t)(*end - '0');
	}
	if (__builtin_mul_overflow(value * 1000 + thousandths, unit_ms(end), &value) || !value ||
	    value % 1000 || value / 1000 > limit_ms)
		return false;
	*ret_ms = value / 1000;
	return true;
}

static bool parse_percent_to(const char *text, double max, double *ret)
{
	char *end;

	if (!isdigit((unsigned char)*text) && *text != '.')
		return false;
	double value = strtod(text, &end);
	if (*end == '%')
		end++;
	if (end == text || *end || !(value >= 0 && value <= max))
		return false;
	*ret = value;
	return true;
}

bool parse_percent(const char *text, double *ret)
{
	return parse_percent_to(text, 100, ret);
}

bool parse_growth(const char *text, double *ret)
{
	return parse_percent_to(text + (*text == '+'), 1e6, ret);
}

static bool pid_is_listed(const pid_t *pids, size_t nr, pid_t pid)
{
	for (size_t i = 0; i < nr; i++)
		if (pids[i] == pid)
			return true;
	return false;
}

bool parse_pids(const char *text, pid_t **ret, size_t *ret_nr)
{
	static const char blanks[] = " \t\r\n";
	/* Each pid takes two characters or more, so the list cannot hold more than this. */
	size_t room = strlen(text) / 2 + 1, nr = 0;
	AUTO_FREE pid_t *pids = calloc(room, sizeof(*pids));

	if (!pids)
		return false;
	for (const char *at = text + strspn(text, blanks);;) {
		uint64_t pid;

		if (!parse_digits(at, 10, &at, &pid) || pid < 1 || pid > INT_MAX)
			return false;
		if (!pid_is_listed(pids, nr, (pid_t)pid))
			pids[nr++] = (pid_t)pid;

		size_t nr_blanks = strspn(at, blanks);

		at += nr_blanks;
		if (!*at)
			break;
		if (*at == ',')
			at += 1 + strspn(at + 1, blanks);
		else if (!nr_blanks)
			return false;
	}
	*ret = TAKE_PTR(pids);
	*ret_nr = nr;
	return true;
}
