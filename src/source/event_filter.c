/* SPDX-License-Identifier: Apache-2.0 */
#include "source/event_filter.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define NODES_MAX 64u
#define DEPTH_MAX 32u /* of parentheses and of ! */

enum node_kind { NODE_TEST, NODE_NOT, NODE_AND, NODE_OR };

struct node {
	enum node_kind kind;
	uint32_t left, right; /* of NOT only left */
	struct fpl_test test; /* of TEST, but for yes and no */
	uint32_t nr_tests;    /* in it */
};

struct filter {
	const char *text, *at;
	const struct event_format *format;
	struct fpl_source *source;
	struct fpl_err *err;
	struct node nodes[NODES_MAX];
	uint32_t nr_nodes, nr_tests, nr_texts, depth;
	int code; /* the first error */
};

#define NOTHING UINT32_MAX /* no node: there was an error */

__attribute__((__format__(__printf__, 2, 3))) static uint32_t fail(struct filter *filter,
								   const char *format, ...)
{
	char why[512];
	va_list args;

	if (filter->code)
		return NOTHING;
	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	filter->code = fpl_fail(filter->err, -EINVAL, "column %zu: %s",
				(size_t)(filter->at - filter->text) + 1, why);
	return NOTHING;
}

static void skip_blanks(struct filter *filter)
{
	filter->at += strspn(filter->at, " \t\n");
}

static bool take(struct filter *filter, const char *token)
{
	skip_blanks(filter);
	if (strncmp(filter->at, token, strlen(token)))
		return false;
	filter->at += strlen(token);
	return true;
}

static uint32_t add(struct filter *filter, const struct node *node)
{
	if (filter->nr_nodes == NODES_MAX)
		return fail(filter, "too long: at most %u comparisons", FPL_TESTS_MAX);
	filter->nodes[filter->nr_nodes] = *node;
	return filter->nr_nodes++;
}

static size_t word_length(const char *at)
{
	size_t len = 0;

	while (isalnum((unsigned char)at[len]) || at[len] == '_')
		len++;
	return len;
}

/* A field's name: a word, or str(WORD). */
static size_t field_length(const char *at)
{
	size_t len = word_length(at), inner;

	if (len != strlen("str") || strncmp(at, "str(", strlen("str(")) != 0)
		return len;
	inner = word_length(at + strlen("str("));
	return at[strlen("str(") + inner] == ')' ? strlen("str()") + inner : len;
}

/* The names of all fields that can be compared, in @text. */
static void list_fields(const struct event_format *format, char *text, size_t size)
{
	size_t len = 0;

	text[0] = '\0';
	for (size_t i = 0; i < format->nr && len < size; i++)
		if (format->fields[i].field.kind != FPL_FIELD_NONE)
			len += (size_t)snprintf(text + len, size - len, "%s%s", len ? ", " : "",
						format->fields[i].name);
}

static const struct event_field *take_field(struct filter *filter)
{
	const struct event_field *field;
	char all[400];

	skip_blanks(filter);

	size_t len = field_length(filter->at);

	if (!len) {
		fail(filter, *filter->at ? "expected a field, not \"%.20s\"" : "expected a field%s",
		     filter->at);
		return NULL;
	}
	field = event_format_find(filter->format, filter->at, len);
	if (!field) {
		list_fields(filter->format, all, sizeof(all));
		fail(filter, "no field \"%.*s\": there are %s", (int)len, filter->at, all);
		return NULL;
	}
	if (field->field.kind == FPL_FIELD_NONE) {
		fail(filter, "%s is neither a number nor a text: %s", field->name, field->type);
		return NULL;
	}
	filter->at += len;
	return field;
}

/* Longer operators first. */
static const struct operator
{
	const char *text;
	enum fpl_test_op op;
	bool of_numbers, of_texts, is_not;
}
operators[] = {
	{ "==", FPL_TEST_EQ, true, true, false },    { "!=", FPL_TEST_NE, true, true, false },
	{ "!~", FPL_TEST_MATCH, false, true, true }, { "<=", FPL_TEST_LE, true, false, false },
	{ ">=", FPL_TEST_GE, true, false, false },   { "<", FPL_TEST_LT, true, false, false },
	{ ">", FPL_TEST_GT, true, false, false },    { "~", FPL_TEST_MATCH, false, true, false },
	{ "&", FPL_TEST_AND, true, false, false },
};

/* The operator that comes next; NULL: none does. */
static const struct operator* take_operator(struct filter *filter)
{
	skip_blanks(filter);
	if (!strncmp(filter->at, "&&", 2))
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(operators); i++)
		if (take(filter, operators[i].text))
			return &operators[i];
	return NULL;
}

static void take_number(struct filter *filter, struct fpl_test *test)
{
	bool is_negative;
	char *end;

	skip_blanks(filter);
	is_negative = *filter->at == '-';
	if (!isdigit((unsigned char)filter->at[is_negative])) {
		fail(filter, "expected a number");
		return;
	}
	errno = 0;
	test->value = strtoull(filter->at + is_negative, &end, 0);
	if (errno || word_length(end)) {
		fail(filter, "\"%.*s\": no number of 64 bits",
		     (int)(end - filter->at) + (int)word_length(end), filter->at);
		return;
	}
	if (is_negative)
		test->value = -test->value;
	/* a field of 4 bytes without a sign has -1 as 0xffffffff */
	if (is_negative && test->field.kind == FPL_FIELD_UNSIGNED && test->field.size < 8)
		test->value &= (1ull << 8 * test->field.size) - 1;
	filter->at = end;
}

