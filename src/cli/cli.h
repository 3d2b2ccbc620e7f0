/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the verbs: exit codes, and the verbs themselves, one file cmd_<verb>.c each. */
#pragma once

/* Exit codes of every verb, on which scripts can rely. */
enum cli_exit {
	CLI_EXIT_OK = 0,
	CLI_EXIT_USAGE = 1,
	CLI_EXIT_CANNOT_RUN = 2,   /* not here, or an input cannot be read */
	CLI_EXIT_NO_SAMPLES = 3,   /* the target is gone, or nothing was sampled */
	CLI_EXIT_STRICT = 4,	   /* --strict: too many samples lost */
	CLI_EXIT_DISAGREEMENT = 5, /* verify found one */
	CLI_EXIT_OUTPUT = 6,	   /* an output could not be written */
	CLI_EXIT_CHANGED = 7,	   /* diff --fail-on: something grew by that much */
};

/*
 * Run a verb. @argv[0] is "fpless <verb>", the rest are its arguments. Returns an enum cli_exit;
 * errors are reported on stderr.
 */

int cmd_agent(int argc, char **argv);
int cmd_annotate(int argc, char **argv);
int cmd_bcc_offcputime(int argc, char **argv);
int cmd_bcc_offwaketime(int argc, char **argv);
int cmd_bcc_wakeuptime(int argc, char **argv);
int cmd_bcc_profile(int argc, char **argv);
int cmd_bcc_stackcount(int argc, char **argv);
int cmd_compare(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_events(int argc, char **argv);
int cmd_heap(int argc, char **argv);
int cmd_offcpu(int argc, char **argv);
int cmd_wall(int argc, char **argv);
int cmd_profile(int argc, char **argv);
int cmd_push(int argc, char **argv);
int cmd_query(int argc, char **argv);
int cmd_record(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_script(int argc, char **argv);
int cmd_serve(int argc, char **argv);
int cmd_stack(int argc, char **argv);
int cmd_tables(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_verify(int argc, char **argv);
int cmd_locks(int argc, char **argv);
int cmd_wakeup(int argc, char **argv);
