/* SPDX-License-Identifier: Apache-2.0 */
#include "manual/page.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vector.h"
#include "cli/verbs.h"
#include "manual/option_list.h"

#define MORE_MAX 128u

/* Text of a page about an option beyond the table. */
struct remark {
	char *option; /* owned */
	char *text;   /* owned: lines, each with its newline */
	bool used;
};

struct page {
	const char *path;
	VECTOR(char *) lines; /* owned, without their newlines */
	struct remark remarks[MORE_MAX];
	size_t nr_remarks;
};

static void page_fini(struct page *page)
{
	for (size_t i = 0; i < page->lines.nr; i++)
		free(page->lines.list[i]);
	vector_fini(&page->lines);
	for (size_t i = 0; i < page->nr_remarks; i++) {
		free(page->remarks[i].option);
		free(page->remarks[i].text);
	}
}

static int read_lines(FILE *from, struct page *page, struct fpl_err *err)
{
	AUTO_FREE char *line = NULL;
	size_t room = 0;

	while (getline(&line, &room, from) >= 0) {
		line[strcspn(line, "\n")] = '\0';

		char *copy = strdup(line);

		if (!copy || vector_push(&page->lines, copy)) {
			free(copy);
			return fpl_fail(err, -ENOMEM, "%s: out of memory", page->path);
		}
	}
	if (ferror(from))
		return fpl_fail(err, -EIO, "%s: cannot be read", page->path);
	return 0;
}

/* The text behind @word and a blank at the start of @line; NULL: @line starts otherwise. */
static const char *behind(const char *line, const char *word)
{
	size_t len = strlen(word);

	return !strncmp(line, word, len) && line[len] == ' ' ? line + len + 1 : NULL;
}

/* The remark at line *at, which moves behind it. */
static int take_remark(struct page *page, size_t *at, struct fpl_err *err)
{
	struct remark *remark = &page->remarks[page->nr_remarks];
	size_t size;

	if (page->nr_remarks == MORE_MAX)
		return fpl_fail(err, -EINVAL, "%s:%zu: too many remarks", page->path, *at + 1);
	*remark = (struct remark){ .option = strdup(behind(page->lines.list[*at], "@more")) };
	page->nr_remarks++;

	FILE *text = open_memstream(&remark->text, &size);

	if (!remark->option || !text)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", page->path);
	for (++*at; *at < page->lines.nr && *page->lines.list[*at]; ++*at)
		fprintf(text, "\t%s\n", page->lines.list[*at]);
	if (fclose(text))
		return fpl_fail(err, -ENOMEM, "%s: out of memory", page->path);
	return 0;
}

/* @text as scdoc shows it: its special characters are escaped. */
static void put_text(FILE *to, const char *text)
{
	if (*text && strchr("-.|[]#;", *text))
		fputc('\\', to);
	for (; *text; text++) {
		if (strchr("\\*_", *text))
			fputc('\\', to);
		fputc(*text, to);
	}
}

/* "*-x*, *--name*=_VALUE_", a line. */
static void put_calls(FILE *to, const struct argp_option *option)
{
	char letter = option_letter(option);
	bool optional = option_takes_value(option) && !option_needs_value(option);

	if (letter)
		fprintf(to, "*-%c*%s", letter, option->name ? ", " : "");
	if (option->name)
		fprintf(to, "*--%s*", option->name);
	if (option_takes_value(option)) {
		fprintf(to, "%s%s_", optional ? "[" : "", option->name ? "=" : " ");
		put_text(to, option->arg);
		fprintf(to, "_%s", optional ? "]" : "");
	}
	fputc('\n', to);
}

static void put_option(FILE *to, const struct argp_option *option, struct page *page)
{
	char call[64];

	put_calls(to, option);
	fputc('\t', to);
	if (option->doc) {
		put_text(to, option->doc);
		fputs(option->doc[strlen(option->doc) - 1] == '.' ? "\n" : ".\n", to);
	}
	option_call(option, call, sizeof(call));
	for (size_t i = 0; i < page->nr_remarks; i++) {
		if (strcmp(page->remarks[i].option, call) != 0)
			continue;
		fputs(page->remarks[i].text, to);
		page->remarks[i].used = true;
	}
	fputc('\n', to);
}

static int put_options(FILE *to, const char *name, struct page *page, size_t line,
		       struct fpl_err *err)
{
	CLEANUP(option_list_fini) struct option_list list = { 0 };
	const struct cli_verb *verb = cli_verb_find(name);

	if (!verb)
		return fpl_fail(err, -EINVAL, "%s:%zu: no verb '%s'", page->path, line, name);
	if (option_list_make(verb->argp, &list))
		return fpl_fail(err, -ENOMEM, "%s: out of memory", page->path);
	for (size_t i = 0; i < list.nr; i++) {
		const struct argp_option *option = list.list[i].option;

		if (option_is_heading(option)) {
			fputs("## ", to);
			fwrite(option->doc, 1, strcspn(option->doc, ":"), to);
			fputs("\n\n", to);
		} else {
			put_option(to, option, page);
		}
	}
	return 0;
}

static void put_verbs(FILE *to)
{
	for (size_t i = 0; i < cli_verbs_nr; i++) {
		fprintf(to, "*fpless-%s*(1)\n\t", cli_verbs[i].name);
		put_text(to, cli_verbs[i].text);
		fputs(".\n\n", to);
	}
}

static int put_line(FILE *to, const char *line, struct page *page, size_t number,
		    struct fpl_err *err)
{
	const char *verb = behind(line, "@options");

	if (verb)
		return put_options(to, verb, page, number, err);
	if (!strcmp(line, "@verbs"))
		put_verbs(to);
	else if (*line == '@')
		return fpl_fail(err, -EINVAL, "%s:%zu: what is '%s'?", page->path, number, line);
	else
		fprintf(to, "%s\n", line);
	return 0;
}

int page_write(FILE *from, const char *path, FILE *to, struct fpl_err *err)
{
	CLEANUP(page_fini) struct page page = { .path = path };
	int error = read_lines(from, &page, err);

	/* Remarks may stand behind the options they belong to. */
	for (size_t i = 0; !error && i < page.lines.nr; i++)
		if (behind(page.lines.list[i], "@more"))
			error = take_remark(&page, &i, err);
	for (size_t i = 0; !error && i < page.lines.nr; i++) {
		if (behind(page.lines.list[i], "@more"))
			while (i < page.lines.nr && *page.lines.list[i])
				i++;
		else
			error = put_line(to, page.lines.list[i], &page, i + 1, err);
	}
	for (size_t i = 0; !error && i < page.nr_remarks; i++)
		if (!page.remarks[i].used)
			error = fpl_fail(err, -EINVAL, "%s: @more %s: no such option", path,
					 page.remarks[i].option);
	return error;
}
