/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <errno.h>

#include "../support/top_world.h"
#include "base/cleanup.h"
#include "top/plain.h"

/* The rows of @query, of the counts the recording has, as a block without its first line. */
static char *rows_of(const struct world *world, const struct table_query *query)
{
	CLEANUP(table_fini) struct table table = { 0 };
	const struct engine_look look = { .unix_ns = 1 };
	struct measure measure;
	const struct plain_block block = {
		.look = &look, .before = &look, .measure = &measure, .max_rows = 100
	};
	char *text = NULL;
	size_t size, written = 0;
	FILE *to = open_memstream(&text, &size);

	assert_non_null(to);
	measure_init(&world->recording, &measure);
	assert_int_equal(table_make(&world->model, world->counts, query, &table), 0);
	plain_write(to, &block, &world->model, query, &table);
	fclose(to);

	/* of each row what is not blank, and no padding */
	char *rows = strchr(strchr(text, '\n') + 1, '\n') + 1;

	for (const char *c = rows; *c; c++) {
		if (*c != ' ' || (c > rows && c[-1] != ' ' && c[-1] != '\t' && c[-1] != '\n'))
			text[written++] = *c;
	}
	text[written] = '\0';
	return text;
}

static void assert_rows(const struct world *world, const struct table_query *query,
			const char *wanted)
{
	AUTO_FREE char *rows = rows_of(world, query);

	assert_string_equal(rows, wanted);
}

static const struct table_query functions = { .view = TABLE_VIEW_FUNCTIONS, .kernel = true };

#define THREE "a;main;f;g 5\na;main;f 3\nb;main;f;read_[k];copy_[k] 2\n"

static void functions_have_self_and_total(void **state)
{
	CLEANUP(world_fini) struct world world = { 0 };

	(void)state;
	world_add(&world, THREE);
	assert_rows(&world, &functions,
		    "50.00\t50.00\t5\t5\t-\tg\n"
		    "30.00\t100.00\t3\t10\t-\tf\n"
		    "20.00\t20.00\t2\t2\tkernel\tcopy\n"
		    "0.00\t100.00\t0\t10\t-\tmain\n"
		    "0.00\t20.00\t0\t2\tkernel\tread\n\n");

	struct table_query query = functions;

	query.sort = TABLE_SORT_TOTAL;
	assert_rows(&world, &query,
		    "30.00\t100.00\t3\t10\t-\tf\n"
		    "0.00\t100.00\t0\t10\t-\tmain\n"
		    "50.00\t50.00\t5\t5\t-\tg\n"
		    "20.00\t20.00\t2\t2\tkernel\tcopy\n"
		    "0.00\t20.00\t0\t2\tkernel\tread\n\n");
}

static void a_recursion_counts_once(void **state)
{
	CLEANUP(world_fini) struct world world = { 0 };

	(void)state;
	world_add(&world, "a;f;g;f;g;f 4\n");
	assert_rows(&world, &functions, "100.00\t100.00\t4\t4\t-\tf\n0.00\t100.00\t0\t4\t-\tg\n\n");
}

static void without_the_kernel_its_caller_was_running(void **state)
{
	CLEANUP(world_fini) struct world world = { 0 };
	struct table_query query = functions;

	(void)state;
	query.kernel = false;
	world_add(&world, THREE "kworker;worker_[k] 10\n");
	assert_rows(&world, &query,
		    "25.00\t50.00\t5\t10\t-\tf\n"
		    "25.00\t25.00\t5\t5\t-\tg\n"
		    "0.00\t50.00\t0\t10\t-\tmain\n\n");
}

static void a_model_grows_with_its_recording(void **state)
{
	CLEANUP(world_fini) struct world world = { 0 };

	(void)state;
	world_add(&world, "a;main;f 1\n");
	world_add(&world, "a;main;f 1\nb;main;f;g 2\n");
	assert_int_equal(world.model.stacks.nr, 2);
	assert_int_equal(world.model.index.functions.nr, 3);
	assert_rows(&world, &functions,
		    "50.00\t100.00\t2\t4\t-\tf\n"
		    "50.00\t50.00\t2\t2\t-\tg\n"
		    "0.00\t100.00\t0\t4\t-\tmain\n\n");
}

