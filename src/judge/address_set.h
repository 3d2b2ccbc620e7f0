/* SPDX-License-Identifier: Apache-2.0 */
/* A set of addresses, to count each once. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADDRESS_SET_MAX (4u << 20) /* what comes beyond is not counted: 64 MiB */

struct address_set {
	uint64_t *slots; /* owned [nr_slots]: 0 is free */
	size_t nr_slots, nr;
};

void address_set_fini(struct address_set *set);

/* Add @address, which is not 0. Returns whether it is new; false without memory, too. */
bool address_set_add(struct address_set *set, uint64_t address);
