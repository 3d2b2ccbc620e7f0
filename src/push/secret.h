/* SPDX-License-Identifier: Apache-2.0 */
/* The credentials of a server, which come from a file: arguments are seen by all. */
#pragma once

#include "base/err.h"

/*
 * The value of the header Authorization by the line in @path ("": none, and *ret is ""), to be
 * freed: as it is where it begins with "Bearer " or "Basic ", else behind "Bearer ". The file is of
 * this user or root, and others may not read it; the group may where the service manager has placed
 * it ($CREDENTIALS_DIRECTORY). Errors: -EACCES, -EINVAL, those of open(2).
 */
FPL_MUST_CHECK int secret_read(const char *path, char **ret, struct fpl_err *err);
