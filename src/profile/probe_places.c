/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/probe_places.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/similar.h"
#include "base/text.h"
#include "parse/client.h"

struct asking {
	struct parse_client *client;
	struct client_file file;
	const struct probe_word *word;
	struct fpl_err *err;
};

/* The file, as people know it. */
static const char *name_of(const struct asking *asking)
{
	return text_path_name(asking->file.path);
}

/* Add a text to a list with commas; what has no room is left out. */
static void add_to_list(char *list, size_t size, const char *text)
{
	size_t len = strlen(list);

	if (len + strlen(text) + 3 > size)
		return;
	snprintf(list + len, size - len, "%s%s", len ? ", " : "", text);
}

static int fail_unknown(const struct asking *asking, const struct probe_sites *similar)
{
	char list[200] = "", safe[4 * sizeof(list)];

	for (size_t i = 0; i < similar->nr; i++)
		add_to_list(list, sizeof(list), similar->text + similar->list[i].name);
	/* names in a file may hold anything */
	text_escape(safe, sizeof(safe), list, "");
	return fpl_fail(asking->err, -EINVAL, "%s: no function is called %s%s%.200s%s",
			name_of(asking), asking->word->name, *list ? ": did you mean " : "", safe,
			*list ? "?" : "");
}

static int fail_many(const struct asking *asking, const struct probe_sites *sites)
{
	char list[200] = "", address[24];

	for (size_t i = 0; i < sites->nr; i++) {
		snprintf(address, sizeof(address), "0x%" PRIx64, sites->list[i].vaddr);
		add_to_list(list, sizeof(list), address);
	}
	return fpl_fail(asking->err, -EINVAL,
			"%s: %zu functions are called %s: name one by its address: %s",
			name_of(asking), sites->nr, asking->word->name, list);
}

/* Is there one function, and can it be probed? */
static int check_function(const struct asking *asking, const struct probe_sites *sites)
{
	if (!sites->nr || sites->list[0].kind == PROBE_SITE_SIMILAR)
		return fail_unknown(asking, sites);
	if (sites->nr > 1)
		return fail_many(asking, sites);
	if (sites->list[0].kind == PROBE_SITE_IFUNC)
		return fpl_fail(
			asking->err, -EINVAL,
			"%s: %s is no function, but chooses one when a program starts (IFUNC): probe that one",
			name_of(asking), asking->word->name);
	return 0;
}

/* Does an instruction begin at @vaddr? A probe elsewhere would change the program. */
static int check_instruction(const struct asking *asking, uint64_t vaddr, bool is_return)
{
	CLEANUP(listing_fini) struct listing listing = { .nr = 0 };
	int code =
		client_listing(asking->client, &asking->file, vaddr, false, &listing, asking->err);

	if (code)
		return code == -ENOENT ? -EINVAL : code;
	if (is_return && listing.range.start != vaddr)
		return fpl_fail(asking->err, -EINVAL, "%s: 0x%" PRIx64 ": no function begins there",
				name_of(asking), vaddr);
	for (size_t i = 0; i < listing.nr; i++)
		if (listing.insns[i].vaddr == vaddr)
			return 0;
	return fpl_fail(asking->err, -EINVAL, "%s: 0x%" PRIx64 ": no instruction begins there",
			name_of(asking), vaddr);
}

/* Add the offset of the word to its function. */
static int move(const struct asking *asking, struct probe_site *site)
{
	const struct probe_word *word = asking->word;

	/* a symbol's place is code; an address may be any */
	if (!word->off && site->size)
		return 0;
	if (site->size && word->off >= site->size)
		return fpl_fail(asking->err, -EINVAL,
				"%s: %s has %" PRIu64 " bytes: +%" PRIu64 " is behind it",
				name_of(asking), word->name, site->size, word->off);
	site->vaddr += word->off;
	site->off += word->off;
	return check_instruction(asking, site->vaddr, probe_is_return(word->kind));
}

/* Find its debug file; none is no error. */
static void find_debug(struct asking *asking)
{
	struct elf_file *elf = NULL;
	struct debug_link link;

	if (client_facts(asking->client, &asking->file, &elf, NULL, &link, NULL))
		return;
	client_find_debug(asking->client, &asking->file, elf, &link, NULL);
	elf_file_close(elf);
}

