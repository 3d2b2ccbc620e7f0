/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses in texts, which differ between builds of one program. */
#pragma once

#include <stddef.h>

/* Room for a text of @length with its numbers stripped: "0x1" becomes longer. */
#define HEX_STRIPPED_SIZE(length) (2 * (size_t)(length) + 1)

/*
 * Copy @from to @to [HEX_STRIPPED_SIZE(strlen(@from))] with "0x..." for each "0x" and the
 * hexadecimal digits, one or more, behind it: what difffolded.pl -s does.
 */
void hex_strip(const char *from, char *to);
