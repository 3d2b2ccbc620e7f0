/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/host.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/btf.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"

/* Numbers of the namespaces the kernel boots with (include/linux/proc_ns.h). */
#define PID_NS_INITIAL	4026531836u
#define USER_NS_INITIAL 4026531837u

/* Lines of /proc/kallsyms looked at: per-CPU symbols at its start are zero on some kernels. */
#define KALLSYMS_LINES 4096

static bool path_of(const char *root, const char *path, char *ret, size_t size)
{
	int n = snprintf(ret, size, "%s%s", root, path);

	return n >= 0 && (size_t)n < size;
}

/* Read at most @size - 1 bytes of a file as a string; returns its length or a negative errno. */
static ssize_t read_text(const char *root, const char *path, char *ret, size_t size)
{
	char full[PATH_MAX];

	ret[0] = '\0';
	if (!path_of(root, path, full, sizeof(full)))
		return -ENAMETOOLONG;

	AUTO_FD int fd = open(full, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -errno : io_read(fd, ret, size - 1);

	ret[length < 0 ? 0 : length] = '\0';
	return length;
}

/* The first line of a file, without its end. */
static void read_line(const char *root, const char *path, char *ret, size_t size)
{
	if (read_text(root, path, ret, size) < 0)
		ret[0] = '\0';
	ret[strcspn(ret, "\n")] = '\0';
}

static int64_t read_number(const char *root, const char *path)
{
	char text[64];
	int64_t value;

	if (read_text(root, path, text, sizeof(text)) <= 0 || sscanf(text, "%" SCNd64, &value) != 1)
		return HOST_UNKNOWN;
	return value;
}

static void read_sysctls(const char *root, struct host *host)
{
	static const char *const paths[] = {
#define X(name, path) [HOST_SYSCTL_##name] = "/proc/sys/" path,
		HOST_SYSCTL_LIST(X)
#undef X
	};

	for (size_t i = 0; i < HOST_SYSCTL_COUNT; i++)
		host->sysctls[i] = read_number(root, paths[i]);
}

/* The rest of the line of @text that begins with @key, or NULL. */
static const char *value_of(const char *text, const char *key)
{
	size_t length = strlen(key);

	while (text && *text) {
		if (strncmp(text, key, length) == 0)
			return text + length;
		text = strchr(text, '\n');
		text = text ? text + 1 : NULL;
	}
	return NULL;
}

static void read_status(const char *root, struct host *host)
{
	char text[8192];
	const char *value;
	int64_t ids[2];

	host->seccomp = -1;
	host->euid = -1;
	if (read_text(root, "/proc/self/status", text, sizeof(text)) <= 0)
		return;
	value = value_of(text, "CapEff:");
	host->has_caps = value && sscanf(value, "%" SCNx64, &host->caps) == 1;
	value = value_of(text, "Uid:"); /* real, effective, ... */
	if (value && sscanf(value, "%" SCNd64 "%" SCNd64, &ids[0], &ids[1]) == 2)
		host->euid = ids[1];
	value = value_of(text, "Seccomp:");
	if (value && sscanf(value, "%d", &host->seccomp) != 1)
		host->seccomp = -1;
}

static enum host_ns read_ns(const char *root, const char *path, unsigned int initial,
			    uint32_t *ret_inum)
{
	char full[PATH_MAX], link[64];
	unsigned int number;

	*ret_inum = 0;
	if (!path_of(root, path, full, sizeof(full)))
		return HOST_NS_UNKNOWN;

	ssize_t n = readlink(full, link, sizeof(link) - 1);

	if (n <= 0)
		return HOST_NS_UNKNOWN;
	link[n] = '\0';
	if (sscanf(link, "%*[a-z]:[%u]", &number) != 1)
		return HOST_NS_UNKNOWN;
	*ret_inum = number;
	return number == initial ? HOST_NS_INITIAL : HOST_NS_OTHER;
}

/* /proc/self is our number in the PID namespace that /proc was mounted for, and empty if we have no
 * number there. */
static bool is_foreign_proc(const char *root)
{
	char full[PATH_MAX], link[64];
	struct stat st;
	int pid;

	if (!path_of(root, "/proc/self", full, sizeof(full)) || lstat(full, &st) < 0 ||
	    !S_ISLNK(st.st_mode))
		return false; /* no /proc at all, or a made-up one */

	ssize_t n = readlink(full, link, sizeof(link) - 1);

	if (n <= 0)
		return true;
	link[n] = '\0';
	return sscanf(link, "%d", &pid) != 1 || pid != (int)getpid();
}

/* Documentation/bpf/btf.rst, "BTF Type and String Encoding". */
static bool is_btf(const struct btf_header *header, uint64_t bytes)
{
	uint64_t types = (uint64_t)header->hdr_len + header->type_off + header->type_len;
	uint64_t strings = (uint64_t)header->hdr_len + header->str_off + header->str_len;

	return header->magic == BTF_MAGIC && header->version == BTF_VERSION &&
	       header->hdr_len >= sizeof(*header) && header->type_len > 0 && header->str_len > 0 &&
	       types <= bytes && strings <= bytes;
}

static void read_btf(const char *root, struct host_btf *ret)
{
	char full[PATH_MAX];
	struct btf_header header;
	struct stat st;

	*ret = (struct host_btf){ .error = -ENOENT };
	if (!path_of(root, "/sys/kernel/btf/vmlinux", full, sizeof(full)))
		return;

	AUTO_FD int fd = open(full, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	ret->error = fd < 0 || fstat(fd, &st) < 0 ? -errno : 0;
	if (ret->error)
		return;
	ret->bytes = (uint64_t)st.st_size;
	ret->plausible = read(fd, &header, sizeof(header)) == (ssize_t)sizeof(header) &&
			 is_btf(&header, ret->bytes);
}

/* "none [integrity] confidentiality": the one in force is in brackets. */
static enum host_lockdown read_lockdown(const char *root)
{
	char line[128];

	read_line(root, "/sys/kernel/security/lockdown", line, sizeof(line));
	return strstr(line, "[confidentiality]") ? HOST_LOCKDOWN_CONFIDENTIALITY
	       : strstr(line, "[integrity]")	 ? HOST_LOCKDOWN_INTEGRITY
						 : HOST_LOCKDOWN_NONE;
}

/* The mount point of the first tracefs in /proc/self/mounts: "DEVICE POINT TYPE OPTIONS 0 0". */
static void read_tracefs(const char *root, char *ret, size_t size)
{
	char full[PATH_MAX], line[4096], point[HOST_TEXT_MAX], type[64];

	ret[0] = '\0';
	if (!path_of(root, "/proc/self/mounts", full, sizeof(full)))
		return;

	FILE *file = fopen(full, "re");

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%*s %255s %63s", point, type) == 2 && !strcmp(type, "tracefs")) {
			snprintf(ret, size, "%s", point);
			break;
		}
	}
	if (file)
		fclose(file);
}

