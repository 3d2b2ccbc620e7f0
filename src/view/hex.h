/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses in texts, which differ between builds of one program. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/strings.h"

/* Room for a text of @length with its numbers stripped: "0x1" becomes longer. */
#define HEX_STRIPPED_SIZE(length) (2 * (size_t)(length) + 1)

/*
 * Copy @from to @to [HEX_STRIPPED_SIZE(strlen(@from))] with "0x..." for each "0x" and the
 * hexadecimal digits, one or more, behind it: what difffolded.pl -s does.
 */
void hex_strip(const char *from, char *to);

/* The id of @text with its numbers stripped. */
uint32_t hex_strip_intern(struct strings *strings, const char *text);
