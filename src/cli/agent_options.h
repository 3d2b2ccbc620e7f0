/* SPDX-License-Identifier: Apache-2.0 */
/* The store of an agent: where, how large, for how long. */
#pragma once

#include <argp.h>
#include <stdint.h>

#include "store/store.h"

struct agent_options {
	char *store; /* owned: its folder */
	struct store_limits limits;
	char *labels;	     /* owned: "k=v,k=v"; NULL: none is given */
	const char *metrics; /* borrowed from argv: the file; NULL: none */
	uint64_t top;	     /* functions among them */
};

void agent_options_init(struct agent_options *options);
void agent_options_fini(struct agent_options *options);

/* Its input is a struct agent_options. An invalid option ends the process. */
extern const struct argp agent_store_argp;
