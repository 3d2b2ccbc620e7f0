/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The exit status of a verb that has written to stdout: CLI_EXIT_OK, or CLI_EXIT_OUTPUT after a
 * line that says what failed. */
int stdout_status(void);
