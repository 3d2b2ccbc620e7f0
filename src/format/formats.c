/* SPDX-License-Identifier: Apache-2.0 */
#include "format/formats.h"

#include <string.h>

#include "base/cleanup.h"
#include "format/firefox.h"
#include "format/folded_write.h"
#include "format/jsonl_write.h"
#include "format/perf_script_write.h"
#include "format/pprof_write.h"
#include "format/speedscope.h"
#include "format/text_report.h"
#include "picture/html.h"
#include "picture/html_data.h"
#include "picture/svg.h"

/*
 * The format is that of small files: it is read by fpless rather than by scripts. Its text is so
 * much shorter than that of the others that a higher level costs little.
 */
static const struct format jsonl_zstd = {
	.name = "jsonl",
	.write = jsonl_write_tree,
	.zstd_level = 6,
};

const struct format formats[] = {
	{ .name = "folded", .extensions = { ".folded" }, .write = folded_write },
	{ .name = "text", .extensions = { ".txt" }, .write = text_report_write },
	{ .name = "jsonl", .extensions = { ".jsonl" }, .write = jsonl_write, .zstd = &jsonl_zstd },
	{ .name = "perf",
	  .extensions = { ".perf", ".linux-perf.txt" },
	  .write = perf_script_write },
	{ .name = "pprof",
	  .extensions = { ".pb.gz" },
	  .write = pprof_write,
	  .binary = true,
	  .parts = true },
	{ .name = "speedscope", .extensions = { ".speedscope.json" }, .write = speedscope_write },
	{ .name = "firefox",
	  .extensions = { ".json", ".firefox.json", ".profile.json" },
	  .write = firefox_write },
	{ .name = "svg", .extensions = { ".svg" }, .write = svg_write, .picture = true },
	{ .name = "html-data", .write = html_data_write, .picture = true },
	{ .name = "html",
	  .extensions = { ".html", ".htm" },
	  .write = html_write,
	  .picture = true,
	  .missing = HTML_MISSING },
};

const size_t formats_nr = ARRAY_SIZE(formats);

const struct format_list recording_formats = { formats, ARRAY_SIZE(formats) };

const struct format *format_find(const struct format_list *list, const char *name)
{
	for (size_t i = 0; i < list->nr; i++)
		if (!strcmp(list->list[i].name, name))
			return &list->list[i];
	return NULL;
}

/* Does a file name, more than an extension, end in @extension? */
static bool ends_in(const char *path, const char *extension)
{
	const char *slash = strrchr(path, '/');
	size_t length = strlen(slash ? slash + 1 : path), wanted = strlen(extension);

	return length > wanted && !strcmp(path + strlen(path) - wanted, extension);
}

const struct format *format_by_path(const struct format_list *list, const char *path)
{
	const struct format *found = NULL;
	size_t longest = 0;

	for (size_t i = 0; i < list->nr; i++) {
		for (size_t j = 0; j < FORMAT_EXTENSIONS_MAX && list->list[i].extensions[j]; j++) {
			const char *extension = list->list[i].extensions[j];

			if (strlen(extension) > longest && ends_in(path, extension)) {
				longest = strlen(extension);
				found = &list->list[i];
			}
		}
	}
	return found;
}

/* Append entry @idx of @nr to a list in words. */
static void append(char *buf, size_t size, const char *word, bool first, bool last)
{
	size_t at = strlen(buf);

	snprintf(buf + at, size - at, "%s%s", first ? "" : last ? " or " : ", ", word);
}

void formats_list_names(const struct format_list *list, char *buf, size_t size)
{
	*buf = '\0';
	for (size_t i = 0; i < list->nr; i++)
		append(buf, size, list->list[i].name, i == 0, i == list->nr - 1);
}

void formats_list_extensions(const struct format_list *list, char *buf, size_t size)
{
	*buf = '\0';
	for (size_t i = 0; i < list->nr; i++) {
		for (size_t j = 0; j < FORMAT_EXTENSIONS_MAX && list->list[i].extensions[j]; j++) {
			bool last = i == list->nr - 1 && (j + 1 == FORMAT_EXTENSIONS_MAX ||
							  !list->list[i].extensions[j + 1]);

			append(buf, size, list->list[i].extensions[j], i == 0 && j == 0, last);
		}
	}
}
