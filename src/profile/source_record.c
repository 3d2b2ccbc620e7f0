/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/source_record.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "source/event_filter.h"

/* Let samples weigh the field @name. */
static int take_weight(const char *name, const struct event_format *format,
		       struct fpl_source *event, struct fpl_err *err)
{
	const struct event_field *field = event_format_find(format, name, strlen(name));

	if (!field)
		return fpl_fail(err, -EINVAL, "--weight %s: no such field: --filter x names all",
				name);
	if (field->field.kind != FPL_FIELD_SIGNED && field->field.kind != FPL_FIELD_UNSIGNED)
		return fpl_fail(err, -EINVAL, "--weight %s: no number: %s", name, field->type);
	event->weight = field->field;
	return 0;
}

/* Let the field @name tell stacks apart, if there is such a number or text. */
static void take_key(const char *name, const struct event_format *format, struct fpl_source *event)
{
	const struct event_field *field = event_format_find(format, name, strlen(name));

	if (field)
		event->key = field->field;
}

int source_record_ask(const struct source_spec *spec, const char *key,
		      const struct event_format *format, struct fpl_source *event,
		      struct fpl_err *err)
{
	int code = spec->filter ? event_filter_compile(spec->filter, format, event, err) : 0;

	if (code)
		return fpl_fail_in(err, code, "--filter '%s'", spec->filter);
	if (key)
		take_key(key, format, event);
	return spec->weight ? take_weight(spec->weight, format, event, err) : 0;
}

void source_record_weigh(struct profile_source *what, const struct source_spec *spec)
{
	snprintf(what->type, sizeof(what->type), "%s", spec->weight ? spec->weight : spec->name);
	snprintf(what->unit, sizeof(what->unit), "%s", spec->unit ? spec->unit : "count");
}

void source_record_describe(struct source *source, const struct source_spec *spec,
			    const struct fpl_source *event)
{
	struct profile_source *what = &source->what;

	memcpy(what->name, spec->name, sizeof(what->name));
	source_record_weigh(what, spec);
	what->period = source->period = event->every;
	what->is_key_signed = event->key.kind == FPL_FIELD_SIGNED;
	source->nr_sampled = source->cpus.nr;
}

void source_record_describe_waits(struct source *source, const struct source_spec *spec)
{
	memcpy(source->what.name, spec->name, sizeof(source->what.name));
	source_record_weigh_waits(&source->what);
	source->period = source->what.period;
	source->nr_sampled = source->cpus.nr;
}

void source_record_weigh_waits(struct profile_source *what)
{
	memcpy(what->type, "blocked", sizeof("blocked"));
	memcpy(what->unit, "nanoseconds", sizeof("nanoseconds"));
	what->period = 1; /* a sample weighs what was waited */
	what->has_own_frames = true;
}

void source_record_weigh_wall(struct profile_source *what)
{
	source_record_weigh_waits(what);
	memcpy(what->type, "wall", sizeof("wall"));
}

uint64_t source_record_counted(int prog_fd, uint32_t every, uint64_t fired)
{
	struct bpf_prog_info info = { 0 };
	uint32_t size = sizeof(info);

	if (bpf_obj_get_info_by_fd(prog_fd, &info, &size))
		return 0;
	return fired + info.recursion_misses / every;
}

int source_record_check_cpus(const struct source_spec *spec, const struct engine_options *options,
			     struct fpl_err *err)
{
	return options->cpus.nr
		       ? fpl_fail(err, -EINVAL,
				  "-C: %s is sampled on all CPUs: --by cpu tells them apart",
				  spec->name)
		       : 0;
}
