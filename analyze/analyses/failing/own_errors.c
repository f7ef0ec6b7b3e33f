// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Errors in answers that are the server's own, as the documents of each protocol define them: HTTP
 * 5xx; gRPC's UNKNOWN, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, INTERNAL, UNAVAILABLE, DATA_LOSS;
 * SQLSTATE classes of resources, operators and the system, deadlocks; the numbers of MySQL for the
 * same; redis and memcached where they cannot serve any client; SERVFAIL of DNS. A constraint that
 * a row violates or a syntax error is the client's, as HTTP 4xx is; a serialization failure is the
 * way to say "again".
 */
#include "own_errors.h"

#include "format/protocols.h"

#include <string.h>

static const struct {
	int protocol, low, high;
} statuses[] = {
	{ PROTOCOL_HTTP1, 500, 500 },	{ PROTOCOL_HTTP1, 502, 504 }, { PROTOCOL_HTTP1, 506, 599 },
	{ PROTOCOL_HTTP2, 500, 500 },	{ PROTOCOL_HTTP2, 502, 504 }, { PROTOCOL_HTTP2, 506, 599 },
	{ PROTOCOL_GRPC, 2, 2 },	{ PROTOCOL_GRPC, 4, 4 },      { PROTOCOL_GRPC, 8, 8 },
	{ PROTOCOL_GRPC, 13, 15 },	{ PROTOCOL_MYSQL, 3, 3 }, /* error writing a file */
	{ PROTOCOL_MYSQL, 11, 28 },	/* other errors of files; EMFILE, ENOSPC */
	{ PROTOCOL_MYSQL, 1004, 1006 }, /* cannot create a file, table, database */
	{ PROTOCOL_MYSQL, 1016, 1016 }, /* cannot open a file */
	{ PROTOCOL_MYSQL, 1020, 1021 }, /* disk full */
	{ PROTOCOL_MYSQL, 1023, 1026 }, /* errors of files */
	{ PROTOCOL_MYSQL, 1030, 1030 }, /* of the storage engine */
	{ PROTOCOL_MYSQL, 1037, 1041 }, /* out of memory, too many connections */
	{ PROTOCOL_MYSQL, 1053, 1053 }, /* shutdown */
	{ PROTOCOL_MYSQL, 1114, 1114 }, /* table full */
	{ PROTOCOL_MYSQL, 1135, 1135 }, /* cannot create a thread */
	{ PROTOCOL_MYSQL, 1180, 1181 }, /* commit, rollback failed */
	{ PROTOCOL_MYSQL, 1203, 1206 }, /* connections, lock wait timeout, lock table full */
	{ PROTOCOL_MYSQL, 1213, 1213 }, /* deadlock */
	{ PROTOCOL_MYSQL, 1290, 1290 }, /* read only */
	{ PROTOCOL_MYSQL, 1836, 1836 }, /* read only */
	{ PROTOCOL_MYSQL, 3024, 3024 }, /* execution time exceeded */
};

static const struct {
	int protocol;
	const char *start; /* of the code */
} codes[] = {
	{ PROTOCOL_POSTGRES, "08" },
	{ PROTOCOL_POSTGRES, "40P01" },
	{ PROTOCOL_POSTGRES, "53" },
	{ PROTOCOL_POSTGRES, "55P03" },
	{ PROTOCOL_POSTGRES, "57" },
	{ PROTOCOL_POSTGRES, "58" },
	{ PROTOCOL_POSTGRES, "F0" },
	{ PROTOCOL_POSTGRES, "XX" },
	{ PROTOCOL_POSTGRES, "25006" },
	{ PROTOCOL_REDIS, "OOM" },
	{ PROTOCOL_REDIS, "LOADING" },
	{ PROTOCOL_REDIS, "BUSY" },
	{ PROTOCOL_REDIS, "MISCONF" },
	{ PROTOCOL_REDIS, "READONLY" },
	{ PROTOCOL_REDIS, "MASTERDOWN" },
	{ PROTOCOL_REDIS, "CLUSTERDOWN" },
	{ PROTOCOL_REDIS, "NOREPLICAS" },
	{ PROTOCOL_REDIS, "IOERR" },
	{ PROTOCOL_MEMCACHED, "SERVER_ERROR" },
	{ PROTOCOL_DNS, "SERVFAIL" },
};

static const struct {
	int protocol, status; /* 0: by the code */
	const char *start;
	bool each;
} logins[] = {
	{ PROTOCOL_MYSQL, 1044, "", false },   { PROTOCOL_MYSQL, 1045, "", false },
	{ PROTOCOL_MYSQL, 1129, "", false },   { PROTOCOL_MYSQL, 1130, "", false },
	{ PROTOCOL_MYSQL, 1698, "", false },   { PROTOCOL_POSTGRES, 0, "28", false },
	{ PROTOCOL_REDIS, 0, "NOAUTH", true }, { PROTOCOL_REDIS, 0, "WRONGPASS", true },
};

bool is_login_error(int protocol, int status, const char *code, bool *ret_each)
{
	size_t i;

	for (i = 0; i < sizeof(logins) / sizeof(logins[0]); i++) {
		*ret_each = logins[i].each;
		if (logins[i].protocol == protocol &&
		    (logins[i].status ? logins[i].status == status
				      : !strncmp(code, logins[i].start, strlen(logins[i].start))))
			return true;
	}
	return false;
}

bool is_own_error(int protocol, int status, const char *code)
{
	size_t i;

	for (i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
		if (statuses[i].protocol == protocol && status >= statuses[i].low &&
		    status <= statuses[i].high)
			return true;
	for (i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (codes[i].protocol == protocol &&
		    strncmp(code, codes[i].start, strlen(codes[i].start)) == 0 &&
		    (protocol == PROTOCOL_POSTGRES || !code[strlen(codes[i].start)]))
			return true;
	return false;
}
