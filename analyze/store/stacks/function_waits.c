// SPDX-License-Identifier: GPL-2.0-or-later
#include "function_waits.h"

#include <stddef.h>
#include <string.h>

/* Of PostgreSQL 9 to 17, and of CPython 3: the only wait in each. */
static const struct named_wait {
	const char *function;
	const char *waits;
	bool computing;
} waits[] = {
	{ "ProcSleep", "waits for a lock of PostgreSQL", false },
	{ "SyncRepWaitForLSN", "waits for the synchronous standby", false },
	{ "PyEval_RestoreThread", "waits for Python's interpreter lock", true },
	{ "PyEval_AcquireThread", "waits for Python's interpreter lock", true },
	{ "take_gil", "waits for Python's interpreter lock", true },
};

/* Starts of names; of Java 8 to 23 (libjvm), Go, V8, CPython 3, PHP, Ruby. */
static const struct collector {
	const char *start, *label;
} collectors[] = {
	{ "GenCollectedHeap::collect", "garbage collection of Java" },
	{ "GenCollectedHeap::do_collection", "garbage collection of Java" },
	{ "GenCollectedHeap::do_full_collection", "garbage collection of Java" },
	{ "GenCollectedHeap::satisfy_failed_allocation", "garbage collection of Java" },
	{ "SerialHeap::collect", "garbage collection of Java" },
	{ "SerialHeap::do_", "garbage collection of Java" },
	{ "SerialHeap::satisfy_failed_allocation", "garbage collection of Java" },
	{ "DefNewGeneration::collect", "garbage collection of Java" },
	{ "GenMarkSweep::", "garbage collection of Java" },
	{ "SerialFullGC::", "garbage collection of Java" },
	{ "PSParallelCompact", "garbage collection of Java" },
	{ "PSMarkSweep::", "garbage collection of Java" },
	{ "PSScavenge", "garbage collection of Java" },
	{ "PSPromotionManager::", "garbage collection of Java" },
	{ "G1CollectedHeap::do_", "garbage collection of Java" },
	{ "G1CollectedHeap::evacuate_", "garbage collection of Java" },
	{ "G1CollectedHeap::satisfy_failed_allocation", "garbage collection of Java" },
	{ "G1YoungCollector::", "garbage collection of Java" },
	{ "G1FullCollector::", "garbage collection of Java" },
	{ "G1ParEvacuate", "garbage collection of Java" },
	{ "G1ParScanThreadState::", "garbage collection of Java" },
	{ "G1ConcurrentMark", "garbage collection of Java" },
	{ "G1CM", "garbage collection of Java" },
	{ "ZDriver", "garbage collection of Java" },
	{ "ZGeneration", "garbage collection of Java" },
	{ "ZMark", "garbage collection of Java" },
	{ "ZRelocate", "garbage collection of Java" },
	{ "ShenandoahConcurrent", "garbage collection of Java" },
	{ "ShenandoahControlThread::", "garbage collection of Java" },
	{ "ShenandoahDegenGC::", "garbage collection of Java" },
	{ "ShenandoahFullGC::", "garbage collection of Java" },
	{ "ShenandoahHeap::do_", "garbage collection of Java" },
	{ "ShenandoahMark", "garbage collection of Java" },
	{ "runtime.gcAssistAlloc", "garbage collection of Go" },
	{ "runtime.gcBgMarkWorker", "garbage collection of Go" },
	{ "runtime.gcDrain", "garbage collection of Go" },
	{ "runtime.gcMark", "garbage collection of Go" },
	{ "runtime.gcStart", "garbage collection of Go" },
	{ "v8::internal::Heap::CollectGarbage", "garbage collection of V8" },
	{ "v8::internal::Heap::PerformGarbageCollection", "garbage collection of V8" },
	{ "v8::internal::MarkCompactCollector::", "garbage collection of V8" },
	{ "v8::internal::ScavengerCollector::", "garbage collection of V8" },
	{ "gc_collect_main", "garbage collection of Python" },
	{ "gc_collect_generations", "garbage collection of Python" },
	{ "zend_gc_collect_cycles", "garbage collection of PHP" },
	{ "gc_marks", "garbage collection of Ruby" },
	{ "gc_sweep", "garbage collection of Ruby" },
};

const char *function_collects(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(collectors) / sizeof(collectors[0]); i++)
		if (strncmp(name, collectors[i].start, strlen(collectors[i].start)) == 0)
			return collectors[i].label;
	return NULL;
}

static const struct named_wait *wait_of(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(waits) / sizeof(waits[0]); i++)
		if (strcmp(name, waits[i].function) == 0)
			return &waits[i];
	return NULL;
}

const char *function_waits(const char *name)
{
	const struct named_wait *w = wait_of(name);

	return w ? w->waits : NULL;
}

bool function_waits_for_computing(const char *name)
{
	const struct named_wait *w = wait_of(name);

	return w && w->computing;
}
