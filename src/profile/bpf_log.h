/* SPDX-License-Identifier: Apache-2.0 */
/* Route libbpf's messages into fpless's log, at -v and -vv. */
#pragma once

/* Route libbpf's messages into fpl_log. May be called any number of times. */
void bpf_log_init(void);
