/* SPDX-License-Identifier: Apache-2.0 */
/* The places in its file where a probe is set: a worker reads the file (decision 0009). */
#pragma once

#include "base/err.h"
#include "profile/probe_file.h"
#include "source/probe_word.h"
#include "symbolize/probe_sites.h"

struct parser;

#define PROBE_PLACES_MAX 1024u /* of one USDT probe: each may take a perf event */

/*
 * Ask a worker of @parser where @word, of a program, is in @file. *ret has one site for a function,
 * @word's offset added, one or more for a USDT probe; the caller ends it by probe_sites_fini(). The
 * debug file of @file is read, too, if a function is not in the file's own symbols. Errors: -EINVAL
 * there is no such function or probe, more than one, none that can be probed, or no instruction
 * begins there, with the names that may be meant; those of the client (parse/client.h).
 */
FPL_MUST_CHECK int probe_places_find(struct parser *parser, const struct probe_file *file,
				     const struct probe_word *word, struct probe_sites *ret,
				     struct fpl_err *err);
