# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: kvpoolctl scrub waits, pauses, resumes and stops, over restarts too; events follow; set lasts over a power cut
# timeout: 300
# turn: tool-watch */cmd_scrub.c */scrub.c
# needs: python3 gcc script
# kmsg-allow: I/O error|lost (a?sync )?page write
. "$KVPOOL_TOP/tests/vm/lib.sh"
. "$KVPOOL_TOP/tools/kvpoolctl/tests/vm-lib.bash"
helper leg
load_modules
for d in a b; do mksim $d 32; done
# At this rate a scrub of this pool takes hours, until the limit is removed.
run 0 create -o log_size=4M -o scrub_rate=4K tank mirror /dev/a /dev/b
dd if=/dev/urandom of=/dev/mapper/tank bs=64K count=256 oflag=direct conv=fsync status=none
settle tank
scrub_is() { # STATE
	run 0 status -j tank
	expect_eq "$(json pools.0.scrub.state)" "$1" "scrub"
}

echo "--- events, as they come"
kvpoolctl events -f -j tank > /tmp/follow 2> /tmp/follow.err &
follow=$!
kvpoolctl events -f > /tmp/follow.all &
follow_all=$!
saw() { grep -q "\"event\":\"$1\"" /tmp/follow; }

echo "--- start, pause, resume, stop"
scrub_is none
run 0 scrub tank
scrub_is running
retry 60 saw scrub_started
quiet
refused 3 refused 'a scrub is running.*stop it' scrub tank
run 0 scrub --pause tank
scrub_is paused
run 0 status tank; has out 'scrub: paused, [0-9]+ % of [0-9]+ blocks'
quiet
refused 3 refused 'no such scrub' scrub --pause tank
run 0 scrub -j --resume tank
scrub_is running
quiet
refused 3 refused 'no such scrub' scrub --resume tank
run 0 scrub --stop tank
scrub_is stopped
retry 60 saw scrub_stopped
retry 60 saw scrub_paused
retry 60 saw scrub_resumed
quiet
refused 3 refused 'no such scrub' scrub --stop tank

echo "--- --wait waits for a running scrub"
run 0 scrub tank
kvpoolctl scrub --wait tank > /tmp/waited 2>&1 &
waiter=$!
retry 60 waits_in $waiter nanosleep
script -qfec "kvpoolctl scrub --wait tank" /tmp/typescript > /dev/null < /dev/null &
on_terminal=$!
retry 60 grep -q 'scrub \[.*\] *[0-9]* %' /tmp/typescript
run 0 set tank scrub_rate=0
expect_status 0 wait $waiter
expect_status 0 wait $on_terminal
expect_eq "$(cat /tmp/waited)" "scrub finished: healed 0, unrepaired 0" "what it says where there is no terminal"
retry 60 saw scrub_finished

echo "--- after a restart it continues at its place"
run 0 set tank scrub_rate=4K
run 0 scrub tank
began() { [ "$(stat_of tank scrub.done)" -gt 0 ]; }
retry 60 began
run 0 scrub --pause tank
at=$(stat_of tank scrub.done)
run 0 export tank
run 0 import tank
scrub_is paused
expect_stat tank scrub.done "$at"
run 0 get -p tank scrub_rate; expect_eq "$(cat /tmp/out)" 4096
run 0 scrub --resume tank
run 0 export tank
run 0 inspect -j /dev/a
[ "$(json inspect.superblock.scrub_cursor)" -ge "$at" ] || fail "the cursor went back: $(json inspect.superblock.scrub_cursor) from $at"
run 0 import tank
scrub_is running
[ "$(stat_of tank scrub.done)" -ge "$at" ] || fail "the scrub began anew"
run 0 set tank scrub_rate=0
run 0 scrub --wait tank; has out 'finished'
scrub_is finished
[[ $(json pools.0.scrub.finished) == 20* ]] || fail "no time"

echo "--- its result decides the exit status"
settle tank
run 0 inspect -j /dev/a
start=$(json inspect.superblock.geometry.data_start)
leg garble /dev/a $((start + 100)) 4
run 0 scrub --wait tank; has out 'healed 4, unrepaired 0'
run 0 status -j tank; expect_eq "$(json pools.0.vdevs.0.legs.0.errors.healed)" 4
for d in a b; do leg garble /dev/$d $((start + 200)) 2; done
run 4 scrub --wait tank; has out 'healed 0, unrepaired 2'
run 4 scrub --wait -j tank; expect_eq "$(json pools.0.poisoned_total)" 2
dd if=/dev/zero of=/dev/mapper/tank bs=4K seek=200 count=2 oflag=direct conv=fsync status=none
# lost blocks are counted until their new contents are home
settle tank
run 0 scrub --wait tank
run 0 clear tank
run 0 status -j tank; expect_eq "$(json pools.0.vdevs.0.legs.0.errors.healed)" 0

