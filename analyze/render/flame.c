// SPDX-License-Identifier: GPL-2.0-or-later
#include "flame.h"

#include "analyze/base/number.h"
#include "analyze/base/sink.h"
#include "analyze/store/fact.h"
#include "analyze/store/stacks/calltree.h"
#include "format/escape.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LABELS_MAX   200
#define ROW	     18	  /* pixels */
#define CAPTION_ROW  16	  /* pixels */
#define CAPTION_WIDE 145  /* letters of 7.8 pixels in 1200 */
#define DEEPEST	     70	  /* rows */
#define FRAMES	     3000 /* drawn */
#define NARROWEST    0.1  /* percent of the width */
#define MARK_LEAST   0.2  /* of the first side: a smaller difference is not marked */
#define MARK_PART    0.9

#define OF_ONE "(SELECT subject_kind, subject FROM stack_side ORDER BY rowid LIMIT 1)"

const struct flame flames[] = {
	{ "flame-cpu", "profile", "Functions on a CPU, all samples", "time", NULL,
	  "SELECT s.user_stack, s.kernel_stack, p.comm, s.flags, sum(s.weight), 0, count(*) FROM"
	  " sample s LEFT JOIN (SELECT pid, max(comm) AS comm FROM process GROUP BY pid) p USING"
	  "(pid) GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4" },
	{ "flame-offcpu", "offcpu",
	  "Long waits by call path, waits for input and in the run queue excluded", "time", NULL,
	  "SELECT o.user_stack, o.kernel_stack, n.label, o.flags, sum(o.weight),"
	  " 0, count(*) FROM offcpu o JOIN state n ON n.id=o.state WHERE n.name NOT IN ('poll', 'socket', 'unknown', 'woken', 'preempted') GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4" },
	{ "flame-slow", "causes", "On a CPU during slow requests, against baseline requests",
	  "slow", "baseline",
	  "SELECT user_stack, kernel_stack, NULL, 0, slow, baseline, n FROM stack_side WHERE NOT"
	  " wait AND (subject_kind, subject)=" OF_ONE },
	{ "flame-slow-offcpu", "causes", "Long waits of slow requests, against baseline requests",
	  "slow", "baseline",
	  "SELECT user_stack, kernel_stack, NULL, 0, slow, baseline, n FROM stack_side WHERE wait"
	  " AND (subject_kind, subject)=" OF_ONE },
	{ "flame-compare", "compare", "CPU time per request, after against before", "after",
	  "before",
	  "SELECT stack, 0, NULL, 0, after, before, n FROM stack_change WHERE NOT wait AND"
	  " comm=(SELECT comm FROM stack_change ORDER BY rowid LIMIT 1)" },
	{ "flame-compare-offcpu", "compare", "Long waits per request, after against before",
	  "after", "before",
	  "SELECT stack, 0, NULL, 0, after, before, n FROM stack_change WHERE wait AND"
	  " comm=(SELECT comm FROM stack_change ORDER BY rowid LIMIT 1)" },
	{ 0 },
};

const struct flame *flame_named(const char *name)
{
	const struct flame *f;

	for (f = flames; f->name && strcmp(f->name, name) != 0; f++)
		;
	return f->name ? f : NULL;
}

/* Colours are fixed, with dark text on them: both themes show the same. */
static const char style[] =
	"<style>.flame{font:11px/1 ui-monospace,Menlo,'DejaVu Sans Mono',monospace}"
	".flame rect{stroke:#fff;stroke-width:.6}.flame text{fill:#1b1f24;stroke:none;font-size:11px}"
	".flame .f0{fill:#f6c28b}.flame .f1{fill:#f3b08a}.flame .f2{fill:#f7d48c}.flame .f3{fill:#f0a58f}"
	".flame .kn{fill:#b9c9e8}.flame .no{fill:#d5d9de}"
	".flame .r1{fill:#fbe1dc}.flame .r2{fill:#f7b9ae}.flame .r3{fill:#f08c7d}"
	".flame .m{font-weight:700}.flame .m rect{fill:#e5695a;stroke:#1b1f24;stroke-width:2}"
	".flame .b1{fill:#dfe9f7}.flame .b2{fill:#b5cdee}.flame .b3{fill:#86ade3}"
	".flame .h{fill:#4d5661;font-size:13px}"
	"@media(prefers-color-scheme:dark){.flame rect{stroke:#14181d}.flame .m rect{stroke:#fff}"
	".flame .h{fill:#a9b3be}}</style>";

