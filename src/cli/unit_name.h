/* SPDX-License-Identifier: Apache-2.0 */
/* The short name of what runs in a cgroup: a unit of systemd, or a container. */
#pragma once

#define UNIT_NAME_SIZE 128u

/*
 * Write the name of the unit or container that @cgroup is of, or is within, to @ret and return it:
 * "cron.service", "docker-0123456789ab". Numbers that are new each time are left out, so that there
 * are few names: a session is its user's slice, "app-x-4711.scope" is "app-x.scope". The root and
 * "" are "host".
 */
const char *unit_name(const char *cgroup, char ret[static UNIT_NAME_SIZE]);