echo "--- only changes since a checkpoint"
run 0 list -H -o checkpoint; old=$(cat /tmp/out)
run 0 diff --since 0 tank; full=$(sed -n 's/^next //p' /tmp/out)
has out '^0 4096$'
newer() { dd if=/dev/urandom of=/dev/mapper/tank bs=4K seek=3000 count=1 oflag=direct conv=fsync status=none
	settle tank; [ "$(stat_of tank era)" -gt $((old + 1)) ]; }
retry 60 newer
run 0 list -H -o checkpoint; since=$(cat /tmp/out)
expect_eq "$since" "$(stat_of tank era)"
for block in 300 3000; do leg garble /dev/a $((start + block)) 1; done
run 0 scrub --wait --since "$since" tank; has out 'healed 1, unrepaired 0'
quiet
refused 3 refused 'still to come' scrub --since 999999999 tank
run 0 scrub --wait tank; has out 'healed 1, unrepaired 0'
run 0 clear tank
# What waits in the log counts as well.
dd if=/dev/zero of=/dev/mapper/tank bs=4K seek=500 count=2 oflag=direct status=none
# It may have more, of the second before the checkpoint.
few() { [ "$(wc -l < /tmp/out)" -lt 8 ] || { cat /tmp/out; fail "that much did not change"; }; }
run 0 diff --since "$full" tank; has out '^500 2$'; has out '^3000 1$'; few
run 0 diff -j --since "$full" tank
next=$(json diff.next)
blkdiscard -o $((100 * 4096)) -l $((3 * 4096)) /dev/mapper/tank
run 0 diff -p --since "$next" tank; has out "^$((100 * 4096)) $((3 * 4096))\$"
few
run 0 scrub --wait --since "$next" tank
quiet
refused 3 refused 'still to come' diff --since "999999999@${next#*@}" tank
refused 3 refused 'of another pool' diff --since "${next%@*}@00000000" tank
refused 3 refused 'of another pool' scrub --since "${next%@*}@00000000" tank

echo "--- events were followed over the restarts, and are kept"
retry 60 grep -q 'tank unrepaired block=200$' /tmp/follow.all
kill $follow_all 2> /dev/null || fail "events -f of all pools ended by itself"
wait $follow_all || true
while IFS= read -r line; do
	printf '0\tevents -f -j\t%s\t\n' "$line" >> /tmp/json-records
done < /tmp/follow
kill $follow 2> /dev/null || fail "events -f tank ended by itself: $(cat /tmp/follow.err)"
wait $follow || true
"$_python" -IS - <<-'END'
	import json
	seqs = [e["seq"] for e in map(json.loads, open("/tmp/follow"))]
	assert seqs and seqs == sorted(set(seqs)), seqs
END
run 0 events tank; cp /tmp/out /tmp/events
grep -q 'tank unrepaired block=200$' /tmp/events || fail "not in the ring: $(cat /tmp/events)"
run 0 export tank; run 0 import tank
run 0 events tank
expect_eq "$(head -n "$(wc -l < /tmp/events)" /tmp/out)" "$(cat /tmp/events)" "events after the restart"

echo "--- a tunable is durable before set returns"
settings=(write_buffer=8M commit_interval_ms=77 table_cache=16M strict=1 degraded_start=auto
	autoimport=0 scrub_rate=123M seq_cutoff_write=1M 'comment=two  words, \one backslash')
for s in "${settings[@]}"; do run 0 set tank "$s"; done
simset all cut_mode drop_all
cut_power tank
run 0 import tank
for s in "${settings[@]}"; do
	run 0 get tank "${s%%=*}"
	expect_eq "$(cat /tmp/out)" "${s#*=}" "${s%%=*} after a power cut"
done
# before a power cut: while writes wait, removal waits too
run 0 set tank failmode=wait
stop tank
run 0 import tank
run 0 get -j tank; expect_eq "$(json tunables.failmode.value)" wait
expect_eq "$(json comment)" 'two  words, \one backslash'
run 0 set tank "comment=Größe à la carte"
run 0 get tank comment; expect_eq "$(cat /tmp/out)" "Größe à la carte"
check_json
