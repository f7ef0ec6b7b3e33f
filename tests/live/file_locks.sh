#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Who holds a lock of a file: by the bytes that fcntl locked, by flock; tries that fail, and calls that wait.
. "$(dirname "$0")/lib.sh"

cat >"$work/locks.py" <<-'END'
	import fcntl, os, sys, time
	def locks(f, *ranges):
	    for start, length in ranges:
	        fcntl.lockf(f, fcntl.LOCK_EX, length, start)
	def tries(how, *args):
	    try:
	        how(*args)
	    except OSError:
	        pass
	name = sys.argv[1]
	f = open(name, "w+")
	r, w = os.pipe()
	if os.fork() == 0: # has some bytes, and an flock of another file
	    f = open(name, "w+")
	    g = open(name + ".flock", "w+")
	    locks(f, (0, 10), (100, 1))
	    fcntl.flock(g, fcntl.LOCK_EX)
	    os.write(w, b"x")
	    time.sleep(.5)
	    os._exit(0)
	os.read(r, 1)
	for i in range(5):
	    tries(fcntl.lockf, f, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 5)
	tries(fcntl.lockf, f, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 50) # which no process has
	g = open(name + ".flock", "w+")
	tries(fcntl.flock, g, fcntl.LOCK_EX | fcntl.LOCK_NB)
	fcntl.lockf(f, fcntl.LOCK_EX, 1, 100) # waits until the other one ends
	os.wait()
END
for way in '' raw_tp; do
	file=$work/locks$way.obs
	"$obsrec" -q ${way:+--force $way} -o "$file" -- python3 "$work/locks.py" "$work/file$way"
	is "${way:-tp_btf}: tries that failed" "$(ask "$file" "SELECT count(*) FROM file_lock_holder WHERE failed")" 6
	is "${way:-tp_btf}: the call that waited, for how long" "$(ask "$file" "SELECT count(*) FROM file_lock_holder
		WHERE NOT failed AND dur BETWEEN 100000000 AND 3000000000")" 1
	is "${way:-tp_btf}: the holder is the other process" "$(ask "$file" "SELECT count(DISTINCT h.holder), sum(o.pid=t.pid)
		FROM file_lock_holder h JOIN thread t ON t.tid=h.tid JOIN thread o ON o.tid=h.holder JOIN process p ON
		p.pid=o.pid AND p.parent=t.pid")" '1,0'
done

# before the recording: who has it and is recorded, who is not, and what is waited for at its end
cat >"$work/kept.py" <<-'END'
	import fcntl, sys, time
	f = open(sys.argv[1], "w+")
	fcntl.lockf(f, fcntl.LOCK_EX, 10, 0)
	print("has it", flush=True)
	time.sleep(60)
END
cat >"$work/asks.py" <<-'END'
	import fcntl, os, sys, time
	f, g = open(sys.argv[1], "r+"), open(sys.argv[2], "r+")
	while not os.path.exists(sys.argv[3]):
	    time.sleep(.01)
	for i in range(3):
	    try:
	        fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 5)
	    except OSError:
	        pass
	fcntl.lockf(g, fcntl.LOCK_EX, 1, 5)
END
python3 "$work/kept.py" "$work/a" >"$work/has1" &
kept=$!
python3 "$work/kept.py" "$work/b" >"$work/has2" &
recorded=$!
until_true [ -s "$work/has1" ]
until_true [ -s "$work/has2" ]
for targets in one two; do
	python3 "$work/asks.py" "$work/a" "$work/b" "$work/go.$targets" &
	asks=$!
	"$obsrec" -q -p $asks$([ $targets = one ] || echo ",$recorded") -o "$work/$targets.obs" &
	rec=$!
	until_begun "$work/$targets.obs"
	touch "$work/go.$targets"
	until_true grep -q "\-> POSIX .* $asks " /proc/locks
	kill -INT $rec
	wait $rec
	kill $asks
	is "$targets: tries, and a call that waits, for what others have since before" "$(ask "$work/$targets.obs" "SELECT
		sum(failed=1 AND holder=$kept), sum(failed=2 AND holder=$recorded), count(*) FROM file_lock_holder")" '3,1,4'
done
kill $kept $recorded
exit $bad
