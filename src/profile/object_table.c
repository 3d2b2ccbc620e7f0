/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/object_table.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/log.h"

struct table *object_table_make(struct parse_client *client, const struct object *object)
{
	struct table *table = NULL;
	struct client_file file;
	struct fpl_err err = { 0 };
	int error = client_file_init(&file, object->elf->fd, object->path);

	if (error)
		return NULL;
	file.synth = true;
	client_find_debug(client, &file, object->elf, &object->link, NULL);
	error = client_table(client, &file, &table, &err);
	cleanup_fd(&file.debug_fd);
	if (error && error != -ENODATA)
		fpl_log(FPL_LOG_WARN, "%s", err.msg);
	return error ? NULL : table;
}
