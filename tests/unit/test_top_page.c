/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <locale.h>

#include "../support/top_world.h"
#include "base/cleanup.h"
#include "base/width.h"
#include "top/page.h"

#define THREE "a;main;f;g 5\na;main;f 3\nb;main;f;read_[k];copy_[k] 2\n"

/* A view of a world, as a user at the keyboard sees it. */
struct view {
	struct world world;
	struct control control;
	struct table table;
	struct page page;
	const char *what, *log;
	size_t columns, lines;
};

static void view_fini(struct view *view)
{
	page_fini(&view->page);
	table_fini(&view->table);
	control_fini(&view->control);
	world_fini(&view->world);
}

static void draw(struct view *view)
{
	struct measure measure;
	const struct page_facts facts = {
		.measure = &measure,
		.what = view->what ? view->what : "all",
		.log = view->log ? view->log : "",
		.length_ns = 2000000000,
	};

	measure_init(&view->world.recording, &measure);
	table_fini(&view->table);
	assert_int_equal(table_make(&view->world.model, view->world.counts, &view->control.query,
				    &view->table),
			 0);
	assert_int_equal(page_make(&facts, &view->world.model, &view->table, &view->control,
				   view->columns, view->lines, &view->page),
			 0);
	assert_int_equal(view->page.lines.nr, view->lines);
	for (size_t i = 0; i < view->page.lines.nr; i++) {
		assert_true(width_of(view->page.lines.list[i].text) <= view->columns);
		assert_true(view->page.lines.list[i].share_bytes <=
			    strlen(view->page.lines.list[i].text));
	}
}

static void begin(struct view *view, const char *text, size_t columns, size_t lines)
{
	*view = (struct view){ .columns = columns, .lines = lines };
	world_add(&view->world, text);
	control_init(&view->control, &(struct table_query){ .kernel = true }, 2000, false);
	draw(view);
}

static void press(struct view *view, int key)
{
	control_take_key(&view->control, key, &view->world.model, &view->table);
	draw(view);
}

static void type(struct view *view, const char *text)
{
	while (*text)
		press(view, (unsigned char)*text++);
}

/* The lines without what is blank at their ends. */
static void assert_page(const struct view *view, const char *wanted)
{
	AUTO_FREE char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	assert_non_null(to);
	for (size_t i = 0; i < view->page.lines.nr; i++) {
		const char *line = view->page.lines.list[i].text;
		size_t length = strlen(line);

		while (length && line[length - 1] == ' ')
			length--;
		fprintf(to, "%.*s\n", (int)length, line);
	}
	fclose(to);
	assert_string_equal(text, wanted);
}

static void a_page_has_title_columns_rows_and_status(void **state)
{
	CLEANUP(view_fini) struct view view;

	(void)state;
	begin(&view, THREE, 60, 9);
	assert_page(&view, "10 samples in 2.0 s  fpless top: all\n"
			   "functions  100.0 % shown\n"
			   "*SELF% TOTAL% OBJECT           FUNCTION\n"
			   "  50.0   50.0 -                g\n"
			   "  30.0  100.0 -                f\n"
			   "  20.0   20.0 kernel           copy\n"
			   "   0.0  100.0 -                main\n"
			   "   0.0   20.0 kernel           read\n"
			   "h help  q quit  s sort  / filter  Enter more  Esc back  Tab\n");
	assert_int_equal(view.page.lines.list[3].style, PAGE_STYLE_SELECTED);
	assert_int_equal(view.page.lines.list[4].share_style, PAGE_STYLE_HOT);
	assert_int_equal(view.page.lines.list[5].style, PAGE_STYLE_KERNEL);
}

