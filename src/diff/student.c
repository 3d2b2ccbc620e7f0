/* SPDX-License-Identifier: Apache-2.0 */
#include "diff/student.h"

#include <math.h>

/* Beyond this x the asymptotic series below is exact to 1e-13. */
#define SERIES_FROM 12.0

double digamma(double x)
{
	double shift = 0;

	for (; x < SERIES_FROM; x++)
		shift -= 1 / x;

	double r = 1 / (x * x);

	/* ln x - 1/2x - sum of B_2k / (2k x^2k) */
	return shift + log(x) - 0.5 / x -
	       r * (1.0 / 12 - r * (1.0 / 120 - r * (1.0 / 252 - r * (1.0 / 240 - r / 132))));
}

/*
 * The continued fraction of the incomplete beta function, evaluated forward by Lentz's method: for
 * x below (a + 1) / (a + b + 2) it converges in O(sqrt(max(a, b))) steps.
 */
static double beta_fraction(double x, double a, double b)
{
	const double tiny = 1e-300;
	double c = 1, d = 1 - (a + b) * x / (a + 1), value;

	d = 1 / (fabs(d) < tiny ? tiny : d);
	value = d;
	for (int m = 1; m <= 100000; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double step;

		d = 1 + even * d;
		c = 1 + even / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = fabs(c) < tiny ? tiny : c;
		value *= c * d;
		d = 1 + odd * d;
		c = 1 + odd / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = fabs(c) < tiny ? tiny : c;
		step = c * d;
		value *= step;
		if (fabs(step - 1) < 1e-14)
			break;
	}
	return value;
}

/* lgamma(a + h) - lgamma(a) for h = 1/2, without the loss of digits of two large numbers. */
static double gamma_half_step(double a)
{
	if (a < 1e5)
		return lgamma(a + 0.5) - lgamma(a);
	return 0.5 * log(a) - 1 / (8 * a) + 1 / (192 * a * a * a);
}

/* The regularised incomplete beta function of (@x, @df / 2, 1 / 2), @y being 1 - @x. */
static double beta_regular(double x, double y, double df)
{
	const double a = df / 2, b = 0.5;
	double front = exp(a * log(x) + b * log(y) + gamma_half_step(a) - lgamma(b));

	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(x, a, b) / a;
	return 1 - front * beta_fraction(y, b, a) / b;
}

double student_above(double t, double df)
{
	double square = t * t;

	if (t <= 0)
		return 0.5;
	if (df > 1e9) /* the normal distribution differs by less than 1e-8 of the value */
		return 0.5 * erfc(t / sqrt(2));
	return 0.5 * beta_regular(df / (df + square), square / (df + square), df);
}

static double student_density(double t, double df)
{
	if (df > 1e9)
		return exp(-t * t / 2) / sqrt(2 * M_PI);
	return exp(gamma_half_step(df / 2) - 0.5 * log(df * M_PI) -
		   (df + 1) / 2 * log1p(t * t / df));
}

double student_quantile(double chance, double df)
{
	double lo = 0, hi = 1, t;

	if (chance >= 0.5)
		return 0;
	while (student_above(hi, df) > chance) {
		lo = hi;
		hi *= 2;
		if (hi > 1e12)
			return INFINITY;
	}
	t = lo + (hi - lo) / 2;
	/* Newton's method on logarithms, which are nearly in line; where it leaves the bracket,
	 * halves */
	for (int i = 0; i < 200 && hi - lo > 1e-12 * hi; i++) {
		double above = student_above(t, df);
		double slope = t * student_density(t, df) / above, next;

		if (above > chance)
			lo = t;
		else
			hi = t;
		next = t * exp(log(above / chance) / slope);
		if (!(next > lo && next < hi))
			next = lo + (hi - lo) / 2;
		if (fabs(next - t) <= 1e-13 * t)
			break;
		t = next;
	}
	return t;
}
