/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/field_kind.h"

const char *field_kind_text(const struct event_field *field)
{
	switch ((enum fpl_field_kind)field->field.kind) {
	case FPL_FIELD_NONE:
		return "other";
	case FPL_FIELD_UNSIGNED:
	case FPL_FIELD_SIGNED:
		return "number";
	default:
		return "text";
	}
}

void field_write(struct json *json, const struct event_field *field)
{
	json_open(json, NULL, '{');
	json_string(json, "name", field->name);
	json_string(json, "kind", field_kind_text(field));
	json_string(json, "type", field->type);
	json_close(json, '}');
}
