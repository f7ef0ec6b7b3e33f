// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Databases of recordings, kept in $XDG_CACHE_HOME/obsanalyze. The name says of what: the
 * recording's id, and a hash of its size, its times, its inode, its block headers and the program.
 * The time of the last change of the inode is among them: content cannot change without it, also
 * where the time of modification is set back. The verdict of damage is in the database, as all
 * facts are. Whatever fails here only means that the recording is loaded again.
 */
#include "cache.h"

#include "analyze/analyses/analysis.h"
#include "analyze/base/newfile.h"
#include "analyze/replay/load.h"
#include "analyze/store/columns/columns.h"
#include "analyze/transform/excerpt.h"
#include "format/version.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#ifdef __APPLE__ /* its names of POSIX */
#define st_mtim st_mtimespec
#define st_ctim st_ctimespec
#endif

#define CACHE_MIN   (1 << 20)	/* bytes of a recording; a smaller one is loaded in a moment */
#define CACHE_LIMIT (4ll << 30) /* bytes of all databases */
#define GROWTH	    12		/* a database is about so many times as large as its recording */
#define PART_AGE    86400	/* s: what a killed program left */
#define PATH_SIZE   4200

static u64 hash_text(const char *text)
{
	u64 h = 0xcbf29ce484222325ull;

	for (; *text; text++)
		h = (h ^ (u8)*text) * 0x100000001b3ull;
	return h;
}

/* Ours: under sudo HOME may be another's, and no other user may give us answers. */
static bool own_dir(const char *path)
{
	struct stat sb;

	return stat(path, &sb) == 0 && S_ISDIR(sb.st_mode) && sb.st_uid == geteuid();
}

/* The user's directory, made if need be; false: there is none. */
static bool cache_dir(char *dir, size_t size)
{
	const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

	if (xdg && xdg[0] == '/') {
		snprintf(dir, size, "%s", xdg);
	} else if (home && home[0] == '/' && own_dir(home)) {
		snprintf(dir, size, "%s/.cache", home);
	} else {
		return false;
	}
	mkdir(dir, 0700);
	if (!own_dir(dir))
		return false;
	strncat(dir, "/obsanalyze", size - strlen(dir) - 1);
	mkdir(dir, 0700);
	return own_dir(dir) && access(dir, R_OK | W_OK | X_OK) == 0;
}

/* True if a database of this recording neither fills the disk nor the cache. */
static bool affordable(const char *dir, off_t recording)
{
	struct statvfs fs;
	unsigned long long need = (unsigned long long)recording * GROWTH;

	if (statvfs(dir, &fs) < 0 || need > CACHE_LIMIT)
		return false;
	return need < (unsigned long long)fs.f_bavail * fs.f_frsize / 2;
}

/* Of all that the headers of the blocks say: where they are, what they hold, what was lost. */
static u64 hash_blocks(const struct reader *r)
{
	u64 h = 0xcbf29ce484222325ull;
	const struct block_info *b;
	size_t i, k, n;

	b = reader_blocks(r, &n);
	for (i = 0; i < n; i++) {
		const u64 values[] = { b[i].stream, b[i].records, b[i].packed, b[i].ts_min,
				       b[i].ts_max, b[i].pos_end, b[i].lost };

		for (k = 0; k < sizeof(values) / sizeof(values[0]); k++)
			h = (h ^ values[k]) * 0x100000001b3ull;
	}
	return h;
}

static bool cache_name(char *name, size_t size, const char *path, const struct reader *r)
{
	const struct recording_state *st = reader_state(r);
	char dir[PATH_SIZE - 100], id[2 * sizeof(st->uuid) + 1], key[400];
	struct stat file, program = { 0 };
	size_t i;

	if (strcmp(path, "-") == 0 || stat(path, &file) < 0 || !S_ISREG(file.st_mode) ||
	    file.st_size < CACHE_MIN || !cache_dir(dir, sizeof(dir)) ||
	    !affordable(dir, file.st_size))
		return false;
	/* another build may give other answers; where the system does not say, the version must do
	 */
	if (stat("/proc/self/exe", &program) < 0)
		program.st_size = 0;
	for (i = 0; i < sizeof(st->uuid); i++)
		snprintf(id + 2 * i, 3, "%02x", st->uuid[i]);
	snprintf(key, sizeof(key),
		 "%lld %lld.%09ld %lld.%09ld %llu %llu %016llx %d %llu %s %lld %lld.%09ld",
		 (long long)file.st_size, (long long)file.st_mtim.tv_sec, file.st_mtim.tv_nsec,
		 (long long)file.st_ctim.tv_sec, file.st_ctim.tv_nsec,
		 (unsigned long long)file.st_dev, (unsigned long long)file.st_ino,
		 (unsigned long long)hash_blocks(r), st->sound, (unsigned long long)st->ignored,
		 OBS_VERSION, (long long)program.st_size, (long long)program.st_mtim.tv_sec,
		 program.st_mtim.tv_nsec);
	snprintf(name, size, "%s/%s-%016llx.db", dir, id, (unsigned long long)hash_text(key));
	return true;
}

