/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/mcp_tools.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "serve/rpc.h"

enum argument { FROM, TO, BEFORE, COMM, UNIT, SOURCE, FUNCTION, LIMIT };

/* Arguments have the names of the API's parameters. */
static const struct {
	const char *name, *description;
} arguments[] = {
	[FROM] = { "from",
		   "Begin of the time, default -1h: -90s, -5m, -2h, -7d ago, 03:12, 2026-11-29T03:12 (local time, with Z behind it UTC), @SECONDS since 1970" },
	[TO] = { "to", "End of the time, likewise; default now" },
	[BEFORE] = { "before",
		     "The time to compare with, FROM..TO, such as -25h..-24h; default: the time just before, as long" },
	[COMM] = { "comm", "Only tasks whose name matches this POSIX extended regular expression" },
	[UNIT] = { "unit",
		   "Only tasks in a systemd unit or container whose cgroup path matches this POSIX extended regular expression" },
	[SOURCE] = { "source",
		     "Only samples of cpu (time on a CPU), off-cpu (waits), heap (memory), or of the event with this name" },
	[FUNCTION] = { "function",
		       "POSIX extended regular expression for the names of functions; ^name$ for one" },
	[LIMIT] = { "limit", "The most rows to list" },
};

#define RANGE ((1u << FROM) | (1u << TO))
#define TASKS ((1u << COMM) | (1u << UNIT) | (1u << SOURCE))

static const struct tool {
	const char *name, *path, *title, *description;
	unsigned takes, needs; /* arguments: bits */
	unsigned limit, limit_max;
} tools[] = {
	{ "windows", "/api/windows", "Windows of profiles",
	  "The windows of time that were profiled, the newest ones if there are more than limit: when, how many samples, how many of the judged stacks are whole, how many samples were lost.",
	  RANGE | TASKS | 1u << LIMIT, 0, 60, 500 },
	{ "top", "/api/top", "Hottest functions",
	  "The functions that used most of a time: self is what they had themselves, total with what they called, both of sum.",
	  RANGE | TASKS | 1u << LIMIT, 0, 20, 200 },
	{ "diff", "/api/diff", "What has changed",
	  "The functions whose share changed from one time to another, and whether that is more than noise (verdict real or noise).",
	  RANGE | TASKS | 1u << BEFORE | 1u << LIMIT, 0, 20, 200 },
	{ "function", "/api/function", "When a function was hot, and who calls it",
	  "For functions with a matching name: the windows in which they had the largest share, their callers and their callees.",
	  RANGE | TASKS | 1u << FUNCTION | 1u << LIMIT, 1u << FUNCTION, 10, 200 },
	{ "advice", "/api/advice", "How good the profiles are",
	  "Samples lost and why, the places where stacks end early, files without names and the package that has them, each with what helps.",
	  RANGE | TASKS | 1u << LIMIT, 0, 10, 200 },
};

static json_object *argument_schema(const struct tool *tool, enum argument argument)
{
	json_object *schema = rpc_object();

	rpc_add_text(schema, "type", argument == LIMIT ? "integer" : "string");
	rpc_add_text(schema, "description", arguments[argument].description);
	if (argument == LIMIT) {
		rpc_add_number(schema, "minimum", 1);
		rpc_add_number(schema, "maximum", tool->limit_max);
		rpc_add_number(schema, "default", tool->limit);
	} else {
		rpc_add_number(schema, "maxLength", QUESTION_VALUE_MAX);
	}
	return schema;
}

static json_object *input_schema(const struct tool *tool)
{
	json_object *schema = rpc_object(), *properties = rpc_object(), *required = rpc_array();

	for (unsigned i = 0; i < ARRAY_SIZE(arguments); i++) {
		if (tool->takes & 1u << i)
			rpc_add(properties, arguments[i].name,
				argument_schema(tool, (enum argument)i));
		if (tool->needs & 1u << i)
			rpc_append(required, rpc_text(arguments[i].name));
	}
	rpc_add_text(schema, "type", "object");
	rpc_add(schema, "properties", properties);
	rpc_add(schema, "required", required);
	rpc_add(schema, "additionalProperties", rpc_bool(false));
	return schema;
}

static json_object *describe(const struct tool *tool)
{
	json_object *ret = rpc_object(), *annotations = rpc_object();

	rpc_add_text(ret, "name", tool->name);
	rpc_add_text(ret, "title", tool->title);
	rpc_add_text(ret, "description", tool->description);
	rpc_add(ret, "inputSchema", input_schema(tool));
	rpc_add(annotations, "readOnlyHint", rpc_bool(true));
	rpc_add(annotations, "openWorldHint", rpc_bool(false));
	rpc_add(ret, "annotations", annotations);
	return ret;
}

json_object *mcp_tools_list(void)
{
	json_object *ret = rpc_array();

	for (size_t i = 0; i < ARRAY_SIZE(tools); i++)
		rpc_append(ret, describe(&tools[i]));
	return ret;
}

static size_t find_argument(const struct tool *tool, const char *name)
{
	size_t i = 0;

	while (i < ARRAY_SIZE(arguments) &&
	       (!(tool->takes & 1u << i) || strcmp(arguments[i].name, name) != 0))
		i++;
	return i;
}

static int add_limit(const struct tool *tool, int64_t limit, struct question *question,
		     struct fpl_err *err)
{
	char text[24];

	if (limit < 1 || limit > tool->limit_max)
		return fpl_fail(err, -EINVAL, "limit: expected 1 to %u", tool->limit_max);
	snprintf(text, sizeof(text), "%" PRId64, limit);
	return question_add(question, "limit", strlen("limit"), text, err);
}

static int add_argument(const struct tool *tool, const char *name, json_object *value,
			struct question *question, struct fpl_err *err)
{
	size_t argument = find_argument(tool, name);
	const char *text;

	if (argument == ARRAY_SIZE(arguments))
		return fpl_fail(err, -EINVAL, "an argument that %s does not take", tool->name);
	if (argument == LIMIT)
		return json_object_is_type(value, json_type_int)
			       ? add_limit(tool, json_object_get_int64(value), question, err)
			       : fpl_fail(err, -EINVAL, "limit: expected an integer");
	text = rpc_get_text(value);
	if (!text)
		return fpl_fail(err, -EINVAL, "%s: expected a string", arguments[argument].name);
	return question_add(question, name, strlen(name), text, err);
}

static const struct tool *find_tool(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(tools); i++)
		if (!strcmp(tools[i].name, name))
			return &tools[i];
	return NULL;
}

int mcp_tools_question(const char *name, json_object *given, struct question *ret,
		       struct fpl_err *err)
{
	const struct tool *tool = find_tool(name);
	int code;

	if (!tool)
		return fpl_fail(err, -EINVAL,
				"unknown tool: expected windows, top, diff, function or advice");
	code = question_begin(tool->path, strlen(tool->path), ret, err);
	if (code)
		return code;
	if (given) {
		json_object_object_foreach(given, key, value)
		{
			code = add_argument(tool, key, value, ret, err);
			if (code)
				return code;
		}
	}
	if (!json_object_object_get_ex(given, "limit", NULL))
		code = add_limit(tool, tool->limit, ret, err);
	return code;
}
