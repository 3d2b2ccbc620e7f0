/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* @value, but at most @limit. */
int sample_cap(int value, int limit);

/* The sum of the @nr @values. */
int sample_sum(const int *values, int nr);

/* How many numbers are below @nr: @nr itself, but found by counting. */
int sample_count(int nr);
