/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the scenario programs share. Each is a server of lines on loopback whose requests become
 * slow for one known reason, a known time after the first request (papers: "validation matrix").
 *
 *	PROGRAM -p PORT [-f SECONDS_UNTIL_FAULT] [-d SECONDS_UNTIL_END] [-s SEED] [-w WORK_US]
 *		[-H SIGMA] [-k ANSWERS] [-K ANSWERS_MAX] [-g CGROUP] [-t DIRECTORY] [-a ADDRESS]
 *
 * It prints "culprit=PID" if another process is the cause and, when it ends (SIGTERM, or its time
 *is over), the number of requests.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct stage {
	int port;
	double fault;	       /* seconds after the first request; < 0: never */
	double seconds;	       /* at most, after the start */
	uint64_t work;	       /* ns of CPU time that a request takes */
	double sigma;	       /* of the logarithm of a lognormal time; 0: always its mean */
	int answers;	       /* sends for a request */
	int answers_max;       /* up to so many less one more, at random */
	const char *address;   /* to listen on */
	const char *cgroup;    /* directory to make, and to put this process into */
	const char *directory; /* for files, on a real disk */
};

extern struct stage stage;

void stage_start(int argc, char **argv);

uint64_t stage_now(void); /* ns, CLOCK_MONOTONIC */
bool stage_faulty(void);  /* has the fault started? also true in children */
void stage_spin(uint64_t ns);
void stage_sleep(uint64_t ns);
double stage_random(void); /* 0..1; each thread has its own sequence */
uint64_t stage_exponential(uint64_t mean);
uint64_t stage_lognormal(uint64_t mean);
void stage_pin(int cpu);
void stage_die(const char *what);

/* A child that runs body until its parent ends. Returns its pid. */
int stage_child(const char *name, void (*body)(void));
void stage_thread(void *(*body)(void *), const char *name);

/* Serves until the end: handler does what a request needs, the answer is sent after it. One
 * thread for all connections, or one for each. */
void stage_serve(void (*handler)(void));
void stage_serve_threads(void (*handler)(void));

/* A handler that needs the mutex for a quarter of its work. */
extern pthread_mutex_t stage_mutex;
void stage_handle_locked(void);

/* A file of this size in the directory, its name unlinked; returns a descriptor. */
int stage_file(const char *name, long size, int flags);
