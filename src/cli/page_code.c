/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/page_code.h"

#include <string.h>

#include "cli/cli.h"

/* No key of the other tables. */
enum { KEY_CODE = 0xe00 };

static const struct argp_option options_list[] = {
	{ "code", KEY_CODE, NULL, 0,
	  "Put the code of the hottest functions into a page (-o FILE.html), with its samples, as fpless annotate shows it: sources, too",
	  2 },
	{ 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	bool *wanted = state->input;

	(void)arg;
	if (key != KEY_CODE)
		return ARGP_ERR_UNKNOWN;
	*wanted = true;
	return 0;
}

const struct argp page_code_argp = { .options = options_list, .parser = parse_option };

void page_code_check(bool wanted, const struct output_options *output, struct argp_state *state)
{
	bool has_page = output->open;

	for (size_t i = 0; i < output->nr; i++)
		has_page |= output->list[i].format && !strcmp(output->list[i].format->name, "html");
	if (wanted && !has_page)
		argp_failure(state, CLI_EXIT_USAGE, 0, "--code: needs a page: -o FILE.html");
}

int page_code_open(const struct annotator_options *options, struct page_code *ret,
		   struct fpl_err *err)
{
	return annotator_open(options, &ret->annotator, err);
}

const struct annotations *page_code_make(struct page_code *code, const struct recording *recording)
{
	if (!code->annotator)
		return NULL;
	hot_code_find(recording, &code->hot);
	annotations_make(code->annotator, recording, &code->hot, &code->annotations);
	return &code->annotations;
}

void page_code_fini(struct page_code *code)
{
	annotations_fini(&code->annotations);
	hot_code_fini(&code->hot);
	annotator_close(code->annotator);
}
