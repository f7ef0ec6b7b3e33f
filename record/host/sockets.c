// SPDX-License-Identifier: GPL-2.0-or-later
/* The tables of /proc/PID/net. */
#include "sockets.h"

#include "format/grow.h"
#include "record/files/procfs.h"
#include "record/files/safe_open.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define SOCKETS_MAX    1000000 /* of all namespaces */
#define NAMESPACES     4096    /* sockets of further ones are not known */
#define TCP_CLOSE_WAIT 8
#define TCP_LISTEN     10
#define UNIX_LISTEN    0x10000 /* flag of a listening socket in /proc/net/unix */
#define UNIX_JOINED    3       /* state of a connected one */

/* "0100007F:1F90": the words of an address stand in the host's byte order. */
static bool parse_address(const char *text, u16 family, addr16 addr, u16 *port)
{
	unsigned int word[4] = { 0 }, p;
	int n;

	n = family == AF_INET
		    ? sscanf(text, "%8x:%4x", &word[0], &p) - 1
		    : sscanf(text, "%8x%8x%8x%8x:%4x", &word[0], &word[1], &word[2], &word[3], &p) -
			      4;
	if (n != 1)
		return false;
	memcpy(addr, word, family == AF_INET ? 4 : 16);
	*port = p;
	return true;
}

/* FNV-1a of a path up to the end of its line; 0 for none. */
static u64 hash_path(const char *path)
{
	u64 h = 14695981039346656037ull;

	if (!*path || *path == '\n')
		return 0;
	for (; *path && *path != '\n'; path++)
		h = (h ^ (unsigned char)*path) * 1099511628211ull;
	return h ? h : 1;
}

/* The last column of a line of /proc/net/unix, which may be empty. */
static char *unix_path(char *line)
{
	int end = 0;

	if (sscanf(line, "%*s %*x %*x %*x %*x %*x %*u %n", &end) < 0 || !end)
		return "";
	line[end + strcspn(line + end, "\n")] = '\0';
	return line + end;
}

static int parse_unix(struct socket_info *ret, const char *line)
{
	unsigned int flags, type, state;
	unsigned long long ino;
	int end = 0;

	if (sscanf(line, "%*s %*x %*x %x %x %x %llu %n", &flags, &type, &state, &ino, &end) != 4 ||
	    !ino)
		return 0;
	*ret = (struct socket_info){ .ino = ino, .family = AF_UNIX, .socktype = type };
	ret->role = flags & UNIX_LISTEN ? ROLE_LISTENING : ROLE_UNKNOWN;
	if (end && (ret->role == ROLE_LISTENING || state == UNIX_JOINED || type == SOCK_DGRAM))
		ret->path = hash_path(line + end);
	return 1;
}

int sockets_parse(struct socket_info *ret, const char *line, u16 family, u8 socktype)
{
	char local[64], remote[64];
	unsigned long long ino;
	unsigned int state, unread;

	if (family == AF_UNIX)
		return parse_unix(ret, line);
	if (sscanf(line, "%*d: %63s %63s %x %*x:%x %*s %*s %*u %*u %llu", local, remote, &state,
		   &unread, &ino) != 5 ||
	    !ino)
		return 0;
	*ret = (struct socket_info){ .ino = ino, .family = family, .socktype = socktype };
	if (!parse_address(local, family, ret->saddr, &ret->sport) ||
	    !parse_address(remote, family, ret->daddr, &ret->dport))
		return 0;
	if (socktype == SOCK_STREAM)
		ret->role = state == TCP_LISTEN ? ROLE_LISTENING
			    : ret->dport	? ROLE_CONNECTED
						: ROLE_UNKNOWN;
	if (socktype == SOCK_STREAM && ret->role == ROLE_CONNECTED) /* the peer's FIN counts as 1 */
		ret->unread = unread - (state == TCP_CLOSE_WAIT && unread);
	if (socktype != SOCK_STREAM)
		ret->role = ret->dport ? ROLE_CONNECTED : ret->sport ? ROLE_BOUND : ROLE_UNKNOWN;
	return 1;
}

static int add(struct sockets *s, const struct socket_info *i, struct err *e)
{
	struct netns_sockets *t = s->now;

	if (GROW(t->list, t->n, "sockets", e) < 0)
		return ERR_FAIL;
	t->list[t->n++] = *i;
	s->total++;
	return 0;
}

static int add_path(struct netns_sockets *t, u64 hash, const char *text, struct err *e)
{
	struct unix_path *p;

	if (GROW(t->paths, t->n_paths, "paths of sockets", e) < 0)
		return ERR_FAIL;
	p = &t->paths[t->n_paths];
	*p = (struct unix_path){ hash, strdup(text) };
	if (!p->text)
		return err_set(e, ERR_FAIL, "out of memory for paths of sockets");
	t->n_paths++;
	return 0;
}

