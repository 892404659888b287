# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: refusals, with subject, reason and mend: second devices, copies of legs, wrong tables, legs not blank
# timeout: 180
# turn: labels */pool/labels.c */pool/choose.c */pool/places.c */pool/away.c */pool/create.c */target/registry.c
# needs: gcc addpart
# kmsg-allow: I/O error
. "$KVPOOL_TOP/tests/vm/lib.sh"
helper oracle; helper leg
load_modules
no_udev
for d in a b c d e; do mksim $d 48; done
len="0 $(sectors_of 24)"

echo "--- blank legs only"
format() { dmsetup create p --table "$len kvpool - 3 format name=p log_size=4M mirror 2 $1 $2"; }
leg garble /dev/a 0 1
expect_refusal "blank|zero|not empty" format /dev/a /dev/b
leg zero /dev/a 0 1
leg garble /dev/b $((48 * 256 - 1)) 1
expect_refusal "blank|zero|not empty" format /dev/a /dev/b
leg zero /dev/b $((48 * 256 - 1)) 1
leg garble /dev/a 255 1
expect_refusal "blank|zero|not empty" format /dev/a /dev/b
leg zero /dev/a 255 1
mkfs.ext4 -q /dev/b
expect_refusal "blank|zero|not empty" format /dev/a /dev/b
wipefs -qa /dev/b; blkdiscard /dev/b
expect_refusal "." format /dev/a /dev/a
expect_refusal "small|size|fit|hold|shorter" dmsetup create p --table "0 $(sectors_of 1000) kvpool - 1 format mirror 2 /dev/a /dev/b"
expect_fail dmsetup create p --table "$len kvpool - 1 format mirror 1 /dev/a"
expect_fail dmsetup create p --table "$len kvpool - 1 format parity1 2 /dev/a /dev/b"
expect_fail dmsetup create p --table "$len kvpool - 1 format mirror 2 /dev/a"
expect_fail dmsetup create p --table "$len kvpool - 2 format frob=1 mirror 2 /dev/a /dev/b"
expect_fail dmsetup create p --table "$len kvpool - 2 format write_buffer=nonsense mirror 2 /dev/a /dev/b"
expect_fail dmsetup create p --table "$len kvpool - 2 format name=../x mirror 2 /dev/a /dev/b"
expect_fail dmsetup create p --table "$len kvpool - 9 format mirror 2 /dev/a /dev/b"
expect_fail dmsetup create p --table "$len kvpool not-a-uuid 0 mirror 2 /dev/a /dev/b"
expect_fail dmsetup create p --table "$len kvpool - 1 format mirror 2 /dev/a -"
expect_fail dmsetup create p --table "$len kvpool"
expect_refusal "label|blank|pool" dmsetup create p --table "$len kvpool - 0 mirror 2 /dev/a /dev/b"

echo "--- numbers that do not fit"
number() { dmsetup create p --table "$len kvpool - 2 format $1 mirror ${2:-2} /dev/a /dev/b"; }
expect_refusal "table line . size is no number" number size=K
expect_refusal "log_size is no number" number log_size=18446744073709551616
expect_refusal "chunk is no number" number chunk=18446744073709617152
expect_refusal "cache_dirty_max is no number" number cache_dirty_max=1
expect_refusal "write_buffer takes" number write_buffer=17592186044480M
expect_refusal "number of legs" number log_size=8M 4294967298

# data of other programs is no label
leg garble /dev/a 5000 4
format /dev/a /dev/b
table=$(dmsetup table p)
uuid=$(awk '{ print $4 }' <<< "$table")
[[ $table != *format* ]] || fail "the table says format: $table"
[[ $uuid =~ ^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$ ]] || fail "no uuid in the table: $table"
oracle write /dev/mapper/p 0 512 1 fsync bs=64

echo "--- one device on a pool, by any names of its legs"
expect_refusal "use|active|already" dmsetup create q --table "$table"
expect_refusal "use|active|already" dmsetup create q --table "$len kvpool - 0 mirror 2 /dev/b /dev/a"
expect_refusal "use|active|already" dmsetup create q --table "$len kvpool - 0 mirror 2 - /dev/b"
leg save /dev/a /dev/shm/a; at_exit "rm -f /dev/shm/a"
leg restore /dev/c /dev/shm/a
expect_refusal "use|active|already" dmsetup create q --table "$len kvpool - 1 degraded mirror 2 /dev/c -"
expect_refusal "has no kvpool label" dmsetup create q --table "$len kvpool - 0 mirror 2 /dev/c /dev/d"
expect_refusal "." dmsetup create q --table "$len kvpool - 3 format name=q log_size=4M mirror 2 /dev/a /dev/d"
expect_eq "$(oracle show /dev/mapper/p 0 512)" "0 512 v1"

