/* SPDX-License-Identifier: Apache-2.0 */
/* fpless script: a recording as the text of perf script. */
#include "cli/cli.h"
#include "cli/report_options.h"
#include "cli/verbs.h"

int cmd_script(int argc, char **argv)
{
	return report_main(argc, argv, &script_argp, "perf");
}
