// SPDX-License-Identifier: GPL-2.0-or-later
/* The tables of tables.def and the views of views.def. */
#include "db.h"

#define TABLE(name, doc)	      static const struct column_desc columns_##name[] = {
#define COLUMN(name, type, unit, doc) { #name, #type, unit, doc },
#define END \
	}   \
	;
#include "tables.def"
#undef TABLE
#undef COLUMN
#undef END

const struct table_desc tables[N_TABLES] = {
#define TABLE(name, doc) \
	{ #name, doc, columns_##name, sizeof(columns_##name) / sizeof(columns_##name[0]) },
#define COLUMN(name, type, unit, doc)
#define END
#include "tables.def"
#undef TABLE
#undef COLUMN
#undef END
};

#define VIEW(name, doc, sql)	      static const struct column_desc columns_##name[] = {
#define COLUMN(name, type, unit, doc) { #name, #type, unit, doc },
#define END \
	}   \
	;
#include "views.def"
#undef VIEW
#undef COLUMN
#undef END

const struct view_desc views[] = {
#define VIEW(name, doc, sql) \
	{ #name, doc, sql, columns_##name, sizeof(columns_##name) / sizeof(columns_##name[0]) },
#define COLUMN(name, type, unit, doc)
#define END
#include "views.def"
#undef VIEW
#undef COLUMN
#undef END
	{ 0 },
};

const struct view_many views_of_many[] = {
#define VIEWS_OF_MANY
#define VIEW(name, doc, sql) { #name, sql },
#define VIEW_ONE(name, doc, sql)
#define COLUMN(name, type, unit, doc)
#define END
#include "views.def"
#undef VIEW
#undef COLUMN
#undef END
#undef VIEWS_OF_MANY
	{ 0 },
};
