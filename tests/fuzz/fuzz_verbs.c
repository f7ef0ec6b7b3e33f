// SPDX-License-Identifier: GPL-2.0-or-later
/* The options of each command of obsanalyze: the first byte chooses it, then a word a line. */
#include "fuzz.h"

#include "analyze/commands/cmd.h"

#include <stdlib.h>
#include <string.h>

#define WORDS	   64
#define CONFIG_MAX 65536

#define COMMAND(name) extern const struct command command_##name;
#include "analyze/commands/commands.def"
#undef COMMAND

static const struct command *const all[] = {
#define COMMAND(name) &command_##name,
#include "analyze/commands/commands.def"
#undef COMMAND
};

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static u64 config[CONFIG_MAX / 8];
	char *text, *words[WORDS];
	struct err e = { 0 };

	if (!size)
		return 0;
	memset(config, 0, sizeof(config));
	text = fuzz_text(data + 1, size - 1);
	opt_parse_anywhere(all[data[0] % (sizeof(all) / sizeof(all[0]))]->opts, config,
			   fuzz_words(text, "verb", words, WORDS), words, &e);
	free(text);
	return 0;
}
