/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs and libraries that sample their allocations themselves, and tell of them by the USDT
 * probes otel_memory:alloc(address, size, weight) and otel_memory:free(address), as OpenTelemetry
 * has agreed on them for profilers.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "profile/heap_place.h"

struct client_file;
struct parse_client;

/*
 * Append to @places what the notes of its file number @file say, which is @client_file. *ret: has
 * it probes of both kinds? One whose arguments the kernel side cannot read is said, and then the
 * file has none. Stacks begin at the callers of the library of --preload. Errors: those of the
 * client; -EINVAL more than FPL_TOLDS_MAX places; -ENOMEM.
 */
FPL_MUST_CHECK int heap_tellers_find(struct parse_client *client,
				     const struct client_file *client_file, size_t file,
				     struct heap_places *places, bool *ret, struct fpl_err *err);
