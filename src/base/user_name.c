/* SPDX-License-Identifier: Apache-2.0 */
#include "base/user_name.h"

#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>

#include "base/text.h"

/* Not getpwuid(3): modules that ask servers would be loaded into this process. */
void user_name(uint64_t uid, char *to, size_t size)
{
	FILE *file = fopen("/etc/passwd", "re");
	const struct passwd *entry = NULL;
	char name[USER_NAME_SIZE / 2 + 1];

	while (file && (entry = fgetpwent(file)) && entry->pw_uid != uid)
		;
	if (entry) {
		text_escape(name, sizeof(name), entry->pw_name, "");
		snprintf(to, size, "%" PRIu64 " (%s)", uid, name);
	} else {
		snprintf(to, size, "%" PRIu64, uid);
	}
	if (file)
		(void)fclose(file);
}
