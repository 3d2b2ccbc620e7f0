/* SPDX-License-Identifier: Apache-2.0 */
/* The closing line of .jsonl. */
#pragma once

#include "format/jsonl_value.h"

/*
 * Add the members of the books to the recording's numbers, in their order, keys of members joined
 * by dots; those that the recording has fields for are left out.
 */
void jsonl_books_read(struct reading *reading, json_object *books);
