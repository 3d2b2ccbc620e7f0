/* SPDX-License-Identifier: Apache-2.0 */
/* A field of an event, as fpless events lists it. */
#pragma once

#include "source/event_format.h"
#include "view/json.h"

/* The kind of the field, as --filter takes it. */
const char *field_kind_text(const struct event_field *field);

/* Write it as an object: name, kind, type. */
void field_write(struct json *json, const struct event_field *field);