static void a_filter_takes_rows_away_but_no_samples(void **state)
{
	CLEANUP(world_fini) struct world world = { 0 };
	struct table_query query = functions;
	regex_t regex;

	(void)state;
	world_add(&world, THREE);
	assert_int_equal(regcomp(&regex, "^g$|^kern", REG_EXTENDED | REG_NOSUB), 0);
	query.filter = &regex;
	assert_rows(&world, &query,
		    "50.00\t50.00\t5\t5\t-\tg\n"
		    "20.00\t20.00\t2\t2\tkernel\tcopy\n"
		    "0.00\t20.00\t0\t2\tkernel\tread\n\n");
	query.view = TABLE_VIEW_STACKS;
	assert_rows(&world, &query,
		    "50.00\t50.00\t5\t5\ta\tmain;f;g\n"
		    "20.00\t20.00\t2\t2\tb\tmain;f;read;copy\n\n");
	query.view = TABLE_VIEW_PROCESSES;
	assert_rows(&world, &query, "\n");
	regfree(&regex);
}

static void recursion_is_folded_where_that_is_asked_for(void **state)
{
	CLEANUP(world_fini) struct world world = { 0 };
	struct table_query query = { .view = TABLE_VIEW_STACKS, .kernel = true };

	(void)state;
	world_add(&world, NULL);
	world.model.texts.options.fold_recursion = true;
	world_add(&world, "a;main;f;f;f 1\na;main;f;f_[k];f_[k] 3\na;main;f;g;f 2\na;main;f 3\n");
	assert_rows(&world, &query,
		    "44.44\t44.44\t4\t4\ta\tmain;f\n"
		    "33.33\t33.33\t3\t3\ta\tmain;f;f\n"
		    "22.22\t22.22\t2\t2\ta\tmain;f;g;f\n\n");
}

static void stacks_that_read_the_same_are_one(void **state)
{
	CLEANUP(world_fini) struct world world = { 0 };
	struct table_query query = { .view = TABLE_VIEW_STACKS, .kernel = false };

	(void)state;
	world_add(&world, "a;main;f;x_[k] 1\na;main;f;y_[k] 2\nb;main;f 2\n");
	assert_rows(&world, &query,
		    "60.00\t60.00\t3\t3\ta\tmain;f\n40.00\t40.00\t2\t2\tb\tmain;f\n\n");
}

#define FRAME(object, symbol)                                                                  \
	"{\"object\":\"" object "\",\"build_id\":\"\",\"vaddr\":\"0x1010\",\"symbol\":" symbol \
	",\"offset\":16,\"start\":\"0x1000\",\"origin\":\"cfi\"}"
#define STACK(count, comm, pid, frames)                                            \
	"{\"type\":\"stack\",\"count\":" count ",\"weight_ns\":1,\"comm\":\"" comm \
	"\",\"pid\":" pid ",\"stop\":\"outermost\",\"user\":[" frames "],\"kernel\":[]}\n"
#define BOOKS(shown) "{\"type\":\"books\",\"fired\":" shown ",\"shown\":" shown "}\n"
#define META	     "{\"type\":\"meta\",\"format\":1,\"event\":\"cpu-clock\",\"period_ns\":1}\n"

static void names_that_are_the_same_in_two_objects_are_two(void **state)
{
	CLEANUP(world_fini) struct world world = { 0 };

	(void)state;
	world_add(&world, META STACK("3", "a", "1", FRAME("/x/a.so", "\"f\""))
				  STACK("1", "a", "1", FRAME("/x/b.so", "\"f\"")) BOOKS("4"));
	assert_rows(&world, &functions,
		    "75.00\t75.00\t3\t3\ta.so\tf\n25.00\t25.00\t1\t1\tb.so\tf\n\n");
}