static void twenty_columns_and_five_lines_are_readable(void **state)
{
	CLEANUP(view_fini) struct view view;

	(void)state;
	begin(&view, THREE, 20, 5);
	assert_page(&view, "10 samples in 2.0 s\n"
			   "SELF% FUNCTION\n"
			   " 50.0 g\n"
			   " 30.0 f\n"
			   "h help  q quit\n");
	press(&view, 's');
	press(&view, CONTROL_KEY_END);
	assert_page(&view, "10 samples in 2.0 s\n"
			   " TOT% FUNCTION\n"
			   " 20.0 copy\n"
			   " 20.0 read\n"
			   "h help  q quit\n");
}

static void any_size_and_view_is_drawn(void **state)
{
	static const size_t sizes[] = { 1, 2, 3, 7, 8, 20, 43, 44, 80, 300 };
	static const int keys[] = { 's',
				    '\t',
				    CONTROL_KEY_ENTER,
				    CONTROL_KEY_ESCAPE,
				    '\t',
				    'h',
				    'h',
				    CONTROL_KEY_ENTER,
				    'f',
				    CONTROL_KEY_DOWN,
				    'k',
				    'p',
				    'w',
				    '/' };
	CLEANUP(view_fini) struct view view;

	(void)state;
	begin(&view, THREE, 80, 24);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(sizes); j++) {
			view.columns = sizes[i];
			view.lines = sizes[j];
			for (size_t k = 0; k < ARRAY_SIZE(keys); k++)
				press(&view, keys[k]);
			type(&view, "main\\");
			press(&view, CONTROL_KEY_BACKSPACE);
			press(&view, CONTROL_KEY_ENTER);
			press(&view, CONTROL_KEY_ESCAPE);
			press(&view, '1');
		}
	}
}

static void names_do_not_break_the_page(void **state)
{
	CLEANUP(view_fini) struct view view;

	(void)state;
	assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
	begin(&view, "a\x1b[2J;\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\x1b]0\x07 1\n", 30, 4);
	assert_page(&view, "1 samples in 2.0 s  fpless top\n"
			   "SELF% FUNCTION\n"
			   "100.0 \xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\\x1b]0\\x07\n"
			   "h help  q quit\n");
	press(&view, 'P');
	assert_page(&view, "1 samples in 2.0 s  fpless top\n"
			   "SELF% COMMAND\n"
			   "100.0 a\\x1b[2J\n"
			   "h help  q quit\n");
}

static void a_filter_is_typed(void **state)
{
	CLEANUP(view_fini) struct view view;

	(void)state;
	begin(&view, THREE, 60, 8);
	type(&view, "/xq\xe6\xbc\xa2");
	assert_int_equal(view.page.cursor_line, 7);
	press(&view, CONTROL_KEY_BACKSPACE); /* a character of three bytes */
	press(&view, CONTROL_KEY_BACKSPACE);
	assert_string_equal(view.page.lines.list[7].text, "/x");
	assert_int_equal(view.page.cursor_column, 2);
	press(&view, CONTROL_KEY_ENTER);
	assert_page(&view, "10 samples in 2.0 s  fpless top: all\n"
			   "functions /x/  100.0 % shown\n"
			   "*SELF% TOTAL% OBJECT           FUNCTION\n"
			   "nothing to show\n"
			   "\n\n\n"
			   "h help  q quit  s sort  / filter  Enter more  Esc back  Tab\n");
	type(&view, "/\x1b[");
	assert_string_equal(view.page.lines.list[7].text, "/x[");
	press(&view, CONTROL_KEY_ENTER);
	assert_non_null(strstr(view.page.lines.list[7].text, "/x[/: "));
	assert_string_equal(view.control.filter, "x");
	type(&view, "/");
	press(&view, 0x15);
	type(&view, "^[fg]$");
	press(&view, CONTROL_KEY_ENTER);
	assert_int_equal(view.table.nr, 2);
	for (unsigned i = 0; i < 1000; i++)
		press(&view, i ? 'x' : '/');
	press(&view, CONTROL_KEY_ESCAPE);
	assert_string_equal(view.control.filter, "^[fg]$");
	press(&view, CONTROL_KEY_ESCAPE);
	assert_int_equal(view.table.nr, 5);
}

