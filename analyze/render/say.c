// SPDX-License-Identifier: GPL-2.0-or-later
/* Sentences: a template walked once, with values looked up by name. */
#include "say.h"

#include "analyze/base/number.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VALUES_MAX 64 /* of one finding; more are left out of its sentence */
#define NAME_SIZE  32
#define ABOUT_MAX  3
#define DAY_MS	   86400000

struct sentence_value {
	char name[NAME_SIZE], unit[8];
	double number, low, high;
	bool has_number, has_interval;
	struct subject of;
	char *text; /* NULL: none */
};

struct speech {
	sqlite3 *db;
	struct err *e;
	struct subject about;
	bool here; /* what it is about is known from the page */
	struct sentence_value values[VALUES_MAX];
	int n;
};

/* ---- numbers ---- */

int say_start_ms(sqlite3 *db, s64 *ms, struct err *e)
{
	*ms = 0;
	return db_int(db, ms, e,
		      "SELECT 1000 * strftime('%s', value) + substr(strftime('%f', value), 4)"
		      " FROM recording WHERE key='start'",
		      "");
}

/* Time of day of an instant since the start; without a clock, seconds since the start. */
static int say_instant(struct buf *out, sqlite3 *db, double ns, struct err *e)
{
	s64 at;
	int ret = say_start_ms(db, &at, e);

	if (ret < 0)
		return ret;
	if (at <= 0)
		return buf_printf(out, e, "%.3f s after the start", ns / 1e9);
	at = (at + llround(ns / 1e6)) % DAY_MS;
	return buf_printf(out, e, "%02d:%02d:%02d.%03d", (int)(at / 3600000),
			  (int)(at / 60000 % 60), (int)(at / 1000 % 60), (int)(at % 1000));
}

int say_number(struct buf *out, sqlite3 *db, double number, const char *unit, struct err *e)
{
	char text[64];

	if (strcmp(unit, "at") == 0)
		return say_instant(out, db, number, e);
	if (strcmp(unit, "%") == 0)
		return buf_printf(out, e, "%.*f %%", number != 0 && fabs(number) < 10 ? 1 : 0,
				  number);
	if (strcmp(unit, "x") == 0 && !factor_text(text, sizeof(text), number))
		return buf_printf(out, e, "more than x%s", text);
	if (strcmp(unit, "x") == 0)
		return buf_printf(out, e, "x%.*f", fabs(number) < 10 ? 2 : 0, number);
	number_text(text, sizeof(text), number, unit);
	return buf_printf(out, e, "%s%s", text, strcmp(unit, "1/s") == 0 ? "/s" : "");
}

/* ---- one value ---- */

/* Without a number of its own: a time range, else the number and its interval. */
static bool is_range(const struct sentence_value *v)
{
	return !v->has_number && v->has_interval;
}

static int say_range(struct speech *s, struct buf *out, const struct sentence_value *v,
		     const char *between)
{
	int ret = say_number(out, s->db, v->low, v->unit, s->e);

	if (ret == 0)
		ret = buf_printf(out, s->e, "%s", between);
	return ret < 0 ? ret : say_number(out, s->db, v->high, v->unit, s->e);
}

/* Nothing where both ends have the digits of the number. Within parentheses without its own. */
static int say_interval(struct speech *s, struct buf *out, const struct sentence_value *v,
			bool within)
{
	struct buf number = { 0 }, low = { 0 }, high = { 0 };
	int ret = say_number(&number, s->db, v->number, v->unit, s->e);

	if (ret == 0)
		ret = say_number(&low, s->db, v->low, v->unit, s->e);
	if (ret == 0)
		ret = say_number(&high, s->db, v->high, v->unit, s->e);
	if (ret == 0 && (strcmp(low.data, number.data) != 0 || strcmp(high.data, number.data) != 0))
		ret = buf_printf(out, s->e, within ? ", 95 %% CI %s..%s" : " (95 %% CI %s..%s)",
				 low.data, high.data);
	buf_free(&number);
	buf_free(&low);
	buf_free(&high);
	return ret;
}

