/* SPDX-License-Identifier: Apache-2.0 */
/* A set of addresses, to count each once. */
#pragma once

#include "base/id_table.h"
#include "base/vector.h"

#define ADDRESS_SET_MAX (4u << 20) /* what comes beyond is not counted: 96 MiB */

struct address_set {
	VECTOR(uint64_t);
	struct id_table table; /* of list */
};

void address_set_fini(struct address_set *set);

/* Add @address. Returns whether it is new; false without memory, too. */
bool address_set_add(struct address_set *set, uint64_t address);
