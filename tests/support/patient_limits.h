/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of a file for tests that are not about time: a slow machine needs more of it for the same.
 */
#pragma once

#include "unwind/table.h"

/* As table_limits_default, without a limit of CPU time. */
static const struct table_limits patient_limits = {
	.cpu_ns = UINT64_MAX,
	.memory_bytes = 256u << 20,
	.rows = 4u << 20,
	.synth = true,
};