static enum host_kallsyms read_kallsyms(const char *root)
{
	enum host_kallsyms seen = HOST_KALLSYMS_UNREADABLE;
	char full[PATH_MAX], line[512];
	uint64_t addr;

	if (!path_of(root, "/proc/kallsyms", full, sizeof(full)))
		return seen;

	FILE *file = fopen(full, "re");

	for (int i = 0; file && i < KALLSYMS_LINES && fgets(line, sizeof(line), file); i++) {
		if (sscanf(line, "%" SCNx64, &addr) != 1)
			continue;
		seen = addr ? HOST_KALLSYMS_VISIBLE : HOST_KALLSYMS_HIDDEN;
		if (addr)
			break;
	}
	if (file)
		fclose(file);
	return seen;
}

static bool has_entries(const char *root, const char *path)
{
	char full[PATH_MAX];
	bool found = false;

	if (!path_of(root, path, full, sizeof(full)))
		return false;

	DIR *folder = opendir(full);

	for (struct dirent *entry; folder && !found && (entry = readdir(folder));)
		found = entry->d_name[0] != '.';
	if (folder)
		closedir(folder);
	return found;
}

/* KEY=value or KEY="value" of os-release(5). */
static void take_assignment(const char *text, const char *key, char *ret, size_t size)
{
	const char *value = value_of(text, key);

	ret[0] = '\0';
	if (!value)
		return;

	size_t quoted = *value == '"' || *value == '\'';
	size_t length = strcspn(value + quoted, quoted ? "\"'\n" : "\n");

	snprintf(ret, size, "%.*s", (int)(length < size ? length : size - 1), value + quoted);
}

