/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/* Memory charged to the BPF map at @fd, bytes, as the kernel says in fdinfo; 0: unknown. */
uint64_t map_bytes(int fd);
