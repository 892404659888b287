# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: legs that fail, vanish, are missing, come back or have diverged; automatic starts, and refusals
# timeout: 240
# turn: legs-lost */pool/labels.c */pool/choose.c */pool/places.c */pool/away.c */super/*.c
# needs: gcc fio
# kmsg-allow: I/O error
. "$KVPOOL_TOP/tests/vm/lib.sh"
helper oracle; helper leg
load_modules
no_udev
for d in a b c d e f; do mksim $d 64; done
len="0 $(sectors_of 40)"
all_is() { expect_eq "$(oracle show /dev/mapper/p 0 512)" "0 512 $1"; }
letters() { dmsetup status p | awk '{ print $10 }'; }
make_pool() { # LEGS...
	# what is out stays out: the test resilver is about legs that return
	dmsetup create p --table "$len kvpool - 4 format name=p log_size=8M online_auto=0 mirror $# $*"
	uuid=$(dmsetup table p | awk '{ print $4 }')
	oracle write /dev/mapper/p 0 512 1 fsync bs=32
}
table_with() { # OPTIONS LEGS...
	local options=$1 n
	shift
	n=$(wc -w <<< "$options")
	echo "$len kvpool $uuid $n $options mirror $# $*"
}

echo "--- a leg that fails writes is left behind"
make_pool /dev/a /dev/b
expect_eq "$(letters)" AA "letters"
dmsetup message p 0 checkpoint
simset a faults "add write_error 0 131072"
oracle write /dev/mapper/p 0 512 2 fsync bs=32
all_is v2
expect_stat p state degraded
expect_stat p leg.0.state faulted
expect_eq "$(letters)" FA "letters"
expect_eq "$(event_count p leg_lost)" 1 "events leg_lost"
dmsetup remove --retry p
simset a faults clear
home=$(leg label /dev/b | sed -n 's/^data_start=//p')
leg garble /dev/a "$home" 512
dmsetup create p --table "$(table_with "" /dev/a /dev/b)"
expect_stat p state degraded
[[ $(letters) = [FS]A ]] || fail "letters $(letters)"
all_is v2
expect_stat p leg.0.err_checksum 0
dmsetup remove --retry p

echo "--- recorded out, it may be missing; alone, it is no source"
dmsetup create p --table "$(table_with "" - /dev/b)"
expect_eq "$(letters)" -A "letters"
all_is v2
dmsetup remove --retry p
expect_refusal "missing" start p "$(table_with "" /dev/a -)"
expect_refusal "degraded" start p "$(table_with "" /dev/a -)"

echo "--- back again, the leg is stale: it is never read"
dmsetup create p --table "$(table_with "" /dev/b /dev/a)"
[[ $(letters) = [FS]A ]] || fail "letters $(letters)"
oracle write /dev/mapper/p 0 256 3 fsync bs=32
expect_eq "$(oracle show /dev/mapper/p 0 512 bs=1 | tr '\n' ,)" "0 256 v3,256 256 v2,"
expect_fail dmsetup message p 0 offline /dev/b
expect_eq "$(oracle show /dev/mapper/p 0 512 bs=1 | tr '\n' ,)" "0 256 v3,256 256 v2,"
dmsetup remove --retry p

echo "--- taken out by hand"
for d in a b; do blkdiscard /dev/$d; done
make_pool /dev/a /dev/b
dmsetup message p 0 offline /dev/a
[[ $(letters) = [OS]A ]] || fail "letters $(letters)"
expect_eq "$(event_count p leg_offline)" 1 "events leg_offline"
expect_fail dmsetup message p 0 offline /dev/b
oracle write /dev/mapper/p 0 512 2 fsync bs=32
# it is not read even for blocks that it has not missed
for i in a b; do simset $i stats 0; done
all_is v2
[ "$(simstat a reads)" = 0 ] || fail "an offline leg was read"
simset all cut_mode drop_all; simset all power_cut now
dmsetup remove --retry p
simset all power_restore 1
dmsetup create p --table "$(table_with "" /dev/a /dev/b)"
[[ $(letters) = [OS]A ]] || fail "letters $(letters)"
all_is v2
dmsetup remove --retry p

echo "--- a leg pulled out under load"
make_pool /dev/c /dev/d
fio --name=pull --filename=/dev/mapper/p --direct=1 --rw=randrw --bsrange=4k-256k --size=24m --offset=8m \
	--time_based --runtime=86400 --verify=crc32c --verify_backlog=64 --verify_state_save=0 --fdatasync=16 --ioengine=libaio \
	--iodepth=8 --output=/tmp/fio.log &