static int read_table(struct sockets *s, unsigned int pid, const char *table, u16 family,
		      u8 socktype, struct err *e)
{
	struct socket_info info;
	char path[64], line[1024];
	int ret = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/net/%s", pid, table);
	f = fopen(path, "re");
	if (!f)
		return 0; /* no such protocol here, or the process is gone */
	s->now->read = true;
	while (ret == 0 && s->total < SOCKETS_MAX && !safe_stopping() &&
	       fgets(line, sizeof(line), f))
		if (sockets_parse(&info, line, family, socktype)) {
			ret = add(s, &info, e);
			if (ret == 0 && info.family == AF_UNIX && info.path &&
			    (info.role == ROLE_LISTENING || info.socktype == SOCK_DGRAM))
				ret = add_path(s->now, info.path, unix_path(line), e);
		}
	fclose(f);
	return ret;
}

static int by_ino(const void *a, const void *b)
{
	const struct socket_info *x = a, *y = b;

	return x->ino < y->ino ? -1 : x->ino > y->ino;
}

static int by_hash(const void *a, const void *b)
{
	const struct unix_path *x = a, *y = b;

	return x->hash < y->hash ? -1 : x->hash > y->hash;
}

static int by_value(const void *a, const void *b)
{
	const u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

/* Where a stream socket is reached: its local port, or the path of a unix socket; 0: nowhere. */
static u64 reached_at(const struct socket_info *i)
{
	if (i->family == AF_UNIX)
		return i->path;
	return i->socktype == SOCK_STREAM ? i->sport : 0;
}

/*
 * A connection whose local port is listened on was accepted; others were made from here. An
 * accepted unix socket has the path of the listening one; that of the peer has none, as nearly
 * no program binds before connecting.
 */
int sockets_tell_accepted(struct socket_info *list, size_t count, struct err *e)
{
	u64 *places = calloc(count + 1, sizeof(*places)), place;
	size_t i, n = 0;

	if (!places)
		return err_set(e, ERR_FAIL, "out of memory for sockets");
	for (i = 0; i < count; i++)
		if (list[i].role == ROLE_LISTENING && reached_at(&list[i]))
			places[n++] = reached_at(&list[i]);
	qsort(places, n, sizeof(*places), by_value);
	for (i = 0; i < count; i++) {
		place = reached_at(&list[i]);
		if (place && bsearch(&place, places, n, sizeof(*places), by_value) &&
		    (list[i].role == ROLE_CONNECTED ||
		     (list[i].role == ROLE_UNKNOWN && list[i].family == AF_UNIX)))
			list[i].role = ROLE_ACCEPTED;
	}
	free(places);
	return 0;
}

static int read_tables(struct sockets *s, unsigned int pid, struct err *e)
{
	static const struct {
		const char *name;
		u16 family;
		u8 socktype;
	} tables[] = {
		{ "tcp", AF_INET, SOCK_STREAM }, { "tcp6", AF_INET6, SOCK_STREAM },
		{ "udp", AF_INET, SOCK_DGRAM },	 { "udp6", AF_INET6, SOCK_DGRAM },
		{ "unix", AF_UNIX, 0 },
	};
	struct netns_sockets *t = s->now;
	size_t i;
	int ret = 0;

	for (i = 0; i < sizeof(tables) / sizeof(tables[0]) && ret == 0; i++)
		ret = read_table(s, pid, tables[i].name, tables[i].family, tables[i].socktype, e);
	if (ret == 0)
		ret = sockets_tell_accepted(t->list, t->n, e);
	if (t->n)
		qsort(t->list, t->n, sizeof(*t->list), by_ino);
	if (t->n_paths)
		qsort(t->paths, t->n_paths, sizeof(*t->paths), by_hash);
	return ret;
}

static void free_namespace(struct netns_sockets *t)
{
	while (t->n_paths > 0)
		free(t->paths[--t->n_paths].text);
	free(t->paths);
	free(t->list);
}

int sockets_read(struct sockets *s, unsigned int pid, struct err *e)
{
	char number[16];
	size_t i;

	snprintf(number, sizeof(number), "%u", pid);
	s->netns = procfs_namespace(number, "net");
	s->now = NULL;
	for (i = 0; i < s->n && !s->now; i++)
		if (s->all[i].netns == s->netns)
			s->now = &s->all[i];
	if (!s->netns || s->now || s->n == NAMESPACES)
		return 0;
	if (GROW(s->all, s->n, "network namespaces", e) < 0)
		return ERR_FAIL;
	s->now = &s->all[s->n++];
	*s->now = (struct netns_sockets){ .netns = s->netns };
	if (read_tables(s, pid, e) < 0)
		return ERR_FAIL;
	if (!s->now->read) { /* the process has ended: another one is asked */
		free_namespace(&s->all[--s->n]);
		s->now = NULL;
	}
	return 0;
}

const struct socket_info *sockets_find(const struct sockets *s, u64 ino)
{
	struct socket_info key = { .ino = ino };

	return s->now && s->now->n ? bsearch(&key, s->now->list, s->now->n, sizeof(key), by_ino)
				   : NULL;
}

const char *sockets_path(const struct sockets *s, const struct socket_info *i)
{
	struct unix_path key = { .hash = i->path };
	const struct unix_path *found = NULL;

	if (i->family == AF_UNIX && i->path && s->now && s->now->n_paths)
		found = bsearch(&key, s->now->paths, s->now->n_paths, sizeof(key), by_hash);
	return found ? found->text : NULL;
}

void sockets_free(struct sockets *s)
{
	while (s->n > 0)
		free_namespace(&s->all[--s->n]);
	free(s->all);
	*s = (struct sockets){ 0 };
}
