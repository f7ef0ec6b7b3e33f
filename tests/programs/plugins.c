// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * plugins OLD NEW: computes for a second, so that its mappings are known, runs one plugin, unloads
 * it, runs another one. Status 0: at the same address.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

static void *run(const char *path)
{
	void *plugin = dlopen(path, RTLD_NOW), *work = plugin ? dlsym(plugin, "work") : NULL;

	if (!work)
		exit(EXIT_FAILURE);
	((void (*)(void))work)();
	dlclose(plugin);
	return work;
}

int main(int argc, char **argv)
{
	void *first;

	if (argc != 3)
		return EXIT_FAILURE;
	while (clock() < CLOCKS_PER_SEC)
		for (volatile int i = 0; i < 100000; i++)
			;
	first = run(argv[1]);
	return run(argv[2]) != first;
}