/* Removes the databases that were not used for longest until the others are below the limit. */
static void prune(const char *keep)
{
	char dir[PATH_SIZE - 300], path[PATH_SIZE], oldest[PATH_SIZE];
	long long all;
	time_t oldest_time;
	struct dirent *f;
	struct stat sb;
	DIR *d;

	do {
		all = 0;
		oldest[0] = '\0';
		oldest_time = 0;
		d = cache_dir(dir, sizeof(dir)) ? opendir(dir) : NULL;
		while (d && (f = readdir(d))) {
			snprintf(path, sizeof(path), "%s/%s", dir, f->d_name);
			if (!strstr(f->d_name, ".db") || lstat(path, &sb) < 0 ||
			    !S_ISREG(sb.st_mode) || strcmp(path, keep) == 0)
				continue;
			if (strstr(f->d_name, ".db.part-")) {
				if (time(NULL) - sb.st_mtime > PART_AGE)
					unlink(path);
				continue;
			}
			all += sb.st_size;
			if (!oldest[0] || sb.st_mtime < oldest_time) {
				snprintf(oldest, sizeof(oldest), "%s", path);
				oldest_time = sb.st_mtime;
			}
		}
		if (d)
			closedir(d);
	} while (all > CACHE_LIMIT && oldest[0] && unlink(oldest) == 0);
}

int cache_load(sqlite3 *db, struct reader *r, const struct asked *a, struct progress *p,
	       struct err *e)
{
	struct reader *part = NULL;
	struct load_options o = { a->step, a->filter.cpus };
	int ret = 0;

	progress_guard(db);
	reader_watch(r, progress_tick, p);
	if (filter_active(&a->filter)) {
		p->what = "choosing";
		ret = excerpt_open(&part, r, &a->filter, e);
		p->what = "loading";
		if (ret == 0)
			reader_watch(part, progress_tick, p);
	}
	if (ret == 0)
		ret = load_recording(db, part ? part : r, &o, e);
	if (ret == 0)
		ret = ask_store(db, a, e);
	reader_watch(r, NULL, NULL);
	reader_free(part);
	return ret;
}

/* Loads into the cache, under another name until it is whole. */
static int fill(const char *name, struct reader *r, const struct asked *a, struct progress *p,
		struct err *e)
{
	char part[PATH_SIZE + 32];
	sqlite3 *db = NULL;
	int ret;

	newfile_sweep(name);
	snprintf(part, sizeof(part), "%s.part-%ld", name, (long)getpid());
	ret = db_open(&db, part, true, e);
	if (ret == 0)
		ret = columns_use(db, e);
	if (ret == 0)
		ret = cache_load(db, r, a, p, e);
	if (ret == 0)
		ret = analyses_run(db, NULL, e);
	if (db_close(db) != SQLITE_OK && ret == 0)
		ret = err_set(e, ERR_FAIL, "cannot close a database");
	if (ret == 0 && rename(part, name) < 0)
		ret = err_errno(e, ERR_FAIL, "cannot keep a database");
	if (ret < 0)
		unlink(part);
	else
		prune(name);
	return ret;
}

static bool open_kept(sqlite3 **ret, const char *name)
{
	sqlite3 *db = NULL;

	if (db_open(&db, name, false, NULL) < 0)
		return false;
	if (columns_register(db, NULL) < 0) {
		db_close(db);
		return false;
	}
	*ret = db;
	return true;
}

static int load_private(sqlite3 **ret, struct reader *r, const struct asked *a, struct progress *p,
			struct err *e)
{
	sqlite3 *db = NULL;
	int got = db_open(&db, NULL, true, e);

	if (got == 0)
		got = columns_use(db, e);
	if (got == 0)
		got = cache_load(db, r, a, p, e);
	if (got == 0)
		sqlite3_progress_handler(db, 0, NULL, NULL);
	if (got == 0)
		*ret = db;
	else
		db_close(db);
	return got;
}

static bool keeps(char *name, size_t size, const char *path, const struct reader *r,
		  const struct asked *a)
{
	return !a->filter.no_cache && !ask_special(a) && !filter_active(&a->filter) &&
	       cache_name(name, size, path, r);
}

int cache_open(sqlite3 **ret, bool *ret_answered, const char *path, const struct asked *a,
	       struct err *e)
{
	struct reader *r = NULL;
	struct progress p;
	char name[PATH_SIZE];
	bool kept;
	int got;

	*ret_answered = true;
	newfile_guard(path);
	if (db_is_database(path) && filter_active(&a->filter))
		return err_set(e, ERR_FAIL,
			       "%.400s is a database: only a recording can be filtered", path);
	if (db_is_database(path) && ask_special(a))
		return err_set(
			e, ERR_FAIL,
			"--step, --baseline, --degraded and --qos need a recording: a database "
			"has its answers already");
	if (db_is_database(path))
		return a->own_queries ? db_open(ret, path, false, e) : db_open_ours(ret, path, e);
	got = reader_open(&r, path, e);
	if (got < 0)
		return got;
	kept = keeps(name, sizeof(name), path, r, a);
	if (kept && access(name, R_OK) == 0 && open_kept(ret, name)) {
		utimensat(AT_FDCWD, name, NULL, 0); /* it was used now */
		goto out;
	}
	progress_start(&p, "loading", "records"); /* before a file is made that would be left */
	if (kept && fill(name, r, a, &p, e) == 0 && open_kept(ret, name))
		goto loaded;
	/* a full disk, or no right to write: no reason to give no answer */
	*ret_answered = false;
	got = kept && progress_interrupted() ? ERR_FAIL : 0;
	if (got == 0 && kept) { /* from its start again */
		reader_free(r);
		r = NULL;
		got = reader_open(&r, path, e);
	}
	if (got == 0)
		got = load_private(ret, r, a, &p, e);
loaded:
	progress_end(&p);
out:
	reader_free(r);
	return got;
}
