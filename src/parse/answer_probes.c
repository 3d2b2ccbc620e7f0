/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "parse/answer.h"

int answer_probes(struct answer_reader *reader, struct probe_sites *ret, struct fpl_err *err)
{
	CLEANUP(probe_sites_fini) struct probe_sites sites = { .nr = 0 };
	struct parse_probes head;
	int code = reader->read(reader->ctx, &head, sizeof(head));

	if (code)
		return code;
	if (head.nr > PROBE_SITES_MAX || head.text_size > PROBE_TEXT_MAX)
		return answer_refuse(reader, err, "more probes than a file may have");
	sites.list = calloc(head.nr + 1u, sizeof(*sites.list));
	sites.text = malloc(head.text_size + 1u);
	if (!sites.list || !sites.text)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", reader->path);
	sites.nr = head.nr;
	sites.room = head.nr + 1u;
	sites.text_size = head.text_size;
	sites.text_room = head.text_size + 1u;
	code = reader->read(reader->ctx, sites.list, sites.nr * sizeof(*sites.list));
	if (!code)
		code = reader->read(reader->ctx, sites.text, sites.text_size);
	if (code)
		return code;
	if (!probe_sites_check(&sites))
		return answer_refuse(reader, err, "a probe that makes no sense");
	*ret = sites;
	sites = (struct probe_sites){ .nr = 0 };
	return 0;
}
