# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: LUKS above and below a pool: a power cut takes nothing that is durable, discards pass
# kernels: 6.12
# timeout: 400
# long: minutes where that is emulated, and the turns are full
# needs: gcc python3 cryptsetup
# kmsg-allow: I/O error|lost (a?sync )?page write
. "$KVPOOL_TOP/tests/vm/layers.sh"
modprobe dm-crypt
mksim a 192; mksim b 192; mksim c 32

echo "--- LUKS on a pool"
head -c 32 /dev/urandom > /tmp/key
format() { cryptsetup -q luksFormat --type luks2 --luks2-keyslots-size 256k --pbkdf pbkdf2 --pbkdf-force-iterations 1000 --key-file /tmp/key "$1"; }
unlock() { cryptsetup luksOpen --allow-discards --key-file /tmp/key "$1" "$2"; }
run 0 create -f -o log_size=8M -o ram_cache=0 tank mirror /dev/a /dev/b cache /dev/c
format /dev/mapper/tank
unlock /dev/mapper/tank secret
oracle write /dev/mapper/secret 0 4096 1 fsync bs=32
begin_writes /dev/mapper/secret 4096 2048
power_goes 2
run 0 import tank
unlock /dev/mapper/tank secret
same /dev/mapper/secret 4096 1
dmsetup message tank 0 checkpoint
before=$(stat_of tank written_blocks)
blkdiscard -l 8M /dev/mapper/secret
dmsetup message tank 0 checkpoint
[ "$(stat_of tank written_blocks)" -le $((before - 2000)) ] || fail "the discard did not pass LUKS"
same /dev/mapper/secret 2048 1 2048
refused 3 busy 'held by dm-' export tank
cryptsetup luksClose secret
run 0 destroy tank

echo "--- a pool on LUKS"
for d in a b; do
	dd if=/dev/zero of=/dev/$d bs=1M count=1 conv=fsync status=none
	format /dev/$d
done
refused 3 signature 'crypto_LUKS' create -o log_size=8M tank mirror /dev/a /dev/b # printed elsewhere: crypto_LUKS
for d in a b; do unlock /dev/$d l$d; done
run 0 create -f -o log_size=8M -o ram_cache=0 tank mirror /dev/mapper/la /dev/mapper/lb
oracle write /dev/mapper/tank 0 4096 1 fsync bs=32
expect_fail cryptsetup luksClose la
begin_writes /dev/mapper/tank 4096 2048
power_goes 3
for d in a b; do unlock /dev/$d l$d; done
run 0 import tank
same /dev/mapper/tank 4096 1