struct drawing {
	const struct flame *f;
	struct callstacks stacks;
	struct calltree tree;
	char *labels[LABELS_MAX];
	u32 n_labels;
	double n, missing, incomplete;
	const struct tree_node **order; /* nodes by caller, the widest callee first */
	double *x;			/* of each node, in percent */
	u32 *depth;
	u32 marked; /* of two sides: the function of most of what the first has more; 0: none */
	struct buf *out;
	struct err *e;
};

/* ---- the tree ---- */

static int label_of(struct drawing *d, const char *text, u32 *ret)
{
	u32 i;

	for (i = 0; i < d->n_labels && strcmp(d->labels[i], text) != 0; i++)
		;
	if (i == d->n_labels && i < LABELS_MAX) {
		d->labels[i] = strdup(text);
		if (!d->labels[i])
			return err_set(d->e, ERR_FAIL, "out of memory for stacks");
		d->n_labels++;
	}
	*ret = d->stacks.n_codes + 1 + (i < LABELS_MAX ? i : LABELS_MAX - 1);
	return 0;
}

static int go_to_label(struct drawing *d, const char *text, u32 *at)
{
	u32 code = 0;
	int ret = label_of(d, text, &code);

	return ret < 0 ? ret : calltree_node(&d->tree, *at, code, at, d->e);
}

static int on_row(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct drawing *d = arg;
	s64 flags = sqlite3_column_int64(q, 3);
	double n = sqlite3_column_double(q, 6), a = sqlite3_column_double(q, 4);
	u32 codes[STACK_DEEP], count, at = 0;
	const char *label = db_text_or(q, 2, NULL);
	int ret = 0;

	count = callstacks_codes(&d->stacks, sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1),
				 codes);
	if (label)
		ret = go_to_label(d, *label ? label : "?", &at);
	if (ret == 0 && (flags & 4 || !count))
		ret = go_to_label(d, "[user stack not found]", &at);
	else if (ret == 0 && flags & 1)
		ret = go_to_label(d, "[outer callers missing]", &at);
	if (ret == 0)
		ret = calltree_path(&d->tree, at, codes, count, &at, e);
	if (ret < 0)
		return ret;
	d->tree.v[at].a += isfinite(a) && a > 0 ? a : 0;
	d->tree.v[at].b += fmax(sqlite3_column_double(q, 5), 0);
	d->n += n;
	d->missing += flags & 4 ? n : 0;
	d->incomplete += flags & 1 ? n : 0;
	return 0;
}

static const char *name_of(const struct drawing *d, u32 node)
{
	u32 code = d->tree.v[node].code;

	return code > d->stacks.n_codes ? d->labels[code - d->stacks.n_codes - 1]
					: d->stacks.codes[code].name;
}

/* ---- where each function stands ---- */

static int by_caller(const void *a, const void *b)
{
	const struct tree_node *x = *(const struct tree_node *const *)a;
	const struct tree_node *y = *(const struct tree_node *const *)b;

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	if (x->a != y->a)
		return x->a < y->a ? 1 : -1;
	return x->code < y->code ? -1 : x->code > y->code;
}

