/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of statistics that the C library lacks. */
#pragma once

/* The derivative of the logarithm of the gamma function; @x > 0. Exact to about 1e-10. */
double digamma(double x);

/*
 * The chance that a Student-t variable of @df degrees of freedom, not necessarily whole, is above
 * @t; @df > 0, INFINITY is the normal distribution; @t >= 0. Exact to about 1e-10 of its value.
 */
double student_above(double t, double df);

/* The t for which student_above() is @chance, in (0, 0.5]. INFINITY where that is beyond 1e12. */
double student_quantile(double chance, double df);
