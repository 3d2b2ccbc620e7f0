/* SPDX-License-Identifier: Apache-2.0 */
/* The frame that the first instructions of code make (bpf/entry_x86_64.h), in a process. */
#pragma once

#include <stdint.h>

#include "bpf/shared_region.h"
#include "jit/memory.h"

/* Read the entry at @addr. *ret: the rule behind it, which holds (fpl_region_rule_holds()). Returns
 * its bytes; 0: it cannot be read, or makes no frame. */
uint32_t jit_entry_read(struct jit_memory *memory, uint64_t addr, struct fpl_rule *ret);

/* The rule of a function that has lowered rsp by @bytes, and saved no register. */
void jit_entry_lowered(uint32_t bytes, struct fpl_rule *ret);
