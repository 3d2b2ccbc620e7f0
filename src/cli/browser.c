/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/browser.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/program.h"
#include "base/text.h"

#define OPENER "xdg-open"

/* Returns whether the process is that user's now. */
static bool become(const struct passwd *user)
{
	return !initgroups(user->pw_name, user->pw_gid) &&
	       !setresgid(user->pw_gid, user->pw_gid, user->pw_gid) &&
	       !setresuid(user->pw_uid, user->pw_uid, user->pw_uid);
}

void browser_init(struct browser *browser)
{
	const char *text = getenv("SUDO_UID");
	const struct passwd *user = NULL;
	char folder[64], bus[96];
	uint64_t uid;

	*browser = (struct browser){ .uid = geteuid(), .is_ours = geteuid() != 0, .end_fd = -1 };
	if (browser->is_ours || !text || !text_to_number(text, UINT32_MAX - 1, &uid) || !uid)
		return;
	user = getpwuid((uid_t)uid);
	if (!user || !become(user))
		return;
	browser->uid = (uid_t)uid;
	browser->is_ours = true;
	/* what sudo has not kept of the session */
	snprintf(folder, sizeof(folder), "/run/user/%u", browser->uid);
	snprintf(bus, sizeof(bus), "unix:path=%s/bus", folder);
	setenv("HOME", user->pw_dir, 1);
	setenv("USER", user->pw_name, 1);
	setenv("LOGNAME", user->pw_name, 1);
	setenv("XDG_RUNTIME_DIR", folder, 1);
	setenv("DBUS_SESSION_BUS_ADDRESS", bus, 1);
}

/* A display, or a browser that needs none; sets the first of Wayland where its name is not known.
 */
static bool has_display(void)
{
	static const char name[] = "wayland-0";
	const char *folder = getenv("XDG_RUNTIME_DIR");
	char path[256];

	if (getenv("DISPLAY") || getenv("WAYLAND_DISPLAY") || getenv("BROWSER"))
		return true;
	snprintf(path, sizeof(path), "%s/%s", folder ? folder : "", name);
	if (!folder || access(path, F_OK))
		return false;
	setenv("WAYLAND_DISPLAY", name, 1);
	return true;
}

_Noreturn static void run_opener(const char *address)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	setsid();
	for (int fd = STDIN_FILENO; null >= 0 && fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
	execlp(OPENER, OPENER, address, NULL);
	_exit(127);
}

void browser_start(struct browser *browser, const char *address)
{
	if (!browser->is_ours || !has_display() || !program_is_found(OPENER))
		return;
	browser->pid = fork();
	if (browser->pid == 0)
		run_opener(address);
	if (browser->pid < 0)
		return;
	browser->started = true;
	browser->end_fd = (int)syscall(SYS_pidfd_open, browser->pid, 0);
}

bool browser_has_failed(struct browser *browser)
{
	int status = 0;

	if (waitpid(browser->pid, &status, WNOHANG) != browser->pid)
		return false;
	cleanup_fd(&browser->end_fd);
	return !WIFEXITED(status) || WEXITSTATUS(status);
}