static int find_function(struct asking *asking, struct probe_sites *sites)
{
	const char *name = asking->word->name;
	int code = client_function(asking->client, &asking->file, name, sites, asking->err);

	if (!code && (!sites->nr || sites->list[0].kind == PROBE_SITE_SIMILAR)) {
		find_debug(asking);
		if (asking->file.debug_fd >= 0) {
			probe_sites_fini(sites);
			code = client_function(asking->client, &asking->file, name, sites,
					       asking->err);
		}
	}
	if (!code)
		code = check_function(asking, sites);
	return code ? code : move(asking, &sites->list[0]);
}

/* The probe whose name is most like the one wanted; NULL: no name is like it. */
static const struct probe_site *most_similar(const struct probe_word *word,
					     const struct probe_sites *sites)
{
	size_t best = (strlen(word->provider) + strlen(word->name)) / 3 + 2;
	const struct probe_site *found = NULL;

	for (size_t i = 0; i < sites->nr; i++) {
		const struct probe_site *site = &sites->list[i];
		size_t distance = similar_distance(word->provider, sites->text + site->provider) +
				  similar_distance(word->name, sites->text + site->name);

		if (distance >= best)
			continue;
		best = distance;
		found = site;
	}
	return found;
}

static int fail_no_probe(const struct asking *asking, const struct probe_sites *sites)
{
	const struct probe_site *meant = most_similar(asking->word, sites);
	char name[200] = "", safe[4 * sizeof(name)];

	if (!sites->nr)
		return fpl_fail(asking->err, -EINVAL, "%s: the file has no USDT probes",
				name_of(asking));
	if (meant)
		snprintf(name, sizeof(name), ": did you mean %.90s:%.90s?",
			 sites->text + meant->provider, sites->text + meant->name);
	else
		snprintf(name, sizeof(name), ": fpless events %.160s names all", asking->file.path);
	text_escape(safe, sizeof(safe), name, "");
	return fpl_fail(asking->err, -EINVAL, "%s: no USDT probe is called %s:%s%.240s",
			name_of(asking), asking->word->provider, asking->word->name, safe);
}

static int find_usdt(struct asking *asking, struct probe_sites *sites)
{
	const struct probe_word *word = asking->word;
	int code = client_probes(asking->client, &asking->file, sites, asking->err);
	size_t nr = 0;

	if (code)
		return code;
	for (size_t i = 0; i < sites->nr; i++) {
		const struct probe_site *site = &sites->list[i];

		if (!strcmp(sites->text + site->provider, word->provider) &&
		    !strcmp(sites->text + site->name, word->name))
			nr++;
	}
	if (!nr)
		return fail_no_probe(asking, sites);
	if (nr > PROBE_PLACES_MAX)
		return fpl_fail(asking->err, -EINVAL, "%s: %s:%s is at %zu places, at most %u",
				name_of(asking), word->provider, word->name, nr, PROBE_PLACES_MAX);
	nr = 0;
	for (size_t i = 0; i < sites->nr; i++) {
		const struct probe_site *site = &sites->list[i];

		if (!strcmp(sites->text + site->provider, word->provider) &&
		    !strcmp(sites->text + site->name, word->name))
			sites->list[nr++] = *site;
	}
	sites->nr = nr;
	return 0;
}

int probe_places_find(struct parser *parser, const struct probe_file *file,
		      const struct probe_word *word, struct probe_sites *ret, struct fpl_err *err)
{
	struct asking asking = { .word = word, .err = err };
	struct probe_sites sites = { .nr = 0 };
	int code = client_open(parser, &asking.client, err);

	if (code)
		return code;
	code = client_file_init(&asking.file, file->fd, file->path);
	if (code)
		code = fpl_fail(err, code, "%s: %s", file->path, strerror(-code));
	else
		code = word->kind == PROBE_USDT ? find_usdt(&asking, &sites)
						: find_function(&asking, &sites);
	cleanup_fd(&asking.file.debug_fd);
	client_close(asking.client);
	if (code) {
		probe_sites_fini(&sites);
		return code;
	}
	*ret = sites;
	return 0;
}