echo "--- a partition beside its disk"
modprobe loop
loop=$(losetup -f --show -P /dev/e)
addpart "$loop" 1 2048 $((46 * 2048))
retry 60 test -b "${loop}p1"
expect_refusal "${loop}p1 cannot be opened.*what holds it|or one is a partition" dmsetup create q --table "$len kvpool - 2 format log_size=4M mirror 2 $loop ${loop}p1"
expect_refusal "$loop cannot be opened.*what holds it|or one is a partition" dmsetup create q --table "$len kvpool - 2 format log_size=4M mirror 2 ${loop}p1 $loop"
dmsetup create q --table "$len kvpool - 2 format log_size=4M single 1 $loop"
expect_refusal "${loop}p1 cannot be opened|in use by another device" dmsetup create r --table "$len kvpool - 2 format log_size=4M single 1 ${loop}p1"
dmsetup remove --retry q
losetup -d "$loop"
blkdiscard /dev/e
expect_refusal "leg /dev/nowhere cannot be opened.*check the path" dmsetup create q --table "$len kvpool - 1 format mirror 2 /dev/nowhere /dev/d"
mkdir -p /tmp/m; mkfs.ext4 -q /dev/d; mount -o ro,noload /dev/d /tmp/m
expect_refusal "leg /dev/d cannot be opened.*what holds it" dmsetup create q --table "$len kvpool - 1 format mirror 2 /dev/e /dev/d"
umount /tmp/m; blkdiscard /dev/d
expect_eq "$(oracle show /dev/mapper/p 0 512)" "0 512 v1"

echo "--- a reload finds the same pool"
commits=$(stat_of p log.commits)
[ "$commits" -gt 0 ] || fail "no commit counted"
for flags in "" --noflush; do
	# shellcheck disable=SC2086 # no flag, or one
	dmsetup suspend $flags p
	dmsetup load p --table "$table"
	dmsetup resume p
	[ "$(stat_of p log.commits)" -ge "$commits" ] || fail "a new pool after the reload"
	expect_eq "$(oracle show /dev/mapper/p 0 512)" "0 512 v1"
	expect_eq "$(dmsetup table p)" "$table" "table after the reload"
done
# A reload that would be refused leaves the old table in force.
expect_refusal "lacks the leg" dmsetup load p --table "$len kvpool - 0 mirror 2 /dev/d /dev/e"
expect_eq "$(oracle show /dev/mapper/p 0 512)" "0 512 v1"
dmsetup remove --retry p

echo "--- tables that contradict the labels"
expect_refusal "size|length|sectors" start p "0 $(sectors_of 20) kvpool $uuid 0 mirror 2 /dev/a /dev/b"
expect_refusal "size|length|sectors" start p "0 $(sectors_of 28) kvpool $uuid 0 mirror 2 /dev/a /dev/b"
expect_refusal "uuid|pool" start p "$len kvpool 01234567-0123-0123-0123-0123456789ab 0 mirror 2 /dev/a /dev/b"
expect_refusal "leg" start p "$len kvpool $uuid 0 mirror 3 /dev/a /dev/b -"
expect_refusal "mirror|single|kind|leg" start p "$len kvpool $uuid 0 single 1 /dev/a"
expect_refusal "." start p "$len kvpool $uuid 0 mirror 2 /dev/a /dev/d"
expect_refusal "twice|duplicate|same|two|both|copy" start p "$len kvpool $uuid 0 mirror 2 /dev/a /dev/c"
expect_refusal "blank|label|not empty|already" dmsetup create p --table "$len kvpool - 2 format name=z mirror 2 /dev/a /dev/b"
dmsetup create x --table "$len kvpool - 3 format name=x log_size=4M mirror 2 /dev/d /dev/e"
dmsetup remove --retry x
expect_refusal "pool|uuid" start p "$len kvpool - 0 mirror 2 /dev/a /dev/d"
# a leg that is too short for its label
mksim short 40
dd if=/dev/shm/a of=/dev/short bs=1M count=40 oflag=direct status=none
expect_refusal "." start p "$len kvpool $uuid 0 mirror 2 /dev/short /dev/b"