static int say_value(struct speech *s, struct buf *out, const struct sentence_value *v,
		     const char *noun)
{
	int ret = 0;
	bool named = v->text || v->of.kind != SUBJECT_none;
	bool within = out->len > 0 && out->data[out->len - 1] == '(';

	if (v->text)
		ret = buf_printf(out, s->e, "%s", v->text);
	else if (named)
		ret = subject_text(out, s->db, v->of, s->e);
	if (ret == 0 && is_range(v))
		return say_range(s, out, v, " to ");
	if (ret < 0 || !v->has_number)
		return ret;
	if (named)
		ret = buf_printf(out, s->e, " ");
	if (ret == 0)
		ret = say_number(out, s->db, v->number, v->unit, s->e);
	if (ret == 0 && noun)
		ret = buf_printf(out, s->e, " %s%s", noun,
				 v->number == 1			 ? ""
				 : noun[strlen(noun) - 1] == 's' ? "es"
								 : "s");
	if (ret < 0 || !v->has_interval)
		return ret;
	return say_interval(s, out, v, within);
}

/* What it is about: the first three of those that limits were joined for, and how many more. */
static int say_about(struct speech *s, struct buf *out)
{
	int i, k = 1, ret;

	if (s->about.kind == SUBJECT_none || s->here)
		return 1;
	ret = subject_text(out, s->db, s->about, s->e);
	for (i = 0; i < s->n && ret == 0; i++) {
		if (strcmp(s->values[i].name, "also") != 0 || ++k > ABOUT_MAX)
			continue;
		ret = buf_printf(out, s->e, ", ");
		if (ret == 0)
			ret = subject_text(out, s->db, s->values[i].of, s->e);
	}
	if (ret == 0 && k > ABOUT_MAX)
		ret = buf_printf(out, s->e, " and %d more", k - ABOUT_MAX);
	return ret;
}

/* All values of a name, as a list. 1: there is none. */
static int say_named(struct speech *s, struct buf *out, const char *name, const char *noun)
{
	int i, k = 0, ret = 0;

	if (strcmp(name, "about") == 0)
		return say_about(s, out);
	for (i = 0; i < s->n && ret == 0; i++) {
		const struct sentence_value *v = &s->values[i];

		if (strcmp(v->name, name) != 0)
			continue;
		if (!v->text && !v->has_number && !is_range(v) && v->of.kind == SUBJECT_none)
			continue;
		if (k++)
			ret = buf_printf(out, s->e, ", ");
		if (ret == 0)
			ret = say_value(s, out, v, noun);
	}
	return ret < 0 ? ret : k == 0;
}

/* ---- a template ---- */

/* Expands up to an unpaired ']' or the end; *at is left there. 1: a value is missing. */
static int expand(struct speech *s, struct buf *out, const char **at)
{
	char name[NAME_SIZE], noun[NAME_SIZE];
	bool missing = false;
	size_t n;
	int ret = 0;

	while (**at && **at != ']' && ret == 0) {
		if (**at == '[') {
			struct buf part = { 0 };

			(*at)++;
			ret = expand(s, &part, at);
			*at += **at == ']';
			if (ret == 0)
				ret = buf_add(out, part.data ? part.data : "", part.len, s->e);
			buf_free(&part);
			ret = ret < 0 ? ret : 0;
		} else if (**at == '{') {
			n = strcspn(++*at, "|}");
			snprintf(name, sizeof(name), "%.*s", (int)n, *at);
			*at += n;
			noun[0] = '\0';
			if (**at == '|') {
				n = strcspn(++*at, "}");
				snprintf(noun, sizeof(noun), "%.*s", (int)n, *at);
				*at += n;
			}
			*at += **at == '}';
			ret = say_named(s, out, name, noun[0] ? noun : NULL);
			missing |= ret == 1;
			ret = ret < 0 ? ret : 0;
		} else {
			n = strcspn(*at, "[]{");
			ret = buf_add(out, *at, n, s->e);
			*at += n;
		}
	}
	return ret < 0 ? ret : missing;
}

