/* SPDX-License-Identifier: Apache-2.0 */
/* One frame of a .jsonl stack. */
#pragma once

#include "format/jsonl_value.h"

/* Put the frame that @object says behind those of the stack at hand. @leaf: of its list. */
void jsonl_frame_read(struct reading *reading, json_object *object, enum recording_kind kind,
		      bool leaf);