echo "--- in any order, by what the labels say"
dmsetup create p --table "$len kvpool - 0 mirror 2 /dev/b /dev/a"
expect_eq "$(oracle show /dev/mapper/p 0 512)" "0 512 v1"
expect_eq "$(blockdev --getss --getsz /dev/mapper/p | tr '\n' ' ')" "4096 $(sectors_of 24) "
dmsetup create y --table "$len kvpool - 0 mirror 2 /dev/d /dev/e"
dmsetup remove --retry y

echo "--- sizes and names that only labels have"
dmsetup message p 0 mark destroyed
dmsetup remove --retry p
expect_refusal "destroyed" start p "$table"
dmsetup create p --table "$len kvpool $uuid 1 undestroy mirror 2 /dev/a /dev/b"
expect_eq "$(oracle show /dev/mapper/p 0 512)" "0 512 v1"
dmsetup remove --retry p
dmsetup create p --table "$table"
dmsetup message p 0 mark exported
dmsetup message p 0 mark none
dmsetup remove --retry p

echo "--- a read-only start writes nothing"
expect_refusal "read-only.*add the option readonly" dmsetup create p --readonly --table "$table"
for l in a b; do simset $l stats 0; done
dmsetup create p --readonly --table "$len kvpool $uuid 1 readonly mirror 2 /dev/a /dev/b"
expect_eq "$(oracle show /dev/mapper/p 0 512)" "0 512 v1"
expect_eq "$(dmsetup status p | awk '{ print $5 }')" ro "mode"
expect_fail dd if=/dev/zero of=/dev/mapper/p bs=4k count=1 oflag=direct status=none
expect_refusal "message set . .*started read-only" dmsetup message p 0 set strict 1
dmsetup remove --retry p
for l in a b; do
	expect_eq "$(simstat $l writes) $(simstat $l discards) $(simstat $l flushes)" "0 0 0" "writes to $l"
done
dmsetup create p --table "$table"
oracle write /dev/mapper/p 0 512 2 fsync bs=64
simset all cut_mode keep_all; simset all power_cut now
dmsetup remove --retry p
simset all power_restore 1
expect_refusal "clean|log|recover" dmsetup create p --readonly --table "$len kvpool $uuid 1 readonly mirror 2 /dev/a /dev/b"
dmsetup create p --table "$table"
expect_eq "$(oracle show /dev/mapper/p 0 512)" "0 512 v2"

echo "--- messages"
for bad in nonsense "set nonsense 1" "set write_buffer lots" "set strict 7" "set" "scrub" "scrub frobnicate" \
	"offline /dev/d" "offline" "online /dev/nothing" "mark" "mark sold" "events x" "poisoned x" "inject x" \
	"give_up" "give_up x" "give_up 0" "give_up 0 force" "give_up 0 sure" "give_up 99999999"; do
	# shellcheck disable=SC2086 # words
	expect_fail dmsetup message p 0 $bad 2> /dev/null
done
expect_refusal "strict" dmsetup message p 0 set strict 7
expect_refusal "control characters" dmsetup message p 0 set comment $'a\001b'
expect_refusal "wrong number of words" dmsetup message p 0 set strict
expect_refusal "message inject .*fault_injection=1" dmsetup message p 0 inject /dev/a read 1
expect_refusal "no page of the checksum table above that block is lost" dmsetup message p 0 give_up 0
expect_refusal "no such block" dmsetup message p 0 give_up 99999999
expect_refusal "unknown word" dmsetup message p 0 give_up 0 sure
expect_refusal "message events . an argument is no number" dmsetup message p 0 events x
# a message of another program does not replace why a table was refused
tables=/sys/module/dm_kvpool/parameters/last_table_refusal
expect_refusal "nothing" dmsetup load p --table "$len kvpool $uuid 0 mirror 2 /dev/a /dev/nothing"
why=$(cat $tables)
expect_eq "$why" "$(last_refusal)"
expect_refusal "message set .*strict" dmsetup message p 0 set strict 7
expect_eq "$(cat $tables)" "$why"
echo > $tables
expect_eq "$(cat $tables)" ""
expect_refusal "message set .*strict" dmsetup message p 0 set strict 7
expect_eq "$(cat $tables)" ""
dmsetup message p 0 set comment text
expect_stat p comment text
dmsetup message p 0 set comment
expect_stat p comment ""
expect_refusal "nonsense" dmsetup message p 0 set nonsense 1
expect_eq "$(oracle show /dev/mapper/p 0 512)" "0 512 v2"
