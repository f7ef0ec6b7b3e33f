// SPDX-License-Identifier: GPL-2.0-or-later
/* A command that derives one recording from another: options, output file, progress, exit status.
 */
#include "remake.h"

#include "analyze/base/outfile.h"
#include "analyze/transform/excerpt.h"
#include "cmd.h"

int remake_set_output(void *config, const char *arg, struct err *e)
{
	(void)e;
	((struct remake_config *)config)->output = arg;
	return 0;
}

int remake_set_force(void *config, const char *arg, struct err *e)
{
	(void)arg;
	(void)e;
	((struct remake_config *)config)->force = true;
	return 0;
}

int remake(const char *path, const struct remake_config *c, const char *doing,
	   int (*make)(void *arg, struct reader *r, int fd, struct progress *p, struct err *e),
	   void *arg, struct err *e)
{
	struct outfile o = { .fd = -1 };
	struct reader *r = NULL;
	struct progress p;
	bool damaged;
	int ret;

	if (!c->output)
		return err_set(e, ERR_FAIL, "name the recording to make with -o");
	ret = excerpt_reader(&r, &damaged, path, &c->filter, e);
	progress_start(&p, doing, "records"); /* before a file is made that would be left */
	if (ret == 0)
		ret = outfile_open(&o, c->output, c->force, e);
	if (ret == 0)
		ret = make(arg, r, o.fd, &p, e);
	if (ret == 0)
		ret = outfile_keep(&o, e);
	outfile_close(&o);
	progress_end(&p);
	/* damaged blocks have ended it above */
	if (ret == 0 && !c->mends && damaged)
		ret = cmd_damaged(path);
	reader_free(r);
	return ret;
}
