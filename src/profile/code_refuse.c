/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/code_refuse.h"

#include "base/log.h"

#define REFUSED_SAID 32u /* lines at warning level */

void code_refuse(uint64_t *nr, const char *why)
{
	++*nr;
	fpl_log(*nr <= REFUSED_SAID ? FPL_LOG_WARN : FPL_LOG_DEBUG,
		"%s: code made at run time stays addresses", why);
}
