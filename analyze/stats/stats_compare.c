// SPDX-License-Identifier: GPL-2.0-or-later
/* Is B slower than A. */
#include "stats_compare.h"

#include "sorted.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_fft_halfcomplex.h>
#include <gsl/gsl_fft_real.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>

#define PIECE	    65536
#define PIECES_MOST 8
#define RHO_LEAST   0.05
#define FEW_LAGS    64
#define PER_WINDOW  20 /* tau in a window */
#define ABOVE_LEAST 10 /* values above the quantile in a window */
#define LAGS_POWER  0.66
#define TWO_SIDED   0.975
#define SIGNIFICANT 0.05
#define EXACT_MOST  40
#define QUARTERS    4

/* Adds up correlations from lag 1 on; true once one is small. */
static bool add_lags(const double *cov, size_t from, size_t to, double *tau)
{
	size_t i;

	for (i = from; i < to; i++) {
		if (cov[i] < RHO_LEAST * cov[0])
			return true;
		*tau += 2 * cov[i] / cov[0];
	}
	return false;
}

/* Autocovariances at all lags, by FFT, into work, which has room for size values, zeros after n.
 */
static void all_lags(double *work, size_t size)
{
	size_t i;

	gsl_fft_real_radix2_transform(work, 1, size);
	work[0] *= work[0];
	work[size / 2] *= work[size / 2];
	for (i = 1; i < size / 2; i++) { /* half-complex: real parts, imaginary ones backwards */
		work[i] = work[i] * work[i] + work[size - i] * work[size - i];
		work[size - i] = 0;
	}
	gsl_fft_halfcomplex_radix2_inverse(work, 1, size);
}

/* tau of a piece, into *ret; few lags are cheaper one by one. False: it is constant. */
static bool tau_of(const double *x, size_t n, double *work, size_t size, double *ret)
{
	double mean = gsl_stats_mean(x, 1, n), cov[FEW_LAGS] = { 0 };
	size_t i, l, few = n < FEW_LAGS ? n : FEW_LAGS;

	for (i = 0; i < size; i++)
		work[i] = i < n ? x[i] - mean : 0;
	for (l = 0; l < few; l++) {
		for (cov[l] = 0, i = l; i < n; i++)
			cov[l] += work[i] * work[i - l];
		if (cov[l] < RHO_LEAST * cov[0])
			few = l + 1;
	}
	*ret = 1;
	if (!(cov[0] > 0))
		return false;
	if (add_lags(cov, 1, few, ret) || few == n)
		return true;
	all_lags(work, size);
	*ret = 1;
	add_lags(work, 1, n, ret);
	return true;
}

double stats_tau(const double *x, size_t n)
{
	size_t piece = n < PIECE ? n : PIECE, pieces = n / piece, size = 2, i, used = 0;
	double sum = 0, tau, *work;

	if (n < 3)
		return NAN;
	pieces = pieces > PIECES_MOST ? PIECES_MOST : pieces;
	while (size < 2 * piece)
		size *= 2;
	work = malloc(size * sizeof(*work));
	if (!work)
		return NAN;
	for (i = 0; i < pieces; i++)
		if (tau_of(x + (n - piece) / (pieces > 1 ? pieces - 1 : 1) * i, piece, work, size,
			   &tau)) {
			sum += tau;
			used++;
		}
	free(work);
	return used ? sum / used : 1;
}

int stats_window_count(double n, double tau, double q)
{
	double k = floor(n / (PER_WINDOW * tau)), fit = floor(n * (1 - q) / ABOVE_LEAST);

	k = k < WINDOWS_LEAST ? WINDOWS_LEAST : k > WINDOWS_MOST ? WINDOWS_MOST : k;
	k = fit < k ? fit : k;
	return k < WINDOWS_LEAST ? 0 : (int)k;
}

/* Variance of the mean with the covariances of near windows. */
static double long_run(const double *x, size_t n, double mean, double var)
{
	double lags = ceil(pow(n, LAGS_POWER)), cov = 0, c;
	size_t l, i;

	for (l = 1; l < lags && l < n; l++) {
		for (c = 0, i = l; i < n; i++)
			c += (x[i] - mean) * (x[i - l] - mean) / n;
		cov += (1 + cos(M_PI * l / lags)) * c;
	}
	cov = cov < 0 ? 0 : cov;
	return exp((1 + cov / var) / n) * (var + cov) / n;
}

struct estimate stats_mean_of(const double *x, size_t k)
{
	struct estimate r = { k ? gsl_stats_mean(x, 1, k) : NAN, NAN, k ? k - 1.0 : 0, false };
	double var;

