# SPDX-License-Identifier: GPL-2.0-or-later
# A thread per connection, a queue, four workers, service times of a heavy tail. PARTS: answers come in 1 to PARTS sends.
. "$(dirname "$0")/serving.sh"
title() { echo "queue of 4 workers, lognormal${PARTS:+, 1 to $PARTS sends}"; }
paper() { echo "${PAPER:-xapian|.9976|.9964}"; }
conns() { echo 64; }
start() {
	run "$DIR/log" "$(dirname "$LOAD")/scenarios/worker_queue" -a "$ADDR" -p "$PORT" -d 3600 -w "${WORK_US:-400}" \
		-H "${SIGMA:-1.2}" -K "${PARTS:-1}"
	up
}
load() { load_with line "$1" "$2" "$3" '\n'; }
serve "$@"