static void code_without_a_name_is_one_function_by_its_start(void **state)
{
	CLEANUP(world_fini) struct world world = { 0 };

	(void)state;
	world_add(&world, META STACK("3", "a", "1", FRAME("/x/a.so", "null")) BOOKS("3"));
	assert_rows(&world, &functions, "100.00\t100.00\t3\t3\ta.so\t[a.so+0x1000]\n\n");
}

static void names_cannot_break_a_block(void **state)
{
	CLEANUP(world_fini) struct world world = { 0 };
	struct table_query query = functions;

	(void)state;
	world_add(&world, META STACK("1", "c\\u001b[2J\\t", "1",
				     FRAME("/x/o\\n\\tx", "\"f;g\\t\\u009b1\\\\\"")) BOOKS("1"));
	assert_rows(&world, &query,
		    "100.00\t100.00\t1\t1\to\\x0a\\x09x\tf\\x3bg\\x09\\xc2\\x9b1\\x5c\n\n");
	query.view = TABLE_VIEW_STACKS;
	assert_rows(&world, &query,
		    "100.00\t100.00\t1\t1\tc\\x1b[2J\\x09\tf\\x3bg\\x09\\xc2\\x9b1\\x5c\n\n");
	query.view = TABLE_VIEW_PROCESSES;
	assert_rows(&world, &query, "100.00\t100.00\t1\t1\t1\tc\\x1b[2J\\x09\n\n");
}

static void processes_are_told_apart(void **state)
{
	CLEANUP(world_fini) struct world world = { 0 };
	struct table_query query = { .view = TABLE_VIEW_PROCESSES, .kernel = true };

	(void)state;
	world_add(&world, META STACK("3", "sh", "7", FRAME("/x/a", "\"f\""))
				  STACK("4", "ls", "7", FRAME("/x/a", "\"g\""))
					  STACK("1", "sh", "8", FRAME("/x/a", "\"g\"")) BOOKS("8"));
	assert_rows(&world, &query, "87.50\t87.50\t7\t7\t7\tls\n12.50\t12.50\t1\t1\t8\tsh\n\n");
	query = functions;
	query.has_process = true;
	query.pid = 8;
	assert_rows(&world, &query, "12.50\t12.50\t1\t1\ta\tg\n\n");
	query.task = 1; /* another one that had the number */
	assert_rows(&world, &query, "\n");
}

static uint32_t function_of(const struct world *world, const char *name)
{
	for (uint32_t i = 0; i < world->model.index.functions.nr; i++) {
		if (!strcmp(model_function(&world->model, i), name))
			return i;
	}
	fail_msg("no function %s", name);
	return 0;
}

static void a_function_has_callers_callees_and_stacks(void **state)
{
	CLEANUP(world_fini) struct world world = { 0 };
	struct table_query query = { .view = TABLE_VIEW_NEIGHBOURS, .kernel = true };

	(void)state;
	world_add(&world, THREE "a;main;h;f;f;g 10\na;main;h 5\n");
	query.function = function_of(&world, "f");
	assert_rows(&world, &query,
		    /* called by */
		    "0.00\t40.00\t0\t10\t-\tf\n"
		    "0.00\t40.00\t0\t10\t-\th\n"
		    "0.00\t40.00\t0\t10\t-\tmain\n"
		    "12.00\t80.00\t3\t20\t-\tf\n"
		    /* calls */
		    "60.00\t60.00\t15\t15\t-\tg\n"
		    "0.00\t40.00\t0\t10\t-\tf\n"
		    "0.00\t8.00\t0\t2\tkernel\tread\n"
		    "40.00\t40.00\t10\t10\ta\tmain;h;f;f;g\n"
		    "20.00\t20.00\t5\t5\ta\tmain;f;g\n"
		    "12.00\t12.00\t3\t3\ta\tmain;f\n"
		    "8.00\t8.00\t2\t2\tb\tmain;f;read;copy\n\n");
}

static void nothing_sampled_has_no_rows(void **state)
{
	CLEANUP(world_fini) struct world world = { 0 };

	(void)state;
	world_add(&world, NULL);
	for (unsigned view = 0; view < TABLE_VIEW_COUNT; view++)
		assert_rows(&world,
			    &(struct table_query){ .view = (enum table_view)view, .kernel = true },
			    "\n");
}