	if (k < 2)
		return r;
	var = gsl_stats_variance_m(x, 1, k, r.value);
	r.error = sqrt(var / k);
	if (var > 0 && gsl_stats_lag1_autocorrelation_m(x, 1, k, r.value) > 2 / sqrt(k)) {
		r.error = sqrt(long_run(x, k, r.value, var));
		r.dependent = true;
	}
	return r;
}

double stats_wander(const double *x, size_t k)
{
	double mean[QUARTERS], within = 0, expected = 0;
	size_t q, from, n;

	if (k < 2 * QUARTERS)
		return NAN;
	for (q = 0; q < QUARTERS; q++) {
		from = q * k / QUARTERS;
		n = (q + 1) * k / QUARTERS - from;
		mean[q] = gsl_stats_mean(x + from, 1, n);
		within += gsl_stats_tss_m(x + from, 1, n, mean[q]);
		expected += 1.0 / n / QUARTERS;
	}
	return gsl_stats_variance(mean, 1, QUARTERS) - expected * within / (k - QUARTERS);
}

void stats_widen(struct estimate *a, double variance, double df)
{
	double own = a->error * a->error, both = own + variance;

	if (!(variance > 0) || isnan(a->error))
		return;
	if (a->df > 0)
		a->df = both * both / (own * own / a->df + variance * variance / df);
	a->error = sqrt(both);
}

struct estimate stats_log_ratio(const double *num, const double *den, size_t k, bool counts)
{
	struct estimate r = { NAN, NAN, k ? k - 1.0 : 0, false };
	double n = 0, d = 0, squares = 0, ratio, off, relative;
	size_t i;

	for (i = 0; i < k; i++) {
		n += num[i];
		d += den[i];
	}
	if (!(n > 0) || !(d > 0) || k < 2)
		return r;
	ratio = n / d;
	for (i = 0; i < k; i++) {
		off = num[i] - ratio * den[i];
		squares += off * off;
	}
	relative = k / (k - 1.0) * squares / (n * n);
	if (counts && relative < 1 / n)
		relative = 1 / n;
	r.value = log(ratio);
	r.error = sqrt(relative);
	return r;
}

struct contrast stats_welch(const struct estimate *a, const struct estimate *b)
{
	double va = a->error * a->error, vb = b->error * b->error, error = sqrt(va + vb), t;
	struct contrast c = { b->value - a->value, NAN, NAN, NAN, NAN, NAN, NAN };

	if (!(error > 0) || !(a->df > 0) || !(b->df > 0)) {
		if (error == 0) { /* nothing varies: what is seen is so */
			c.low = c.high = c.low90 = c.high90 = c.diff;
			c.p = c.diff == 0 ? 1 : 0;
		}
		return c;
	}
	c.df = (va + vb) * (va + vb) / (va * va / a->df + vb * vb / b->df);
	t = gsl_cdf_tdist_Pinv(TWO_SIDED, c.df);
	c.low = c.diff - t * error;
	c.high = c.diff + t * error;
	t = gsl_cdf_tdist_Pinv(0.95, c.df);
	c.low90 = c.diff - t * error;
	c.high90 = c.diff + t * error;
	c.p = 2 * gsl_cdf_tdist_Q(fabs(c.diff) / error, c.df);
	return c;
}

struct contrast stats_counts(double a, double time_a, double b, double time_b)
{
	static const double level[4] = { 0.025, 0.975, 0.05, 0.95 };
	double share = time_b / (time_a + time_b), at[4], pi;
	struct contrast c = { log(b / time_b * time_a / a), NAN, NAN, NAN, NAN, NAN, NAN };
	int i;

	if (!(a + b > 0) || !(time_a > 0) || !(time_b > 0))
		return c;
	c.p = 2 * fmin(gsl_cdf_binomial_P(b, share, a + b),
		       b > 0 ? gsl_cdf_binomial_Q(b - 1, share, a + b) : 1);
	c.p = fmin(1, c.p);
	for (i = 0; i < 4; i++) {
		if (i % 2)
			pi = a > 0 ? gsl_cdf_beta_Pinv(level[i], b + 1, a) : 1;
		else
			pi = b > 0 ? gsl_cdf_beta_Pinv(level[i], b, a + 1) : 0;
		at[i] = log(pi / (1 - pi) * time_a / time_b);
	}
	c.low = at[0];
	c.high = at[1];
	c.low90 = at[2];
	c.high90 = at[3];
	return c;
}

