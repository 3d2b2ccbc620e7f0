/* SPDX-License-Identifier: Apache-2.0 */
/* Parse option arguments. Each function returns false for an invalid one and leaves *ret alone. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A decimal number in [min, max]; nothing before or behind it. */
bool parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *ret);

/*
 * Frames to be kept of a stack, FPL_DEPTH_MAX in all at most: "N,M", N at the leaf, one at least,
 * and M at the root; or "N", N in all, a quarter of them at the root. *ret_all is their sum.
 */
bool parse_depth(const char *text, uint32_t *ret_all, uint32_t *ret_root);

/* A decimal or 0x-number: an address. */
bool parse_address(const char *text, uint64_t *ret);

/* A number of bytes in [min, max], with an optional suffix K, M or G (powers of 1024, any case). */
bool parse_size(const char *text, uint64_t min, uint64_t max, uint64_t *ret);

/*
 * A time above 0, at most 100 days, as milliseconds: seconds, or with the unit ms, s, m or h; with
 * up to three decimals, of which nothing is below a millisecond.
 */
bool parse_seconds(const char *text, uint64_t *ret_ms);

/* A percentage from 0 to 100, with decimals. */
bool parse_percent(const char *text, double *ret);

/* A growth in per cent, "+10%": the sign and the unit may be left out; at most 1000000. */
bool parse_growth(const char *text, double *ret);

/*
 * A list of process ids, separated by commas, blanks or line ends, as of pgrep(1). *ret is owned by
 * the caller: [*ret_nr], each once, in the order given. Returns false also when memory runs out.
 */
bool parse_pids(const char *text, pid_t **ret, size_t *ret_nr);
