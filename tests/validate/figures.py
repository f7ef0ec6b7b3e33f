# SPDX-License-Identifier: GPL-2.0-or-later
"""The few statistics that the tables need."""
import math


def mean(values):
    return sum(values) / len(values) if values else math.nan


def line(x, y):
    """Least squares y = a + k x. Returns (k, R2 of the line)."""
    mx, my = mean(x), mean(y)
    sxx = sum((v - mx) ** 2 for v in x)
    syy = sum((v - my) ** 2 for v in y)
    sxy = sum((v - mx) * (w - my) for v, w in zip(x, y))
    if len(x) < 3 or sxx == 0 or syy == 0:
        return math.nan, math.nan
    return sxy / sxx, sxy * sxy / (sxx * syy)


def identity(x, y):
    """R2 of y = x: 1 - sum (y - x)^2 / sum (y - mean y)^2."""
    my = mean(y)
    syy = sum((w - my) ** 2 for w in y)
    if len(x) < 3 or syy == 0:
        return math.nan
    return 1 - sum((w - v) ** 2 for v, w in zip(x, y)) / syy


def median(values):
    ordered = sorted(values)
    n = len(ordered)
    if not n:
        return math.nan
    return ordered[n // 2] if n % 2 else (ordered[n // 2 - 1] + ordered[n // 2]) / 2


def wilson(hits, n):
    """95 % interval of a share, in per cent."""
    if not n:
        return math.nan, math.nan
    z = 1.96
    p = hits / n
    middle = p + z * z / (2 * n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    return 100 * max(middle - half, 0) / scale, 100 * (middle + half) / scale
