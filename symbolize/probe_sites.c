/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/probe_sites.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/cursor.h"

#define NOTES_MAX  (16u << 20) /* bytes of all notes */
#define NOTE_OWNER "stapsdt"
#define NOTE_TYPE  3u

void probe_sites_fini(struct probe_sites *sites)
{
	free(sites->list);
	free(sites->text);
	*sites = (struct probe_sites){ 0 };
}

static bool is_text(const struct probe_sites *sites, uint32_t at)
{
	return at < sites->text_size;
}

bool probe_sites_check(const struct probe_sites *sites)
{
	if (sites->text_size && sites->text[sites->text_size - 1])
		return false;
	for (size_t i = 0; i < sites->nr; i++) {
		const struct probe_site *site = &sites->list[i];

		if (site->kind >= PROBE_SITE_KIND_COUNT || !is_text(sites, site->provider) ||
		    !is_text(sites, site->name) || !is_text(sites, site->args) ||
		    site->off > INT64_MAX || site->ref_ctr_off > INT64_MAX ||
		    site->size > INT64_MAX || site->nr_code > PROBE_CODE_SIZE)
			return false;
	}
	return true;
}

static int add_text(struct probe_sites *sites, const char *text, uint32_t *ret)
{
	size_t size = strlen(text) + 1;

	if (size > PROBE_TEXT_MAX - sites->text_size)
		return -E2BIG;
	if (array_reserve(&sites->text, sizeof(*sites->text), &sites->text_room,
			  sites->text_size + size))
		return -ENOMEM;
	memcpy(sites->text + sites->text_size, text, size);
	*ret = (uint32_t)sites->text_size;
	sites->text_size += size;
	return 0;
}

int probe_sites_add(struct probe_sites *sites, const struct probe_site *site, const char *provider,
		    const char *name, const char *args)
{
	struct probe_site own = *site;
	int code = sites->nr == PROBE_SITES_MAX ? -E2BIG : 0;

	if (!code)
		code = add_text(sites, provider, &own.provider);
	if (!code)
		code = add_text(sites, name, &own.name);
	if (!code)
		code = add_text(sites, args, &own.args);
	if (!code)
		code = array_reserve(&sites->list, sizeof(*sites->list), &sites->room,
				     sites->nr + 1);
	if (!code)
		sites->list[sites->nr++] = own;
	return code;
}

bool probe_sites_place(const struct elf_file *elf, uint64_t vaddr, uint64_t size, uint32_t flags,
		       uint64_t *ret)
{
	const struct elf_segment *segment = elf_file_load_at(elf, vaddr, size);

	if (!segment || (segment->flags & flags) != flags)
		return false;
	*ret = segment->off + (vaddr - segment->vaddr);
	return *ret <= INT64_MAX;
}

/* A text of the note, which ends in it; NULL: it does not. */
static const char *take_text(struct cursor *note)
{
	const char *text = cursor_text(note, cursor_left(note));

	return note->bad ? NULL : text;
}

/*
 * Add the probe of a note (systemtap, "UserSpaceProbeImplementation"): its address, the address of
 * .stapsdt.base when it was written, by which prelink moves both; the counter's; three texts.
 */
static int add_note(const struct elf_file *elf, const struct elf_section *moved,
		    const uint8_t *desc, size_t size, struct probe_sites *sites)
{
	struct cursor note = cursor_make(desc, size);
	struct probe_site site = { .vaddr = cursor_u64(&note), .kind = PROBE_SITE_CODE };
	uint64_t base = cursor_u64(&note), counter = cursor_u64(&note);
	const char *provider = take_text(&note), *name = take_text(&note), *args = take_text(&note);

	if (!provider || !name || !args || !*provider || !*name)
		return 0;
	if (moved && base)
		site.vaddr += moved->vaddr - base;
	if (!probe_sites_place(elf, site.vaddr, 1, PF_X, &site.off) ||
	    (counter && !probe_sites_place(elf, counter, 2, PF_W, &site.ref_ctr_off)))
		return 0;
	return probe_sites_add(sites, &site, provider, name, args);
}

static uint64_t padded(uint64_t size)
{
	return (size + 3) & ~3ull;
}

static int add_notes(const struct elf_file *elf, const uint8_t *bytes, size_t size,
		     struct probe_sites *sites)
{
	const struct elf_section *moved = elf_file_section(elf, ".stapsdt.base");
	struct cursor notes = cursor_make(bytes, size);
	int code = 0;

	while (!code && cursor_left(&notes)) {
		uint32_t name_size = cursor_u32(&notes), desc_size = cursor_u32(&notes),
			 type = cursor_u32(&notes);
		const uint8_t *name = cursor_skip(&notes, padded(name_size)),
			      *desc = cursor_skip(&notes, padded(desc_size));

		if (notes.bad)
			break;
		if (type == NOTE_TYPE && name_size == sizeof(NOTE_OWNER) &&
		    !memcmp(name, NOTE_OWNER, sizeof(NOTE_OWNER)))
			code = add_note(elf, moved, desc, desc_size, sites);
	}
	return code;
}

int probe_sites_read_notes(const struct elf_file *elf, struct probe_sites *sites,
			   struct fpl_err *err)
{
	const struct elf_section *section = elf_file_section(elf, ".note.stapsdt");
	AUTO_FREE uint8_t *bytes = NULL;
	size_t size;
	int code;

	if (!section)
		return 0;
	code = elf_file_section_bytes(elf, section, NOTES_MAX, &bytes, &size, err);
	if (code)
		return code;
	code = add_notes(elf, bytes, size, sites);
	return code ? fpl_fail(err, code, "%s: .note.stapsdt: %s", elf->name,
			       code == -E2BIG ? "more probes than a file may have"
					      : "out of memory")
		    : 0;
}
