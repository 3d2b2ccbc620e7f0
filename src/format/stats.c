/* SPDX-License-Identifier: Apache-2.0 */
#include "format/stats.h"

#include "view/books.h"

void stats_write(FILE *to, const struct recording *recording, uint64_t shown)
{
	struct json json = { .to = to };

	json_open(&json, NULL, '{');
	books_write_json(&json, recording, shown);
	json_close(&json, '}');
	putc('\n', to);
}
