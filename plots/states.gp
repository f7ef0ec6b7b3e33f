# SPDX-License-Identifier: GPL-2.0-or-later
# What pictures call the kinds of time: made of analyze/store/categories.def by the Makefile.
array name[11] = ["on a CPU", "run queue", "futex", "disk", "socket", "pipe", "uninterruptible", "timer, child, other", "unknown", "poll, epoll", "earlier requests"]
array colour[11] = [green, red, purple, blue, orange, yellow, dark, sky, "#c0c0c0", "#b8d8ec", "#7fbf7f"]
