// SPDX-License-Identifier: Apache-2.0
#include "script/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "script/language.h"

/* The file at hand. */
struct reader {
	int fd;
	uint64_t at, size;
	struct fpl_script_code record;
	struct script_names *names;
	size_t last_file; /* where the file's name of the code before begins, and */
	size_t last_size; /* its bytes: most code of a file comes together */
};

/* Errors: -EINVAL the file ends before. */
static int take(struct reader *reader, void *to, size_t size)
{
	if (size > reader->size - reader->at)
		return -EINVAL;
	while (size) {
		ssize_t n = pread(reader->fd, to, size, (off_t)reader->at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EINVAL;
		to = (uint8_t *)to + n;
		size -= (size_t)n;
		reader->at += (uint64_t)n;
	}
	return 0;
}

/* Without room in the text there is no name. */
static int add_text(struct script_names *names, const char *text, uint32_t *ret)
{
	size_t size = strlen(text) + 1;

	*ret = SCRIPT_NO_TEXT;
	if (size == 1 || size > SCRIPT_TEXT_MAX - names->text_size)
		return 0;
	if (array_reserve(&names->text, 1, &names->room_text, names->text_size + size))
		return -ENOMEM;
	memcpy(names->text + names->text_size, text, size);
	*ret = (uint32_t)names->text_size;
	names->text_size += size;
	return 0;
}

static int add_file(struct reader *reader, const char *file, uint32_t *ret)
{
	struct script_names *names = reader->names;
	size_t size = strlen(file) + 1;
	int code;

	if (size == reader->last_size && !memcmp(names->text + reader->last_file, file, size)) {
		*ret = (uint32_t)reader->last_file;
		return 0;
	}
	code = add_text(names, file, ret);
	if (code || *ret == SCRIPT_NO_TEXT)
		return code;
	reader->last_file = *ret;
	reader->last_size = size;
	return 0;
}

static int read_record(struct reader *reader, size_t size)
{
	struct fpl_script_code *record = &reader->record;
	size_t fixed = offsetof(struct fpl_script_code, lines);
	int code;

	if (size < fixed || size > sizeof(*record))
		return -EINVAL;
	code = take(reader, record, size);
	if (code)
		return code;
	memset((uint8_t *)record + size, 0, sizeof(*record) - size);
	if (record->nr_lines > size - fixed)
		record->nr_lines = 0;
	return 0;
}

/* Lines of @nr places; @language: NULL where @code has no name. */
static int read_lines(struct reader *reader, const struct script_language *language,
		      const struct script_code *code, uint32_t nr)
{
	struct script_names *names = reader->names;

	if (nr > SCRIPT_LINES_MAX - names->nr_lines)
		return -EINVAL;
	if (array_reserve(&names->lines, sizeof(*names->lines), &names->room_lines,
			  names->nr_lines + nr))
		return -ENOMEM;
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t place;
		int rc = take(reader, &place, sizeof(place));

		if (rc)
			return rc;
		names->lines[names->nr_lines++] = language ? language->line(code, place) : 0;
	}
	return 0;
}

static int read_code(struct reader *reader)
{
	struct script_name name = { .function = SCRIPT_NO_TEXT, .file = SCRIPT_NO_TEXT };
	struct script_names *names = reader->names;
	const struct script_language *language;
	struct script_file_code head;
	struct script_code code;
	int rc = take(reader, &head, sizeof(head));

	if (!rc)
		rc = read_record(reader, head.record_size);
	if (rc)
		return rc;
	if (names->nr_codes >= SCRIPT_CODES_MAX)
		return -EINVAL;
	language = script_language(head.language);
	if (language && !language->read_code(head.version, &reader->record, &code))
		language = NULL;
	if (language) {
		name.first_line = code.first_line;
		rc = add_text(names, code.function, &name.function);
		if (!rc)
			rc = add_file(reader, code.file, &name.file);
	}
	name.nr_lines = head.nr_places;
	if (!rc)
		rc = read_lines(reader, language, &code, head.nr_places);
	if (!rc)
		rc = array_reserve(&names->codes, sizeof(*names->codes), &names->room_codes,
				   names->nr_codes + 1);
	if (!rc)
		names->codes[names->nr_codes++] = name;
	return rc;
}

int script_names_read(int fd, uint64_t size, struct script_names *ret)
{
	AUTO_FREE struct reader *reader = calloc(1, sizeof(*reader));
	int code = 0;

	*ret = (struct script_names){ 0 };
	if (!reader)
		return -ENOMEM;
	if (size > SCRIPT_FILE_MAX)
		return -EINVAL;
	reader->fd = fd;
	reader->size = size;
	reader->names = ret;
	while (!code && reader->at < size)
		code = read_code(reader);
	return code;
}

static bool is_text(const struct script_names *names, uint32_t at)
{
	return at == SCRIPT_NO_TEXT || at < names->text_size;
}

bool script_names_check(const struct script_names *names)
{
	uint64_t lines = 0;

	if (names->text_size && names->text[names->text_size - 1])
		return false;
	for (size_t i = 0; i < names->nr_codes; i++) {
		if (!is_text(names, names->codes[i].function) ||
		    !is_text(names, names->codes[i].file))
			return false;
		lines += names->codes[i].nr_lines;
	}
	return lines == names->nr_lines;
}

void script_names_fini(struct script_names *names)
{
	free(names->codes);
	free(names->lines);
	free(names->text);
	*names = (struct script_names){ 0 };
}