fio=$!
wait_more p io.write_blocks 1024
simset c remove 1
# the pool has noticed it, and the load goes on
wait_stat p state degraded
wait_more p io.write_blocks 1024
wait_more p io.read_blocks 256
end_fio $fio /tmp/fio.log
oracle write /dev/mapper/p 0 512 2 fsync bs=64
all_is v2
expect_stat p state degraded
expect_stat p losses_survivable 0
dmsetup remove --retry p
simset c power 1
dmsetup create p --table "$(table_with "" /dev/c /dev/d)"
[[ $(letters) = [FS]A ]] || fail "letters $(letters)"
all_is v2
dmsetup remove --retry p

echo "--- missing at start: refused, unless told"
make_pool /dev/e /dev/f
dmsetup remove --retry p
for l in e f; do leg save /dev/$l /dev/shm/$l; at_exit "rm -f /dev/shm/$l"; done
expect_refusal "degraded" start p "$(table_with "" /dev/e -)"
expect_refusal "leg" start p "$(table_with "" /dev/e -)"
dmsetup create p --table "$(table_with degraded /dev/e -)"
expect_stat p state degraded
all_is v1
oracle write /dev/mapper/p 0 256 4 fsync bs=32
dmsetup remove --retry p
# f is recorded out, on e
dmsetup create p --table "$(table_with "" /dev/e -)"
dmsetup remove --retry p
dmsetup create p --table "$(table_with "" /dev/e /dev/f)"
expect_stat p state degraded
expect_eq "$(oracle show /dev/mapper/p 0 512 bs=1 | tr '\n' ,)" "0 256 v4,256 256 v1,"
dmsetup remove --retry p

echo "--- both halves were written: refused until the user chooses"
leg restore /dev/e /dev/shm/e; leg restore /dev/f /dev/shm/f
dmsetup create p --table "$(table_with degraded /dev/e -)"
oracle write /dev/mapper/p 0 512 5 fsync bs=32
dmsetup remove --retry p
dmsetup create p --table "$(table_with degraded - /dev/f)"
all_is v1
oracle write /dev/mapper/p 0 512 6 fsync bs=32
dmsetup remove --retry p
expect_refusal "fork|history|both|diverge" start p "$(table_with "" /dev/e /dev/f)"
expect_refusal "accept[-_]fork" start p "$(table_with degraded /dev/e /dev/f)"
expect_refusal "accept[-_]fork" start p "$(table_with "" /dev/f /dev/e)"
dmsetup create p --table "$(table_with accept_fork /dev/e /dev/f)"
seen=$(oracle show /dev/mapper/p 0 512 bs=1)
[[ $seen = "0 512 v5" || $seen = "0 512 v6" ]] || fail "a mixture of two histories: $seen"
expect_stat p state degraded
dmsetup remove --retry p
dmsetup create p --table "$(table_with "" /dev/e /dev/f)"
expect_eq "$(oracle show /dev/mapper/p 0 512 bs=1)" "$seen"
dmsetup remove --retry p

echo "--- the last leg fails: errors, not wrong data; it comes back"
leg restore /dev/e /dev/shm/e; leg restore /dev/f /dev/shm/f
dmsetup create p --table "$(table_with "" /dev/e /dev/f)"
simset e dead 1; simset f dead 1
expect_status 3 oracle write /dev/mapper/p 0 512 7 fsync bs=32 go-on
expect_status 3 oracle sync /dev/mapper/p
oracle show /dev/mapper/p 0 512 bs=1 > /tmp/seen
expect_eq "$(awk '$3 !~ /^(v1|v7|EIO)$/' /tmp/seen)" "" "blocks with the legs dead"
dmsetup status p
simset e dead 0; simset f dead 0
dmsetup message p 0 clear
oracle write /dev/mapper/p 0 256 8 fsync bs=32
oracle show /dev/mapper/p 0 512 bs=1 > /tmp/seen
cat /tmp/seen
expect_eq "$(awk '$3 !~ /^(v1|v7|v8)$/' /tmp/seen)" "" "blocks afterwards"
expect_eq "$(head -n 1 /tmp/seen)" "0 256 v8"
simset all cut_mode drop_all; simset all power_cut now
dmsetup remove --retry p
simset all power_restore 1
dmsetup create p --table "$(table_with "" /dev/e /dev/f)"
oracle show /dev/mapper/p 0 512 bs=1 > /tmp/seen2
expect_eq "$(head -n 1 /tmp/seen2)" "0 256 v8"
expect_eq "$(awk '$3 !~ /^(v1|v7|v8)$/' /tmp/seen2)" "" "blocks after a power cut"
