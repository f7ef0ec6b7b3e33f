// SPDX-License-Identifier: GPL-2.0-or-later
/* plugins OLD NEW: runs one plugin, unloads it, runs another one. Status 0: at the same address. */
#include <dlfcn.h>
#include <stdlib.h>

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
	first = run(argv[1]);
	return run(argv[2]) != first;
}
