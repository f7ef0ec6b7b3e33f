/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One error idiom for both programs: a function that can fail returns 0 or a
 * positive count on success and a negative ERR_* on failure, and has then
 * filled the caller's struct err with one sentence. Only main prints it.
 */
#pragma once

/* The exit status of a program that ends with an error is -code. */
enum err_code {
	ERR_FAIL = -1,	  /* wrong usage, or something failed */
	ERR_ENV = -2,	  /* this host cannot do it: rights, kernel, missing program */
	ERR_DAMAGED = -3, /* the recording is damaged; what could be read was read */
	ERR_LOSS = -4,	  /* more events lost than --fail-on-loss allows */
	ERR_VERSION = -5, /* the recording needs another version of this program */
	ERR_REFUSED = -6, /* the recordings are not comparable */
	ERR_SLOWER = -7,  /* --fail-on found what it names */
};

struct err {
	enum err_code code;
	char text[600]; /* one sentence, no newline, safe to print on a terminal */
};

/*
 * Fills e (which may be NULL) and returns code, so that a failing function can
 * end in `return err_set(e, ERR_FAIL, "...")`. Bytes that came from a
 * recording must be escaped by the caller (escape.h).
 */
int err_set(struct err *e, enum err_code code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* As err_set, followed by ": " and the text of errno. */
int err_errno(struct err *e, enum err_code code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The exit status for e. */
int err_status(const struct err *e);
