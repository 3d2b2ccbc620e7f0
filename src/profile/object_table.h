/* SPDX-License-Identifier: Apache-2.0 */
/* The whole unwind table of an object at once, for verbs that do not sample. */
#pragma once

#include "parse/client.h"
#include "profile/object.h"
#include "unwind/table.h"

/*
 * Have a worker make the table of @object, with rows from code, and with what its debug file adds.
 * NULL: it has none; unless there is nothing to make one from, a warning says why. The table is the
 * caller's. At most 5 s of CPU.
 */
struct table *object_table_make(struct parse_client *client, const struct object *object);
