/* SPDX-License-Identifier: Apache-2.0 */
/* A rule of the compact table, applied to a made-up machine as bpf/shared.h defines it. */
#pragma once

#include "bpf/shared.h"
#include "verify/machine.h"

/*
 * Find the caller that @rule, with its extended rules behind it, gives on @machine. Callee-saved
 * registers, rsp and the return address are always claimed; the others only by an extended rule.
 */
void rule_eval(const struct fpl_rule *rule, const struct machine *machine, struct caller *ret);

/* Write @rule to @text, in the words of `tables --rows`; cut to @size. */
void rule_text(const struct fpl_rule *rule, char *text, size_t size);