/* ---- a finding ---- */

static int read_values(struct speech *s, s64 id)
{
	sqlite3_stmt *q;
	int ret = db_query(&q, s->db, s->e,
			   "SELECT name, unit, number, low, high, kind, id, text FROM finding_value"
			   " WHERE finding=? ORDER BY seq",
			   "i", id);

	while ((ret = db_step(q, s->e)) > 0 && s->n < VALUES_MAX) {
		struct sentence_value *v = &s->values[s->n++];

		snprintf(v->name, sizeof(v->name), "%s", db_text(q, 0));
		snprintf(v->unit, sizeof(v->unit), "%s", db_text(q, 1));
		v->has_number = sqlite3_column_type(q, 2) != SQLITE_NULL;
		v->number = sqlite3_column_double(q, 2);
		v->has_interval = sqlite3_column_type(q, 3) != SQLITE_NULL &&
				  sqlite3_column_type(q, 4) != SQLITE_NULL;
		v->low = sqlite3_column_double(q, 3);
		v->high = sqlite3_column_double(q, 4);
		v->of = (struct subject){ subject_kind_of(db_text(q, 5)),
					  sqlite3_column_int64(q, 6) };
		if (sqlite3_column_type(q, 7) != SQLITE_NULL) {
			v->text = strdup(db_text(q, 7));
			if (!v->text) {
				ret = err_set(s->e, ERR_FAIL, "out of memory");
				break;
			}
		}
	}
	return db_end(q, ret);
}

static int read_kind(struct speech *s, s64 id, const char **ret_template)
{
	sqlite3_stmt *q;
	int i, ret = db_query(&q, s->db, s->e,
			      "SELECT kind, subject_kind, subject FROM finding WHERE rowid=?", "i",
			      id);

	if (ret < 0)
		return ret;
	ret = db_step(q, s->e);
	if (ret > 0) {
		s->about = (struct subject){ subject_kind_of(db_text(q, 1)),
					     sqlite3_column_int64(q, 2) };
		for (i = 0; i < N_FINDINGS; i++)
			if (strcmp(finding_names[i], db_text(q, 0)) == 0)
				*ret_template = finding_templates[i];
	}
	return db_end(q, ret);
}

static int say_it(struct buf *out, sqlite3 *db, s64 id, bool here, struct err *e)
{
	struct speech *s = calloc(1, sizeof(*s));
	const char *template = "finding of an unknown kind"; /* of another version */
	int i, ret;

	if (!s)
		return err_set(e, ERR_FAIL, "out of memory");
	s->db = db;
	s->e = e;
	s->here = here;
	ret = read_kind(s, id, &template);
	if (ret == 0)
		ret = read_values(s, id);
	if (ret == 0)
		ret = expand(s, out, &template);
	for (i = 0; i < s->n; i++)
		free(s->values[i].text);
	free(s);
	return ret < 0 ? ret : 0;
}

int say_finding(struct buf *out, sqlite3 *db, s64 id, struct err *e)
{
	return say_it(out, db, id, false, e);
}

static void sql_sentence(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	struct buf text = { 0 };
	struct err e = { 0 };

	if (say_it(&text, sqlite3_context_db_handle(c), sqlite3_value_int64(argv[0]),
		   argc > 1 && sqlite3_value_int(argv[1]), &e) < 0)
		sqlite3_result_error(c, e.text, -1);
	else
		sqlite3_result_text(c, text.data ? text.data : "", text.len, SQLITE_TRANSIENT);
	buf_free(&text);
}

int say_register(sqlite3 *db, struct err *e)
{
	int n;

	for (n = 1; n <= 2; n++)
		if (sqlite3_create_function(db, "sentence", n, SQLITE_UTF8, NULL, sql_sentence,
					    NULL, NULL) != SQLITE_OK)
			return err_set(e, ERR_FAIL, "cannot add a function: %s",
				       sqlite3_errmsg(db));
	return 0;
}