static void read_os(const char *root, struct host *host)
{
	char text[8192];

	if (read_text(root, "/etc/os-release", text, sizeof(text)) <= 0)
		(void)!read_text(root, "/usr/lib/os-release", text, sizeof(text));
	take_assignment(text, "ID=", host->os_id, sizeof(host->os_id));
	take_assignment(text, "VERSION_CODENAME=", host->os_codename, sizeof(host->os_codename));
	take_assignment(text, "ID_LIKE=", host->os_like, sizeof(host->os_like));
}

/* "NAME  SOFT  HARD  UNITS" of /proc/self/limits, proc(5). */
static uint64_t limit_of(const char *text, const char *name, bool hard)
{
	const char *value = value_of(text, name);
	char soft_text[24], hard_text[24];
	uint64_t limit;

	if (!value || sscanf(value, "%23s %23s", soft_text, hard_text) != 2)
		return UINT64_MAX;
	return sscanf(hard ? hard_text : soft_text, "%" SCNu64, &limit) == 1 ? limit : UINT64_MAX;
}

static void read_limits(const char *root, struct host *host)
{
	char text[4096];

	if (read_text(root, "/proc/self/limits", text, sizeof(text)) < 0)
		text[0] = '\0';
	host->memlock = limit_of(text, "Max locked memory", false);
	host->memlock_hard = limit_of(text, "Max locked memory", true);
	host->nofile_hard = limit_of(text, "Max open files", true);
	host->nice_max = limit_of(text, "Max nice priority", false);
}

static void read_self_path(const char *root, struct host *host)
{
	char full[PATH_MAX];
	ssize_t n = path_of(root, "/proc/self/exe", full, sizeof(full))
			    ? readlink(full, host->self_path, sizeof(host->self_path) - 1)
			    : -1;

	if (n > 0 && (size_t)n < sizeof(host->self_path) - 1)
		host->self_path[n] = '\0';
	else
		snprintf(host->self_path, sizeof(host->self_path), "fpless");
}

void host_read(const char *root, struct host *ret)
{
	struct host host = { 0 };
	uint32_t user_ns_inum;
	const char *urls = getenv("DEBUGINFOD_URLS");
	char text[256];

	read_line(root, "/proc/sys/kernel/osrelease", host.release, sizeof(host.release));
	read_line(root, "/proc/sys/kernel/version", host.version, sizeof(host.version));
	read_sysctls(root, &host);
	read_status(root, &host);
	host.user_ns = read_ns(root, "/proc/self/ns/user", USER_NS_INITIAL, &user_ns_inum);
	host.pid_ns = read_ns(root, "/proc/self/ns/pid", PID_NS_INITIAL, &host.pid_ns_inum);
	host.foreign_proc = is_foreign_proc(root);
	read_btf(root, &host.btf);
	host.lockdown = read_lockdown(root);
	read_tracefs(root, host.tracefs, sizeof(host.tracefs));
	host.kallsyms = read_kallsyms(root);
	host.has_debug_files = has_entries(root, "/usr/lib/debug/.build-id");
	snprintf(host.debuginfod, sizeof(host.debuginfod), "%s", urls ? urls : "");
	read_os(root, &host);
	read_limits(root, &host);
	read_line(root, "/sys/devices/system/cpu/nohz_full", text, sizeof(text));
	host.nohz_full = text[0] >= '0' && text[0] <= '9';
	read_self_path(root, &host);
	*ret = host;
}

bool host_has_cap(const struct host *host, int cap)
{
	return host->has_caps && host->user_ns != HOST_NS_OTHER && (host->caps >> cap & 1);
}
