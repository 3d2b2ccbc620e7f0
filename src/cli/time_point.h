/* SPDX-License-Identifier: Apache-2.0 */
/* Moments as users write and read them, in local time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * "now"; "-90s", "-5m", "-1h", "-7d": before @now_ns; "03:12" and "03:12:30": the last such moment;
 * "2026-11-29", "2026-11-29T03:12" (or a blank), with Z behind it in UTC; "@1795968762": seconds
 * since 1970, with up to nine decimals. Times are ns since 1970. Returns false for anything else
 * and leaves *ret alone.
 */
bool time_point_parse(const char *text, uint64_t now_ns, uint64_t *ret);

/* The same of two moments with ".." between them, the first before the second. */
bool time_range_parse(const char *text, uint64_t now_ns, uint64_t *ret_from, uint64_t *ret_to);

/* A length above 0, "90s", "10m", "1h", "7d" or plain seconds, as ns. */
bool time_length_parse(const char *text, uint64_t *ret_ns);

#define TIME_TEXT_SIZE 32u

/* "2026-11-29 03:12:30" to @buf. Returns @buf. */
const char *time_text(uint64_t unix_ns, char buf[static TIME_TEXT_SIZE]);