static int place(struct drawing *d)
{
	const struct tree_node *v = d->tree.v;
	u32 i, caller = 0;
	double x = 0;

	d->order = calloc((size_t)d->tree.n + 1, sizeof(*d->order));
	d->x = calloc((size_t)d->tree.n + 1, sizeof(*d->x));
	d->depth = calloc((size_t)d->tree.n + 1, sizeof(*d->depth));
	if (!d->order || !d->x || !d->depth)
		return err_set(d->e, ERR_FAIL, "out of memory for stacks");
	for (i = 0; i < d->tree.n; i++)
		d->order[i] = &v[i + 1];
	qsort(d->order, d->tree.n, sizeof(*d->order), by_caller);
	for (i = 0; i < d->tree.n; i++) {
		u32 node = d->order[i] - v;

		if (v[node].parent != caller) {
			caller = v[node].parent;
			x = d->x[caller];
		}
		d->x[node] = x;
		d->depth[node] = d->depth[caller] + 1;
		x += 100 * v[node].a / v[0].a;
	}
	return 0;
}

static bool is_drawn(const struct drawing *d, u32 node)
{
	return d->depth[node] <= DEEPEST && 100 * d->tree.v[node].a / d->tree.v[0].a >= NARROWEST;
}

/* How much larger the share of the first side is. */
static double more_of(const struct drawing *d, u32 node)
{
	const struct tree_node *v = d->tree.v;

	return v[node].a / v[0].a - (v[0].b > 0 ? v[node].b / v[0].b : 0);
}

static bool is_named(const struct drawing *d, u32 node)
{
	u32 code = d->tree.v[node].code;

	return code && code <= d->stacks.n_codes && d->stacks.codes[code].named;
}

/*
 * The innermost one that has nearly all of the largest difference: its callers have it from it. One
 * with a name, if there is any: an address means nothing to a reader.
 */
static void mark(struct drawing *d)
{
	double most = MARK_LEAST;
	bool named = false;
	u32 i;

	for (i = 1; i <= d->tree.n; i++)
		most = fmax(most, more_of(d, i));
	for (i = 1; i <= d->tree.n && d->f->second; i++) {
		if (!is_drawn(d, i) || more_of(d, i) < MARK_PART * most ||
		    (named && !is_named(d, i)))
			continue;
		if (d->marked && named == is_named(d, i) && d->depth[i] <= d->depth[d->marked])
			continue;
		d->marked = i;
		named = is_named(d, i);
	}
}

/* ---- SVG ---- */

/* A name always has the same of four colours; of two sides a larger share is red, a smaller one
 * blue.
 */
static const char *class_of(const struct drawing *d, u32 node)
{
	static const char *const warm[] = { "f0", "f1", "f2", "f3" };
	static const char *const more[] = { "r1", "r2", "r3" }, *const less[] = { "b1", "b2",
										  "b3" };
	const struct tree_node *v = &d->tree.v[node];
	double by = more_of(d, node), size;
	const char *p;
	u32 hash = 2166136261u;
	int i;

	size = fabs(by);
	i = size >= 0.3 ? 2 : size >= 0.08 ? 1 : 0;
	if (d->f->second)
		return !node || size < 0.01 ? "no" : by > 0 ? more[i] : less[i];
	if (!node || v->code > d->stacks.n_codes || !v->code)
		return "no";
	if (d->stacks.codes[v->code].kernel)
		return "kn";
	for (p = d->stacks.codes[v->code].name; *p; p++)
		hash = (hash ^ (unsigned char)*p) * 16777619u;
	return warm[hash >> 30];
}

static int add_text(struct drawing *d, const char *text)
{
	return escape_add(d->out, ESCAPE_HTML, text, strlen(text), d->e);
}

/* Name of a node, in its title with the place in the source. */
static int add_name(struct drawing *d, u32 node, bool title)
{
	u32 code = d->tree.v[node].code;
	struct buf place = { 0 };
	int ret = add_text(d, node ? name_of(d, node) : "all");

	if (ret == 0 && title && node && code <= d->stacks.n_codes)
		ret = callstacks_place(&place, &d->stacks.codes[code], d->e);
	if (ret == 0 && place.len)
		ret = add_text(d, place.data);
	buf_free(&place);
	return ret;
}

