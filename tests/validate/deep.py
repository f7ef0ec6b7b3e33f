# SPDX-License-Identifier: GPL-2.0-or-later
"""deep.py SECONDS: for so long on a CPU, three functions that call each other, for callers.py."""
import sys
import time


def inner(end):
    total = 0
    while time.process_time() < end:
        for i in range(1000):
            total += i * i % 7
    return total


def middle(end):
    return inner(end) + 1


def outer(end):
    return middle(end) + 1


outer(time.process_time() + float(sys.argv[1]))
