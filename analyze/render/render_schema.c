// SPDX-License-Identifier: GPL-2.0-or-later
/* The form of the report's JSON, as JSON Schema (draft 2020-12): it follows from tables.def. */
#include "render.h"

#include "format/escape.h"

#include <string.h>

static const struct {
	const char *key;
	enum table_id table;
} arrays[] = {
	{ "verdicts", TABLE_verdict },	   { "pauses", TABLE_pause },
	{ "coverage", TABLE_coverage },	   { "loss", TABLE_loss },
	{ "causes", TABLE_cause },	   { "findings", TABLE_finding },
	{ "values", TABLE_finding_value }, { "metrics", TABLE_metric },
};

/* Columns whose words are known. */
static const struct {
	const char *column, *words;
} words[] = {
	{ "label", "\"OBSERVED\", \"CAUSAL\", \"OVERLAP\", \"CORRELATED\", \"LIMIT\"" },
	{ "evidence", "\"OBSERVED\", \"CAUSAL\", \"OVERLAP\", \"CORRELATED\", \"LIMIT\"" },
	{ "verdict", "\"COMPLETE\", \"LOSSY\", \"TRUNCATED\", \"ABSENT\"" },
	{ "better", "\"\", \"lower\", \"higher\"" },
};

static const char *type_of(const struct column_desc *c)
{
	return strcmp(c->type, "TEXT") == 0  ? "[\"string\", \"null\"]"
	       : strcmp(c->type, "INT") == 0 ? "[\"integer\", \"null\"]"
					     : "[\"number\", \"null\"]";
}

static int add_column(struct buf *out, const struct column_desc *c, bool first, struct err *e)
{
	size_t i;

	buf_printf(out, e, "%s\n            \"%s\": {\"type\": %s, \"description\": \"",
		   first ? "" : ",", c->name, type_of(c));
	escape_add(out, ESCAPE_JSON, c->doc, strlen(c->doc), e);
	if (*c->unit)
		buf_printf(out, e, " [%s]", c->unit);
	buf_printf(out, e, "\"");
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(words[i].column, c->name) == 0)
			buf_printf(out, e, ", \"enum\": [%s]", words[i].words);
	return buf_printf(out, e, "}");
}

static int add_array(struct buf *out, const char *key, const struct table_desc *t, struct err *e)
{
	int i, ret = buf_printf(
		       out, e,
		       ",\n    \"%s\": {\n      \"type\": \"array\",\n      \"description\": \"%s\",\n"
		       "      \"items\": {\n        \"type\": \"object\",\n"
		       "        \"additionalProperties\": false,\n        \"properties\": {",
		       key, t->doc);

	for (i = 0; i < t->n_columns && ret == 0; i++)
		ret = add_column(out, &t->columns[i], i == 0, e);
	if (ret == 0 && t == &tables[TABLE_finding])
		ret = buf_printf(out, e,
				 ",\n            \"sentence\": {\"type\": \"string\", "
				 "\"description\": \"the finding as text\"}");
	if (ret == 0)
		ret = buf_printf(out, e, "\n        },\n        \"required\": [");
	for (i = 0; i < t->n_columns && ret == 0; i++)
		ret = buf_printf(out, e, "%s\"%s\"", i ? ", " : "", t->columns[i].name);
	return ret < 0 ? ret : buf_printf(out, e, "]\n      }\n    }");
}

int render_json_schema(struct buf *out, struct err *e)
{
	static const char head[] =
		"{\n  \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n"
		"  \"$id\": \"obs-report/2\",\n  \"title\": \"obsanalyze report --json\",\n"
		"  \"description\": \"Times are ns. Keys may be added; a change of meaning changes the number in "
		"schema.\",\n"
		"  \"type\": \"object\",\n  \"required\": [\"schema\", \"recording\", \"verdict\"";
	size_t i;
	int ret = buf_printf(out, e, "%s", head);

	for (i = 0; i < sizeof(arrays) / sizeof(arrays[0]) && ret == 0; i++)
		ret = buf_printf(out, e, ", \"%s\"", arrays[i].key);
	if (ret == 0)
		ret = buf_printf(
			out, e,
			"],\n  \"additionalProperties\": false,\n  \"properties\": {\n"
			"    \"schema\": {\"const\": \"obs-report/2\"},\n"
			"    \"recording\": {\"type\": \"object\", \"required\": [\"file\"],"
			" \"additionalProperties\": {\"type\": \"string\"},\n"
			"      \"description\": \"facts about the recording and its host\"},\n"
			"    \"verdict\": {\"type\": \"object\", \"additionalProperties\": false,\n"
			"      \"required\": [\"completeness\", \"status\", \"problem\", \"cause\", \"sure\"],\n"
			"      \"properties\": {\n"
			"        \"completeness\": {\"enum\": [\"COMPLETE\", \"LOSSY\", \"TRUNCATED\"]},\n"
			"        \"status\": {\"enum\": [\"problem\", \"none\", \"unchanged\", \"unknown\", null], \"description\": "
			"\"of the worst server; null with --analysis\"},\n"
			"        \"problem\": {\"type\": \"string\", \"description\": \"what happened\"},\n"
			"        \"cause\": {\"type\": \"string\", \"description\": \"why; empty: not found\"},\n"
			"        \"sure\": {\"enum\": [\"observed\", \"likely\", \"possible\", null]}}}");
	for (i = 0; i < sizeof(arrays) / sizeof(arrays[0]) && ret == 0; i++)
		ret = add_array(out, arrays[i].key, &tables[arrays[i].table], e);
	return ret < 0 ? ret : buf_printf(out, e, "\n  }\n}\n");
}