static void take_text(struct filter *filter, struct fpl_test *test)
{
	const char *start;
	size_t len;
	char quote;

	skip_blanks(filter);
	quote = *filter->at;
	if (quote == '"' || quote == '\'') {
		const char *end = strchr(filter->at + 1, quote);

		if (!end) {
			fail(filter, "the text does not end: a %c is missing", quote);
			return;
		}
		start = filter->at + 1;
		len = (size_t)(end - start);
	} else {
		start = filter->at;
		len = strcspn(start, " \t\n()&|!");
		quote = '\0';
	}
	if (!len && !quote)
		fail(filter, "expected a text");
	else if (len >= FPL_TEST_TEXT)
		fail(filter, "a text may have %u bytes", FPL_TEST_TEXT - 1);
	else if (test->op == FPL_TEST_MATCH && memchr(start, '[', len))
		fail(filter, "~ takes * and ?, no [");
	if (filter->code || filter->nr_texts == FPL_TESTS_MAX) {
		fail(filter, "too long: at most %u comparisons", FPL_TESTS_MAX);
		return;
	}
	memcpy(filter->source->texts[filter->nr_texts], start, len);
	test->value = filter->nr_texts++;
	filter->at = start + len + (quote ? 1 : 0);
}

static uint32_t parse_comparison(struct filter *filter)
{
	const struct event_field *field = take_field(filter);
	struct node node = { .kind = NODE_TEST, .nr_tests = 1 };
	const struct operator* operator;

	if (!field)
		return NOTHING;
	node.test = (struct fpl_test){ .field = field->field, .op = FPL_TEST_NE };

	bool is_text = field->field.kind >= FPL_FIELD_TEXT;

	operator= take_operator(filter);
	if (!operator&& is_text)
		return fail(filter, "%s is a text: expected == != ~ or !~", field->name);
	if (operator && !(is_text ? operator->of_texts : operator->of_numbers))
		return fail(filter, "%s is a %s, which %s does not take", field->name,
			    is_text ? "text" : "number", operator->text);
	if (operator)
		node.test.op = (uint8_t) operator->op;
	if (is_text)
		take_text(filter, &node.test);
	else if (operator)
		take_number(filter, &node.test);
	if (++filter->nr_tests > FPL_TESTS_MAX)
		return fail(filter, "too long: at most %u comparisons", FPL_TESTS_MAX);
	if (filter->code)
		return NOTHING;

	uint32_t test = add(filter, &node);

	if (!operator|| !operator->is_not)
		return test;
	return add(filter, &(struct node){ .kind = NODE_NOT, .left = test, .nr_tests = 1 });
}

static uint32_t parse_or(struct filter *filter);

static uint32_t parse_unary(struct filter *filter)
{
	uint32_t node;

	if (filter->depth == DEPTH_MAX)
		return fail(filter, "more than %u levels", DEPTH_MAX);
	filter->depth++;
	if (take(filter, "!")) {
		node = parse_unary(filter);
		if (!filter->code)
			node = add(filter,
				   &(struct node){ .kind = NODE_NOT,
						   .left = node,
						   .nr_tests = filter->nodes[node].nr_tests });
	} else if (take(filter, "(")) {
		node = parse_or(filter);
		if (!filter->code && !take(filter, ")"))
			node = fail(filter, "expected )");
	} else {
		node = parse_comparison(filter);
	}
	filter->depth--;
	return node;
}

/* Parse operands with @token between them. */
static uint32_t parse_chain(struct filter *filter, const char *token, enum node_kind kind,
			    uint32_t (*operand)(struct filter *filter))
{
	uint32_t node = operand(filter);

	while (!filter->code && take(filter, token)) {
		uint32_t right = operand(filter);

		if (filter->code)
			break;
		node = add(filter, &(struct node){ .kind = kind,
						   .left = node,
						   .right = right,
						   .nr_tests = filter->nodes[node].nr_tests +
							       filter->nodes[right].nr_tests });
	}
	return filter->code ? NOTHING : node;
}

static uint32_t parse_and(struct filter *filter)
{
	return parse_chain(filter, "&&", NODE_AND, parse_unary);
}

static uint32_t parse_or(struct filter *filter)
{
	return parse_chain(filter, "||", NODE_OR, parse_and);
}

/* Write the tests of @node, the first one at @first. Where it is true @yes comes next, else @no. */
static void emit(struct filter *filter, uint32_t idx, uint32_t first, uint8_t yes, uint8_t no)
{
	const struct node *node = &filter->nodes[idx];
	uint32_t behind;

	switch (node->kind) {
	case NODE_TEST:
		filter->source->tests[first] = node->test;
		filter->source->tests[first].yes = yes;
		filter->source->tests[first].no = no;
		return;
	case NODE_NOT:
		emit(filter, node->left, first, no, yes);
		return;
	case NODE_AND:
	case NODE_OR:
		behind = first + filter->nodes[node->left].nr_tests;
		emit(filter, node->left, first, node->kind == NODE_AND ? (uint8_t)behind : yes,
		     node->kind == NODE_AND ? no : (uint8_t)behind);
		emit(filter, node->right, behind, yes, no);
	}
}

int event_filter_compile(const char *text, const struct event_format *format,
			 struct fpl_source *ret, struct fpl_err *err)
{
	struct fpl_source source = *ret;
	struct filter filter = {
		.text = text, .at = text, .format = format, .source = &source, .err = err
	};
	uint32_t all;

	memset(source.tests, 0, sizeof(source.tests));
	memset(source.texts, 0, sizeof(source.texts));
	all = parse_or(&filter);
	skip_blanks(&filter);
	if (!filter.code && *filter.at)
		fail(&filter, "expected && or ||, not \"%.20s\"", filter.at);
	if (filter.code)
		return filter.code;
	emit(&filter, all, 0, FPL_TEST_PASS, FPL_TEST_FAIL);
	source.nr_tests = filter.nr_tests;
	*ret = source;
	return 0;
}