static void rows_are_of_one_state(void **state)
{
	CLEANUP(world_fini) struct world world = { 0 };
	struct table_query query = { .view = TABLE_VIEW_FUNCTIONS,
				     .kernel = true,
				     .by_state = true };

	(void)state;
	world_add_states(&world);
	assert_rows(&world, &query,
		    "60.00\t60.00\t6\t6\tkernel\twait\tblocked\n"
		    "30.00\t30.00\t3\t3\t-\tf\ton-cpu\n"
		    "10.00\t10.00\t1\t1\t-\tg\ton-cpu\n"
		    "0.00\t60.00\t0\t6\t-\tf\tblocked\n"
		    "0.00\t60.00\t0\t6\t-\tmain\tblocked\n"
		    "0.00\t40.00\t0\t4\t-\tmain\ton-cpu\n\n");
	query.view = TABLE_VIEW_STACKS;
	assert_rows(&world, &query,
		    "60.00\t60.00\t6\t6\ta\tmain;f;wait\tblocked\n"
		    "30.00\t30.00\t3\t3\ta\tmain;f\ton-cpu\n"
		    "10.00\t10.00\t1\t1\tb\tmain;g\ton-cpu\n\n");
	query.kernel = false; /* then a's two stacks are one sequence */
	assert_rows(&world, &query,
		    "60.00\t60.00\t6\t6\ta\tmain;f\tblocked\n"
		    "30.00\t30.00\t3\t3\ta\tmain;f\ton-cpu\n"
		    "10.00\t10.00\t1\t1\tb\tmain;g\ton-cpu\n\n");
	query.view = TABLE_VIEW_PROCESSES; /* without pids all are one */
	assert_rows(&world, &query,
		    "60.00\t60.00\t6\t6\t0\ta\tblocked\n"
		    "40.00\t40.00\t4\t4\t0\tb\ton-cpu\n\n");
	query.view = TABLE_VIEW_FUNCTIONS;
	query.state = RECORDING_STATE_BLOCKED;
	assert_rows(&world, &query,
		    "60.00\t60.00\t6\t6\t-\tf\tblocked\n"
		    "0.00\t60.00\t0\t6\t-\tmain\tblocked\n\n");
}

static void the_head_has_the_sum_of_each_state(void **state)
{
	CLEANUP(world_fini) struct world world = { 0 };
	CLEANUP(table_fini) struct table table = { 0 };
	const struct table_query query = { .kernel = true, .by_state = true };
	const struct engine_look look = { .unix_ns = 1 };
	struct measure measure;
	const struct plain_block block = { .look = &look, .before = &look, .measure = &measure };
	AUTO_FREE char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	(void)state;
	assert_non_null(to);
	world_add_states(&world);
	measure_init(&world.recording, &measure);
	assert_int_equal(table_make(&world.model, world.counts, &query, &table), 0);
	plain_write(to, &block, &world.model, &query, &table);
	fclose(to);
	assert_non_null(strstr(
		text, " view=functions on-cpu=4 runnable=0 blocked=6 throttled=0 frozen=0\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_have_self_and_total),
		cmocka_unit_test(a_recursion_counts_once),
		cmocka_unit_test(without_the_kernel_its_caller_was_running),
		cmocka_unit_test(rows_are_of_one_state),
		cmocka_unit_test(the_head_has_the_sum_of_each_state),
		cmocka_unit_test(a_model_grows_with_its_recording),
		cmocka_unit_test(a_filter_takes_rows_away_but_no_samples),
		cmocka_unit_test(recursion_is_folded_where_that_is_asked_for),
		cmocka_unit_test(stacks_that_read_the_same_are_one),
		cmocka_unit_test(names_that_are_the_same_in_two_objects_are_two),
		cmocka_unit_test(code_without_a_name_is_one_function_by_its_start),
		cmocka_unit_test(names_cannot_break_a_block),
		cmocka_unit_test(processes_are_told_apart),
		cmocka_unit_test(a_function_has_callers_callees_and_stacks),
		cmocka_unit_test(nothing_sampled_has_no_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