bool stats_holm(const double *p, size_t n, double *ret)
{
	size_t *order = malloc((n + 1) * sizeof(*order)), i, asked = 0, k;
	double *plain = calloc(n + 1, sizeof(*plain)), least = 0, v;
	bool done = order && plain;

	for (i = 0; done && i < n; i++) {
		asked += !isnan(p[i]);
		plain[i] = isnan(p[i]) ? INFINITY : p[i];
		ret[i] = NAN;
	}
	if (done)
		gsl_sort_index(order, plain, 1, n);
	for (k = 0; done && k < asked; k++) {
		v = p[order[k]] * (asked - k);
		least = v > least ? v : least;
		ret[order[k]] = least > 1 ? 1 : least;
	}
	free(plain);
	free(order);
	return done;
}

enum verdict stats_judge(const struct contrast *c, double p, double threshold)
{
	double bound = log1p(threshold);

	if (isnan(c->diff) || isnan(c->low))
		return VERDICT_NO_DATA;
	if (p < SIGNIFICANT && fabs(c->diff) >= bound)
		return c->diff > 0 ? VERDICT_HIGHER : VERDICT_LOWER;
	if (c->low90 > -bound && c->high90 < bound)
		return VERDICT_EQUIVALENT;
	return VERDICT_INCONCLUSIVE;
}

void stats_window_sort(const s64 *ts, const double *x, size_t n, int k, double *sorted,
		       size_t *edges)
{
	size_t to = 0;
	int w;
	s64 end;

	for (edges[0] = 0, w = 1; w <= k; w++) {
		end = n ? ts[0] + (s64)((double)(ts[n - 1] - ts[0]) * w / k) : 0;
		for (; to < n && (ts[to] < end || w == k); to++)
			sorted[to] = x[to];
		edges[w] = to;
		sort_numbers(sorted + edges[w - 1], to - edges[w - 1]);
	}
}

int stats_window_quantiles(const double *sorted, const size_t *edges, int k, double q, double *ret)
{
	double least = ABOVE_LEAST / 2.0 / (1 - q);
	int w, used = 0;
	size_t i;

	for (w = 0; w < k; w++) {
		i = edges[w + 1] - edges[w];
		if (i < least || i < 2)
			continue;
		ret[used++] = gsl_stats_quantile_from_sorted_data(sorted + edges[w], 1, i, q);
	}
	return used;
}

/* Of all ways to mix m and n values, the share with U at most u: by recursion on the largest. */
static double exact_below(size_t m, size_t n, size_t u)
{
	size_t width = m * n + 1, i, j, k;
	double *ways = calloc((n + 1) * width, sizeof(*ways)), all = 0, below = 0;

	if (!ways)
		return NAN;
	/* after round i: ways[j][k] = orders of i x and j y in which k pairs have x above y */
	for (j = 0; j <= n; j++)
		ways[j * width] = 1;
	for (i = 1; i <= m; i++)
		for (j = 1; j <= n; j++) /* the largest is an x, above j ys, or a y */
			for (k = width; k-- > 0;)
				ways[j * width + k] = (k >= j ? ways[j * width + k - j] : 0) +
						      ways[(j - 1) * width + k];
	for (k = 0; k < width; k++) {
		all += ways[n * width + k];
		below += k <= u ? ways[n * width + k] : 0;
	}
	free(ways);
	return below / all;
}

double stats_mann_whitney(const double *x, size_t m, const double *y, size_t n)
{
	double u = 0, ties = 0, mean = m * n / 2.0, total = m + n, sd, low;
	double *all = malloc((m + n + 1) * sizeof(*all));
	size_t i, k, run;

	if (!all || !m || !n) {
		free(all);
		return NAN;
	}
	for (i = 0; i < m; i++)
		for (k = 0; k < n; k++)
			u += x[i] > y[k] ? 1 : x[i] == y[k] ? 0.5 : 0;
	for (i = 0; i < m + n; i++)
		all[i] = i < m ? x[i] : y[i - m];
	gsl_sort(all, 1, m + n);
	for (i = 0; i < m + n; i += run) {
		for (run = 1; i + run < m + n && all[i + run] == all[i]; run++)
			;
		ties += (double)run * run * run - run;
	}
	free(all);
	low = u < mean ? u : m * n - u;
	if (ties == 0 && m + n <= EXACT_MOST)
		return fmin(1, 2 * exact_below(m, n, (size_t)low));
	sd = sqrt(m * n / 12.0 * (total + 1 - ties / (total * (total - 1))));
	return sd > 0 ? fmin(1, 2 * gsl_cdf_ugaussian_P((low + 0.5 - mean) / sd)) : 1;
}