static int put_frame(struct drawing *d, u32 node, int top)
{
	const struct tree_node *v = &d->tree.v[node];
	double width = 100 * v->a / d->tree.v[0].a;
	char a[32], b[32];

	number_text(a, sizeof(a), v->a, "ns");
	number_text(b, sizeof(b), v->b, "ns");
	buf_printf(d->out, d->e,
		   "<svg%s x=\"%.3f%%\" y=\"%d\" width=\"%.3f%%\" height=\"%d\"><title>",
		   node && node == d->marked ? " class=\"m\"" : "", d->x[node],
		   top + ROW * (int)d->depth[node], fmin(width, 100 - d->x[node]), ROW);
	add_name(d, node, true);
	if (d->f->second)
		buf_printf(d->out, d->e, ": %s %s, %s %s per unit", d->f->first, a, d->f->second,
			   b);
	else
		buf_printf(d->out, d->e, ": %.1f %%, %s", width, a);
	buf_printf(d->out, d->e, "</title><rect class=\"%s\" width=\"100%%\" height=\"%d\"/>",
		   class_of(d, node), ROW - 1);
	if (width >= 0.8) { /* narrower than a letter or two: the title alone */
		buf_printf(d->out, d->e, "<text x=\"3\" y=\"12\">");
		add_name(d, node, false);
	}
	if (node && node == d->marked)
		buf_printf(d->out, d->e, ": %.0f %% of %s, %.0f %% of %s", width, d->f->first,
			   d->tree.v[0].b > 0 ? 100 * v->b / d->tree.v[0].b : 0, d->f->second);
	if (width >= 0.8)
		buf_printf(d->out, d->e, "</text>");
	return buf_printf(d->out, d->e, "</svg>\n");
}

/* What it shows, of how many samples, how complete. */
static int put_caption(struct drawing *d, struct buf *out, sqlite3 *db)
{
	char verdict[16];
	int ret = coverage_verdict(verdict, sizeof(verdict), db, d->e);

	if (ret < 0)
		return ret;
	buf_printf(out, d->e, "%s (n = %s", d->f->shows, counted(d->n).text);
	if (d->missing > 0)
		buf_printf(out, d->e, "; user stack not found: %.1f %%", 100 * d->missing / d->n);
	if (d->incomplete > 0)
		buf_printf(out, d->e, "; incomplete: %.1f %%", 100 * d->incomplete / d->n);
	ret = buf_printf(out, d->e, "; %s).", verdict);
	if (d->f->second)
		ret = buf_printf(out, d->e,
				 " Width: %s. Red: a larger share than %s, blue: a smaller one.%s",
				 d->f->first, d->f->second,
				 d->marked ? " Framed: innermost function with most of the "
					     "difference."
					   : "");
	return ret;
}

/* How much of the text is the first line: up to the end of a sentence, or else of a word. */
static size_t line_of(const char *text)
{
	size_t n = strlen(text), sentence = 0, word = 0, i;

	if (n <= CAPTION_WIDE)
		return n;
	for (i = 1; i <= CAPTION_WIDE; i++) {
		word = text[i] == ' ' ? i : word;
		sentence = text[i] == ' ' && text[i - 1] == '.' ? i : sentence;
	}
	return sentence ? sentence : word ? word : CAPTION_WIDE;
}

/* A text of SVG does not break its lines: those of the caption, in a font of one width. */
static int put_lines(struct buf *out, const char *text, int *ret_lines, struct err *e)
{
	size_t n;
	int ret = 0;

	for (*ret_lines = 0; *text && ret == 0; text += n + strspn(text + n, " ")) {
		n = line_of(text);
		ret = buf_printf(out, e, "<text class=\"h\" x=\"3\" y=\"%d\">%.*s</text>\n",
				 CAPTION_ROW * ++*ret_lines, (int)n, text);
	}
	return ret;
}

