/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/elf_input.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "obj/regular_file.h"
#include "parse/client.h"
#include "parse/sandbox.h"
#include "proc/rights.h"

/* Puts the debug file into @input, if there is one. */
static void find_debug(struct parser *parser, const char *path, struct elf_input *input)
{
	struct parse_client *client;
	struct client_file file;
	struct elf_file *elf = NULL;
	struct debug_link link;

	if (client_open(parser, &client, NULL))
		return;
	if (!client_file_init(&file, input->fd, path) &&
	    !client_facts(client, &file, &elf, NULL, &link, NULL)) {
		client_find_debug(client, &file, elf, &link, NULL);
		input->debug_fd = file.debug_fd;
		elf_file_close(elf);
	}
	client_close(client);
}

int elf_input_open(const char *path, enum parser_image image, struct elf_input *ret,
		   struct fpl_err *err)
{
	struct parser *parser;
	struct stat st;

	*ret = (struct elf_input){ .fd = -1, .debug_fd = -1 };

	int code = regular_file_open(path, &ret->fd, &st);

	if (code)
		return fpl_fail(err, code, "%s: %s", path,
				code == -ENOEXEC ? "not a regular file" : strerror(-code));
	code = parser_create(image, &parser, err);
	if (code)
		return code;
	find_debug(parser, path, ret);
	parser_destroy(parser);
	return 0;
}

void elf_input_close(struct elf_input *input)
{
	cleanup_fd(&input->fd);
	cleanup_fd(&input->debug_fd);
}

int elf_input_give_up_rights(struct fpl_err *err)
{
	int code = rights_drop_all(err);

	return code ? code : sandbox_enter_reader(false, err);
}
