/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Firefox Profiler's processed profile format, version 48 (its docs-developer/CHANGELOG-formats.md
 * and src/types/profile.ts): what profiler.firefox.com opens. fpless-formats(5).
 */
#pragma once

#include <stdio.h>

#include "view/format.h"

/* Write a track for each thread, most samples first; as format_write_fn. */
FPL_MUST_CHECK int firefox_write(FILE *to, const struct recording *recording,
				 const struct format_options *options, uint64_t *ret_shown,
				 struct fpl_err *err);
