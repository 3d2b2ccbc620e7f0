/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "cli/unit_name.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void units_and_containers_have_short_names(void **state)
{
	static const char *const cases[][2] = {
		{ "", "host" },
		{ "/", "host" },
		{ "/system.slice/cron.service", "cron.service" },
		{ "/system.slice/a.service/workers/3", "a.service" },
		{ "/system.slice/system-getty.slice/getty@tty1.service", "getty@tty1.service" },
		{ "/user.slice/user-1000.slice/session-3.scope", "user-1000.slice" },
		{ "/user.slice/user-1000.slice/user@1000.service/app.slice/app-x-4711.scope",
		  "app-x.scope" },
		{ "/user.slice/user-1000.slice/user@1000.service/init.scope", "init.scope" },
		{ "/system.slice/4711.scope", "4711.scope" },
		{ "/system.slice/docker-" ID ".scope", "docker-0123456789ab" },
		{ "/kubepods.slice/kubepods-burstable.slice/cri-containerd-" ID ".scope/x",
		  "cri-containerd-0123456789ab" },
		{ "/docker/" ID, "docker-0123456789ab" },
		{ "/" ID, "container-0123456789ab" },
		{ "/" ID "/" ID, "container-0123456789ab" },
		{ "/system.slice", "system.slice" },
		{ "/bench", "bench" },
		{ "/a//b/", "b" },
		{ ".service", ".service" },
		{ "[cgroup 12]", "[cgroup 12]" },
	};
	char name[UNIT_NAME_SIZE], path[600];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(unit_name(cases[i][0], name), cases[i][1]);
	/* of any length */
	for (size_t length = 1; length < sizeof(path); length += 7) {
		memset(path, 'x', length);
		path[length] = '\0';
		assert_int_equal(strlen(unit_name(path, name)),
				 length < UNIT_NAME_SIZE ? length : UNIT_NAME_SIZE - 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(units_and_containers_have_short_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