static void a_row_opens_and_closes(void **state)
{
	CLEANUP(view_fini) struct view view;

	(void)state;
	begin(&view, THREE, 60, 12);
	press(&view, CONTROL_KEY_DOWN);
	press(&view, CONTROL_KEY_ENTER);
	assert_int_equal(view.control.query.view, TABLE_VIEW_NEIGHBOURS);
	assert_string_equal(view.page.lines.list[3].text, "called by");
	press(&view, CONTROL_KEY_ENTER); /* a heading */
	assert_int_equal(view.control.query.view, TABLE_VIEW_NEIGHBOURS);
	press(&view, CONTROL_KEY_END);
	press(&view, CONTROL_KEY_ENTER);
	assert_int_equal(view.control.query.view, TABLE_VIEW_FRAMES);
	for (unsigned i = 0; i < 40; i++) {
		press(&view, CONTROL_KEY_HOME);
		press(&view, CONTROL_KEY_DOWN);
		press(&view, CONTROL_KEY_ENTER);
	}
	for (unsigned i = 0; i < CONTROL_BACK_MAX + 3; i++)
		press(&view, CONTROL_KEY_ESCAPE);
	assert_int_equal(view.control.nr_back, 0);
	press(&view, '3');
	assert_int_equal(view.control.query.view, TABLE_VIEW_PROCESSES);
	press(&view, CONTROL_KEY_ENTER);
	assert_true(view.control.query.has_process);
	press(&view, '2');
	assert_true(view.control.query.has_process);
	press(&view, '3');
	assert_false(view.control.query.has_process);
}

static void the_cursor_stays_on_a_row(void **state)
{
	CLEANUP(view_fini) struct view view;

	(void)state;
	begin(&view, THREE, 60, 5);
	for (unsigned i = 0; i < 3; i++)
		press(&view, CONTROL_KEY_PAGE_DOWN);
	assert_int_equal(view.control.selected, 4);
	assert_int_equal(view.page.first, 3);
	assert_int_equal(view.page.lines.list[3].style, PAGE_STYLE_SELECTED);
	press(&view, CONTROL_KEY_PAGE_UP);
	assert_int_equal(view.control.selected, 2);
	assert_int_equal(view.page.first, 2);
	press(&view, CONTROL_KEY_END);
	type(&view, "/^g$");
	press(&view, CONTROL_KEY_ENTER);
	assert_int_equal(view.control.selected, 0);
	assert_int_equal(view.page.first, 0);
}

static void keys_switch(void **state)
{
	CLEANUP(view_fini) struct view view;

	(void)state;
	begin(&view, THREE, 80, 10);
	press(&view, 'p');
	press(&view, 'w');
	press(&view, 'k');
	assert_string_equal(view.page.lines.list[0].text,
			    "PAUSED  10 samples in 2.0 s since start  fpless top: all");
	assert_string_equal(view.page.lines.list[1].text,
			    "functions  100.0 % shown  without the kernel");
	press(&view, ' ');
	assert_false(view.control.paused);
	press(&view, 'r');
	assert_true(view.control.reset);
	press(&view, '+');
	assert_int_equal(view.control.interval_ms, 5000);
	press(&view, '-');
	press(&view, '-');
	assert_int_equal(view.control.interval_ms, 1000);
	for (unsigned i = 0; i < 20; i++)
		press(&view, '-');
	assert_int_equal(view.control.interval_ms, 100);
	for (unsigned i = 0; i < 20; i++)
		press(&view, '=');
	assert_int_equal(view.control.interval_ms, 60000);
	view.log = "fpless: something";
	press(&view, 'h');
	press(&view, 'x');
	assert_string_equal(view.page.lines.list[9].text, "fpless: something");
	press(&view, 0x1a);
	assert_true(view.control.suspend);
	assert_false(view.control.quit);
	press(&view, 'q');
	assert_true(view.control.quit);
}

