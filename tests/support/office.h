/* SPDX-License-Identifier: Apache-2.0 */
/* A real worker in its sandbox, for each test: cmocka_unit_test_setup_teardown(TEST, open_office,
 * close_office). */
#pragma once

#include "tests/unit/cmocka_all.h"

#include <stdlib.h>

#include "parse/client.h"

struct office {
	struct parser *parser;
	struct parse_client *client;
};

static int open_office(void **state)
{
	struct office *office = calloc(1, sizeof(*office));

	*state = office;
	return !office || parser_create(PARSER_FORK, &office->parser, NULL) ||
	       client_open(office->parser, &office->client, NULL);
}

static int close_office(void **state)
{
	struct office *office = *state;

	client_close(office->client);
	parser_destroy(office->parser);
	free(office);
	return 0;
}
