/* SPDX-License-Identifier: Apache-2.0 */
#include "format/bcc_entries.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"

void bcc_entries_fini(struct bcc_entries *entries)
{
	for (size_t i = 0; i < entries->nr; i++)
		free(entries->list[i].text);
	free(entries->list);
}

static int by_text(const void *a, const void *b)
{
	const struct bcc_entry *x = a, *y = b;

	return x->pid != y->pid ? (x->pid < y->pid ? -1 : 1) : strcmp(x->text, y->text);
}

static int by_shown(const void *a, const void *b)
{
	const struct bcc_entry *x = a, *y = b;

	if (x->shown != y->shown)
		return x->shown < y->shown ? -1 : 1;

	int order = strcmp(x->text, y->text);

	return order ? order : (x->pid > y->pid) - (x->pid < y->pid);
}

/* Make entries that read the same one; they end up sorted by text. */
static void merge(struct bcc_entries *entries)
{
	size_t nr = 0;

	qsort(entries->list, entries->nr, sizeof(*entries->list), by_text);
	for (size_t i = 0; i < entries->nr; i++) {
		struct bcc_entry *entry = &entries->list[i];

		if (nr && !by_text(&entries->list[nr - 1], entry)) {
			entries->list[nr - 1].shown += entry->shown;
			free(entry->text);
		} else {
			entries->list[nr++] = *entry;
		}
	}
	entries->nr = nr;
}

void bcc_entries_merge(struct bcc_entries *entries, uint64_t unit)
{
	size_t nr = 0;

	merge(entries);
	for (size_t i = 0; i < entries->nr; i++) {
		struct bcc_entry entry = entries->list[i];

		entry.shown /= unit;
		if (entry.shown)
			entries->list[nr++] = entry;
		else
			free(entry.text);
	}
	entries->nr = nr;
	qsort(entries->list, nr, sizeof(*entries->list), by_shown);
}

void bcc_put_safe(FILE *to, const char *text)
{
	size_t size = text_escape(NULL, 0, text, ";") + 1;
	AUTO_FREE char *safe = must_malloc(size);

	text_escape(safe, size, text, ";");
	fputs(safe, to);
}

void bcc_put_function(FILE *to, const struct recording *recording,
		      const struct recording_frame *frame)
{
	const struct recording_function *function = recording_function_of(recording, frame);

	if (function)
		bcc_put_safe(to, recording_string(recording, function->name));
	else
		fputs("[unknown]", to);
}
