/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/heap_tellers.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/text.h"
#include "parse/client.h"
#include "preload/preload.h"
#include "source/probe_fields.h"
#include "symbolize/probe_sites.h"

#define PROVIDER "otel_memory"

/* Take argument number @idx of the probe. False: it has none, or the kernel side cannot read it. */
static bool take_argument(const struct event_format *format, unsigned int idx,
			  struct fpl_field *ret)
{
	static const char *const names[] = { "arg0", "arg1", "arg2" };
	const struct event_field *field = event_format_find(format, names[idx], strlen(names[idx]));

	if (!field || field->field.kind == FPL_FIELD_NONE)
		return false;
	*ret = field->field;
	return true;
}

/* The arguments by the text of the note. False: not all of them can be read. */
static bool read_arguments(const char *args, struct heap_place *place)
{
	CLEANUP(event_format_fini) struct event_format format = { 0 };
	struct fpl_told *told = &place->told;

	return !probe_fields_of_usdt(args, &format, NULL) &&
	       take_argument(&format, 0, &told->addr) &&
	       (place->frees || (take_argument(&format, 1, &told->size) &&
				 take_argument(&format, 2, &told->weight)));
}

static size_t nr_telling(const struct heap_places *places)
{
	size_t nr = 0;

	for (size_t i = 0; i < places->list.nr; i++)
		nr += places->list.list[i].tells;
	return nr;
}

/* Add the probe, if it is one of these. *ret_bad: its arguments cannot be read. */
static int add(const struct probe_sites *sites, size_t idx, struct heap_place *place,
	       struct heap_places *places, bool *ret_bad, struct fpl_err *err)
{
	const struct probe_site *site = &sites->list[idx];
	const char *name = sites->text + site->name;

	place->frees = !strcmp(name, "free");
	if (strcmp(sites->text + site->provider, PROVIDER) != 0 ||
	    (!place->frees && strcmp(name, "alloc") != 0))
		return 0;
	if (!read_arguments(sites->text + site->args, place)) {
		*ret_bad = true;
		return 0;
	}
	if (nr_telling(places) == FPL_TOLDS_MAX)
		return fpl_fail(err, -EINVAL, PROVIDER ": at more than %u places", FPL_TOLDS_MAX);
	place->off = site->off;
	place->ref_ctr_off = site->ref_ctr_off;
	return vector_push(&places->list, *place) ? fpl_fail(err, -ENOMEM, "heap: out of memory")
						  : 0;
}

int heap_tellers_find(struct parse_client *client, const struct client_file *client_file,
		      size_t file, struct heap_places *places, bool *ret, struct fpl_err *err)
{
	CLEANUP(probe_sites_fini) struct probe_sites sites = { .nr = 0 };
	size_t before = places->list.nr;
	bool is_ours = !strcmp(text_path_name(client_file->path), PRELOAD_FILE);
	bool allocates = false, frees = false, is_bad = false;
	int code = client_probes(client, client_file, &sites, err);

	*ret = false;
	for (size_t i = 0; !code && i < sites.nr; i++) {
		struct heap_place place = { .file = file,
					    .kind = FPL_ALLOC_TOLD,
					    .tells = true,
					    .told.from_caller = is_ours };

		code = add(&sites, i, &place, places, &is_bad, err);
	}
	for (size_t i = before; i < places->list.nr; i++) {
		frees |= places->list.list[i].frees;
		allocates |= !places->list.list[i].frees;
	}
	if (code)
		return code;
	if (is_bad)
		fpl_log(FPL_LOG_WARN,
			"%s: has " PROVIDER
			" probes, but some have arguments that cannot be read: its functions are probed",
			text_path_name(client_file->path));
	*ret = allocates && frees && !is_bad;
	places->nr_tellers += *ret;
	if (!*ret)
		places->list.nr = before;
	return 0;
}
