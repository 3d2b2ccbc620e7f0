/* SPDX-License-Identifier: Apache-2.0 */
/* Verbs that are programs of their own, linked with what fpless is not, in the package
 * fpless-agent. */
#pragma once

#include <stddef.h>

/*
 * Execute fpless-@verb with the path of this program and @args [@nr]. It is beside this one in a
 * build, or in lib/fpless where both are installed. Returns only where that cannot be done, which
 * is logged: an enum cli_exit.
 */
int companion_execute(const char *verb, const char *const *args, size_t nr);