static void a_row_has_its_state_and_opens_in_it(void **state)
{
	CLEANUP(view_fini) struct view view = { .columns = 70, .lines = 10 };

	(void)state;
	world_add_states(&view.world);
	control_init(&view.control, &(struct table_query){ .kernel = true, .by_state = true }, 2000,
		     false);
	draw(&view);
	assert_page(&view,
		    "10 samples in 2.0 s  fpless top: all\n"
		    "functions  100.0 % shown  on-cpu 40.0 %  blocked 60.0 %\n"
		    "*SELF% TOTAL% STATE     OBJECT             FUNCTION\n"
		    "  60.0   60.0 blocked   kernel             wait\n"
		    "  30.0   30.0 on-cpu    -                  f\n"
		    "  10.0   10.0 on-cpu    -                  g\n"
		    "   0.0   60.0 blocked   -                  f\n"
		    "   0.0   60.0 blocked   -                  main\n"
		    "   0.0   40.0 on-cpu    -                  main\n"
		    "h help  q quit  s sort  / filter  Enter more  Esc back  Tab view  p pa\n");
	press(&view, 's');
	assert_non_null(strstr(view.page.lines.list[2].text,
			       " SELF% *TOTAL% STATE    OBJECT             FUNCTION"));
	press(&view, 's');
	press(&view, CONTROL_KEY_DOWN);
	press(&view, CONTROL_KEY_ENTER); /* f, on a CPU: it calls nothing then */
	assert_page(&view,
		    "10 samples in 2.0 s  fpless top: all\n"
		    "callers and callees, on-cpu  40.0 % shown  on-cpu 40.0 %  blocked 60.0\n"
		    "*SELF% TOTAL% STATE     OBJECT             FUNCTION\n"
		    "called by\n"
		    "   0.0   30.0 on-cpu    -                  main\n"
		    "function\n"
		    "  30.0   30.0 on-cpu    -                  f\n"
		    "calls\n"
		    "hottest stacks\n"
		    "h help  q quit  s sort  / filter  Enter more  Esc back  Tab view  p pa\n");
	press(&view, CONTROL_KEY_ESCAPE);
	assert_int_equal(view.control.query.state, RECORDING_STATE_NONE);
	press(&view, '3');
	press(&view, CONTROL_KEY_ENTER); /* the process a, that waits */
	assert_int_equal(view.control.query.state, RECORDING_STATE_BLOCKED);
	assert_int_equal(view.table.shown, 6);
	press(&view, '3');
	assert_int_equal(view.control.query.state, RECORDING_STATE_NONE);
}

static void a_narrow_page_has_no_state(void **state)
{
	CLEANUP(view_fini) struct view view = { .columns = 20, .lines = 5 };

	(void)state;
	world_add_states(&view.world);
	control_init(&view.control, &(struct table_query){ .kernel = true, .by_state = true }, 2000,
		     false);
	draw(&view);
	assert_string_equal(view.page.lines.list[2].text, " 60.0 wait");
	view.columns = 50; /* with state, without object */
	draw(&view);
	assert_string_equal(view.page.lines.list[2].text, "  60.0   60.0 blocked   wait");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_page_has_title_columns_rows_and_status),
		cmocka_unit_test(twenty_columns_and_five_lines_are_readable),
		cmocka_unit_test(any_size_and_view_is_drawn),
		cmocka_unit_test(names_do_not_break_the_page),
		cmocka_unit_test(a_filter_is_typed),
		cmocka_unit_test(a_row_opens_and_closes),
		cmocka_unit_test(a_row_has_its_state_and_opens_in_it),
		cmocka_unit_test(a_narrow_page_has_no_state),
		cmocka_unit_test(the_cursor_stays_on_a_row),
		cmocka_unit_test(keys_switch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
