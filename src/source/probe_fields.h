/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fields of a probe: arguments and results, as they lie in the registers that its program is
 * handed (struct pt_regs of x86-64) and behind them. Names are bpftrace's: arg0 is the first
 * argument, retval the result, str(arg0) the text at that address. Pure.
 */
#pragma once

#include "base/err.h"
#include "source/event_format.h"
#include "source/probe_word.h"

#define PROBE_ARGS_MAX 16u /* of a USDT probe; sys/sdt.h can write 12 */

/*
 * The fields of a probe that is no USDT probe: arg0 to arg5, the registers of integer arguments, or
 * retval; and their texts. They are numbers of 8 bytes without a sign. *ret: end it by
 * event_format_fini(). Errors: -ENOMEM.
 */
FPL_MUST_CHECK int probe_fields_of_function(enum probe_kind kind, struct event_format *ret);

/*
 * The fields of a USDT probe, by the text of its note: a word for each argument, as -4@%eax,
 * 8@-16(%rbp) or 4@$5. An argument that a sum of a register and a number cannot lead to is of kind
 * FPL_FIELD_NONE: 8@name(%rip), 4@(%rax,%rdx,4), 8f@%xmm0. A field's type is the word. Errors:
 * -EINVAL more than PROBE_ARGS_MAX; -ENOMEM.
 */
FPL_MUST_CHECK int probe_fields_of_usdt(const char *args, struct event_format *ret,
					struct fpl_err *err);
