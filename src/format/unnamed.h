/* SPDX-License-Identifier: Apache-2.0 */
/* Names of code without a name, as every format writes them, read back. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * "[OBJECT+0xSTART]" or "[0xADDRESS]", exactly as frame_unnamed_text() writes them. True: *ret is
 * the number, and OBJECT the *ret_object_length bytes behind the bracket; 0: none.
 */
bool unnamed_parse(const char *text, size_t *ret_object_length, uint64_t *ret);