/* caption: of a picture without a page; NULL: the page has it. */
static int put_svg(struct drawing *d, const char *caption)
{
	struct buf lines = { 0 }, *out = d->out;
	u32 i, drawn = 0, deepest = 0;
	int top = 0, ret = 0;

	for (i = 1; i <= d->tree.n; i++)
		if (is_drawn(d, i) && d->depth[i] > deepest)
			deepest = d->depth[i];
	if (caption) {
		ret = put_lines(&lines, caption, &top, d->e);
		top = CAPTION_ROW * top + 10;
	}
	if (ret == 0)
		ret = buf_printf(out, d->e,
				 "<svg %sclass=\"flame\" width=\"%s\" height=\"%d\" role=\"img\" "
				 "aria-label=\"%s\">%s\n%s",
				 caption ? "xmlns=\"http://www.w3.org/2000/svg\" " : "",
				 caption ? "1200" : "100%", top + ROW * (int)(deepest + 1) + 1,
				 d->f->shows, style, lines.len ? lines.data : "");
	buf_free(&lines);
	if (ret < 0)
		return ret;
	put_frame(d, 0, top);
	for (i = 0; i < d->tree.n && drawn < FRAMES; i++) {
		u32 node = d->order[i] - d->tree.v;

		if (is_drawn(d, node)) {
			put_frame(d, node, top);
			drawn++;
		}
	}
	return buf_printf(d->out, d->e, "</svg>\n");
}

/* In a page, with its caption above. */
static int put_figure(struct drawing *d, sqlite3 *db)
{
	buf_printf(d->out, d->e, "<div class=\"flames\"><p class=\"soft\">");
	if (put_caption(d, d->out, db) < 0)
		return ERR_FAIL;
	buf_printf(d->out, d->e, "</p>\n");
	if (put_svg(d, NULL) < 0)
		return ERR_FAIL;
	return buf_printf(d->out, d->e, "</div>\n");
}

static int put_alone(struct drawing *d, sqlite3 *db)
{
	struct buf caption = { 0 };
	int ret = put_caption(d, &caption, db);

	if (ret == 0)
		ret = put_svg(d, caption.data);
	buf_free(&caption);
	return ret;
}

int flame_draw(struct buf *out, sqlite3 *db, const struct flame *f, bool alone, struct err *e)
{
	struct drawing *d = calloc(1, sizeof(*d));
	bool any = false;
	u32 i;
	int ret;

	if (!d)
		return err_set(e, ERR_FAIL, "out of memory for stacks");
	*d = (struct drawing){ .f = f, .out = out, .e = e };
	ret = callstacks_load(&d->stacks, db, e);
	if (ret == 0 && d->stacks.n)
		ret = db_each(db, e, on_row, d, f->sql, "");
	if (ret == 0 && d->tree.n) {
		calltree_sum(&d->tree);
		any = d->tree.v[0].a > 0;
	}
	if (ret == 0 && any)
		ret = place(d);
	if (ret == 0 && any) {
		mark(d);
		ret = alone ? put_alone(d, db) : put_figure(d, db);
	}
	for (i = 0; i < d->n_labels; i++)
		free(d->labels[i]);
	free(d->order);
	free(d->x);
	free(d->depth);
	calltree_free(&d->tree);
	callstacks_free(&d->stacks);
	free(d);
	return ret < 0 ? ret : any;
}

int flame_file(sqlite3 *db, const struct flame *f, const char *dir, FILE *paths, struct err *e)
{
	struct buf svg = { 0 }, path = { 0 };
	int ret = flame_draw(&svg, db, f, true, e);

	if (ret > 0) {
		ret = buf_printf(&path, e, "%s/%s.svg", dir, f->name);
		if (ret == 0)
			unlink(path.data);
		if (ret == 0)
			ret = sink_write(&svg, path.data, e);
		if (ret == 0 && paths)
			fprintf(paths, "%s\n", path.data);
		ret = ret < 0 ? ret : 1;
	}
	buf_free(&svg);
	buf_free(&path);
	return ret;
}
