/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/run_rights.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/privileged_helper.h"
#include "base/log.h"
#include "parse/sandbox.h"
#include "proc/rights.h"

/* Does the process belong to another user? False for one that has gone. */
static bool is_others(pid_t pid)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	return stat(path, &st) == 0 && st.st_uid != geteuid();
}

static bool reads_others(const struct engine_options *options)
{
	if (options->target == ENGINE_TARGET_ALL)
		return true;
	for (size_t i = 0; options->target == ENGINE_TARGET_PIDS && i < options->nr_pids; i++) {
		if (is_others(options->pids[i]))
			return true;
	}
	return false;
}

int run_rights_settle(const struct engine_options *options, const struct host *host,
		      struct fpl_err *err)
{
	struct fpl_err refused = { 0 };
	int code = 0;

	rights_tell(host, reads_others(options));
	if (options->helper && rights_need_helper())
		code = helper_start(options->helper, rights_drop_to_helper, err);
	if (!code && rights_drop(&refused))
		fpl_log(FPL_LOG_WARN, "%s: the run keeps all rights it has", refused.msg);
	if (!code && sandbox_enter_run(&refused))
		fpl_log(FPL_LOG_WARN, "%s: the run has no filter of system calls", refused.msg);
	return code;
}
