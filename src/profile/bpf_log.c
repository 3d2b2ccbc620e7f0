/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/bpf_log.h"

#include <bpf/libbpf.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"

__attribute__((__format__(__printf__, 2, 0))) static int
log_libbpf(enum libbpf_print_level level, const char *format, va_list args)
{
	char line[512];

	if (!fpl_log_enabled(level == LIBBPF_DEBUG ? FPL_LOG_TRACE : FPL_LOG_DEBUG))
		return 0;

	int len = vsnprintf(line, sizeof(line), format, args);

	if (len > 0) {
		line[strcspn(line, "\n")] = '\0'; /* the verifier's log has many lines */
		fpl_log(level == LIBBPF_DEBUG ? FPL_LOG_TRACE : FPL_LOG_DEBUG, "%s", line);
	}
	return len;
}

void bpf_log_init(void)
{
	libbpf_set_print(log_libbpf);
}
