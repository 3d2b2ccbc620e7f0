/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/file_probes.h"

#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/field_kind.h"
#include "cli/stdout_status.h"
#include "parse/client.h"
#include "proc/host.h"
#include "profile/probe_file.h"
#include "profile/uprobe_multi.h"
#include "source/probe_fields.h"
#include "view/json.h"

/* A list of probes under way. */
struct listing_of {
	const char *path;
	struct probe_sites sites;
	const char *answer; /* can they be sampled? */
};

/* Reads the notes of the file at @path: a worker does. */
static int read_probes(const char *path, struct probe_sites *ret, struct fpl_err *err)
{
	struct probe_file file = { .fd = -1 };
	struct client_file asked;
	struct parse_client *client = NULL;
	struct parser *parser;
	int code = parser_create(PARSER_EXEC, &parser, err);

	if (code)
		return code;
	code = probe_file_open(parser_opener(parser), path, NULL, 0, &file, err);
	if (!code)
		code = client_open(parser, &client, err);
	if (!code) {
		code = client_file_init(&asked, file.fd, path);
		code = code ? fpl_fail(err, code, "%s: %s", path, strerror(-code))
			    : client_probes(client, &asked, ret, err);
	}
	client_close(client);
	cleanup_fd(&file.fd);
	parser_destroy(parser);
	return code;
}

static int compare_sites(const void *a, const void *b, void *ctx)
{
	const struct probe_site *x = a, *y = b;
	const char *text = ctx;
	int order = strcmp(text + x->provider, text + y->provider);

	if (!order)
		order = strcmp(text + x->name, text + y->name);
	if (!order)
		order = strcmp(text + x->args, text + y->args);
	return order ? order : x->off < y->off ? -1 : x->off > y->off;
}

static bool is_same_probe(const struct probe_sites *sites, size_t i, size_t k)
{
	const char *text = sites->text;

	return !strcmp(text + sites->list[i].provider, text + sites->list[k].provider) &&
	       !strcmp(text + sites->list[i].name, text + sites->list[k].name);
}

/* How many sites from @first on are of its probe. */
static size_t nr_places(const struct probe_sites *sites, size_t first)
{
	size_t end = first + 1;

	while (end < sites->nr && is_same_probe(sites, first, end))
		end++;
	return end - first;
}

/* Have the @nr sites from @first on the same arguments? */
static bool is_alike(const struct probe_sites *sites, size_t first, size_t nr)
{
	return !strcmp(sites->text + sites->list[first].args,
		       sites->text + sites->list[first + nr - 1].args);
}

/* Its word behind -e. */
static char *word_of(const struct listing_of *listing, const struct probe_site *site)
{
	const char *text = listing->sites.text;

	return must_asprintf("usdt:%s:%s:%s", listing->path, text + site->provider,
			     text + site->name);
}

/* Fields of a probe whose note has @args; none if it has more than there is room for. */
static struct event_format fields_of(const char *args)
{
	struct event_format format = { 0 };

	(void)!probe_fields_of_usdt(args, &format, NULL);
	return format;
}

static void print_fields(const char *args)
{
	CLEANUP(event_format_fini) struct event_format format = fields_of(args);
	char type[256];

	for (size_t i = 0; i < format.nr; i++) {
		text_escape(type, sizeof(type), format.fields[i].type, "");
		printf("    %-20s %-7s %s\n", format.fields[i].name,
		       field_kind_text(&format.fields[i]), type);
	}
}

static void print_probe(const struct listing_of *listing, size_t first, size_t nr, bool fields)
{
	const struct probe_sites *sites = &listing->sites;
	const struct probe_site *site = &sites->list[first];
	AUTO_FREE char *word = word_of(listing, site);
	size_t size = 4 * strlen(word) + 1;
	AUTO_FREE char *safe = must_malloc(size);

	text_escape(safe, size, word, "");
	printf("%-60s %-22s USDT probe", safe, listing->answer);
	if (nr > 1)
		printf(" at %zu places%s", nr,
		       is_alike(sites, first, nr) ? "" : ", of other arguments");
	printf("%s\n", site->ref_ctr_off ? ", off while nothing samples it" : "");
	for (size_t i = first; fields && i < first + nr; i++)
		if (i == first || strcmp(sites->text + sites->list[i - 1].args,
					 sites->text + sites->list[i].args))
			print_fields(sites->text + sites->list[i].args);
}

static void write_probe(struct json *json, const struct listing_of *listing, size_t first,
			size_t nr, bool fields)
{
	const struct probe_site *site = &listing->sites.list[first];
	AUTO_FREE char *word = word_of(listing, site);

	json_open(json, NULL, '{');
	json_string(json, "name", word);
	json_string(json, "kind", "usdt");
	json_string(json, "sampled_here", listing->answer);
	json_number(json, "places", nr);
	json_bool(json, "semaphore", site->ref_ctr_off != 0);
	if (fields) {
		CLEANUP(event_format_fini)
		struct event_format format = fields_of(listing->sites.text + site->args);

		json_open(json, "fields", '[');
		for (size_t i = 0; i < format.nr; i++)
			field_write(json, &format.fields[i]);
		json_close(json, ']');
	}
	json_close(json, '}');
}

static void list_probes(const struct listing_of *listing, bool fields, bool as_json)
{
	const struct probe_sites *sites = &listing->sites;
	struct json json = { .to = stdout };

	if (as_json)
		json_open(&json, NULL, '[');
	else
		printf("%-60s %-22s %s\n", "EVENT", "SAMPLED HERE", "WHAT");
	for (size_t i = 0, nr; i < sites->nr; i += nr) {
		nr = nr_places(sites, i);
		if (as_json)
			write_probe(&json, listing, i, nr, fields);
		else
			print_probe(listing, i, nr, fields);
	}
	if (as_json) {
		json_close(&json, ']');
		printf("\n");
	}
}

/* The kernel wants CAP_SYS_ADMIN for them, but for those that it sets by links. */
static const char *answer_here(void)
{
	struct host host;

	if (uprobe_multi_works())
		return "yes";
	if (access("/sys/bus/event_source/devices/uprobe/type", R_OK))
		return "not on this machine";
	host_read("", &host);
	return host_has_cap(&host, CAP_SYS_ADMIN) ? "yes" : "not with these rights";
}

int file_probes_list(const char *path, bool fields, bool json)
{
	struct listing_of listing = { .path = path, .answer = answer_here() };
	struct fpl_err err = { 0 };
	int code = read_probes(path, &listing.sites, &err);

	if (code) {
		fpl_log(FPL_LOG_ERROR, "%s", err.msg);
		return CLI_EXIT_CANNOT_RUN;
	}
	if (!listing.sites.nr) {
		fpl_log(FPL_LOG_ERROR, "%s: the file has no USDT probes", path);
		return CLI_EXIT_USAGE;
	}
	qsort_r(listing.sites.list, listing.sites.nr, sizeof(*listing.sites.list), compare_sites,
		listing.sites.text);
	list_probes(&listing, fields, json);
	probe_sites_fini(&listing.sites);
	return stdout_status();
}
