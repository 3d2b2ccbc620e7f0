/* SPDX-License-Identifier: Apache-2.0 */
/* cmocka needs these before it; every unit test includes this one header. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
