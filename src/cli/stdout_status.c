/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/stdout_status.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/output_file.h"
#include "cli/cli.h"

int stdout_status(void)
{
	int error = output_stream_error(stdout);

	if (!error)
		return CLI_EXIT_OK;
	fpl_log(FPL_LOG_ERROR, "stdout: %s", strerror(-error));
	return CLI_EXIT_OUTPUT;
}
