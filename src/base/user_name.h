/* SPDX-License-Identifier: Apache-2.0 */
/* Users as a reader knows them. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Room for any number, and for a name of 32 bytes. */
#define USER_NAME_SIZE 64u

/* "1000 (alice)" by /etc/passwd; "1000" where that does not have it. Escaped for a terminal, cut to
 * @size. Cost: one reading of that file. */
void user_name(uint64_t uid, char *to, size_t size);
