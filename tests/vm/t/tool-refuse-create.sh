# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: kvpoolctl create refuses devices in use, with data, or of a wrong size, and misspelt words, and changes nothing
# timeout: 400
# long: minutes of udev and of programs that start slowly where that is emulated
# needs: python3 gcc mkfs.ext4 sfdisk mkswap addpart
. "$KVPOOL_TOP/tests/vm/lib.sh"
. "$KVPOOL_TOP/tools/kvpoolctl/tests/vm-lib.bash"
load_modules
for d in a b c d; do mksim $d 16; done
mksim tiny 4
log=(-o log_size=4M)
create() { # STATUS CODE PATTERN ARG...: refused as written and with -f
	refused "${@:1:3}" create "${log[@]}" "${@:4}"
	refused "${@:1:3}" create -f "${log[@]}" "${@:4}"
}

echo "--- a foreign signature, wherever it lies"
mkfs.ext4 -q /dev/b
dd if=/dev/urandom of=/dev/a bs=1M count=16 oflag=direct status=none
mkswap /dev/a > /dev/null
before=$(checksums /dev/{a,b,c,d,tiny})
refused 3 signature 'swap.*-- -f' create "${log[@]}" tank single /dev/a
refused 3 signature '/dev/b: .*ext4' create "${log[@]}" tank mirror /dev/c /dev/b # printed elsewhere: ext4
run 0 create -n -f "${log[@]}" tank mirror /dev/a /dev/b; has out 'wiping swap'; has out 'wiping ext4' # printed elsewhere: swap ext4
expect_eq "$(checksums /dev/{a,b,c,d,tiny})" "$before" "devices"

echo "--- mounted, itself or below; swap"
mkdir -p /tmp/m
mkdir -p '/tmp/two words'
mount -o ro,noload /dev/b '/tmp/two words'
create 3 mounted 'mounted at /tmp/two words .*unmount' tank mirror /dev/c /dev/b
umount '/tmp/two words'
swapon /dev/a
create 3 mounted 'swap.*swapoff' tank single /dev/a
swapoff /dev/a
modprobe loop
loop=$(losetup -f --show -P /dev/d)
printf 'label: gpt\nsize=8MiB\n' | sfdisk -q "$loop"
udevadm settle
mkfs.ext4 -q "${loop}p1"
mount -o ro,noload "${loop}p1" /tmp/m
create 3 mounted 'mounted at /tmp/m .*p1' tank single "$loop"
umount /tmp/m
refused 3 signature "gpt|dos" create "${log[@]}" tank single "$loop" # printed elsewhere: gpt dos
udevadm settle
losetup -d "$loop"
refused 3 signature gpt create "${log[@]}" tank single /dev/d # printed elsewhere: gpt
dd if=/dev/zero of=/dev/d bs=64K count=1 oflag=direct status=none
refused 3 signature gpt create "${log[@]}" tank single /dev/d # printed elsewhere: gpt

echo "--- held: by LVM, by md, by a program"
dd if=/dev/zero of=/dev/a bs=1M count=1 oflag=direct status=none
before=$(checksums /dev/{a,b,c,d,tiny})
dmsetup create vg-lv --uuid LVM-0123456789 --table "0 8192 linear /dev/c 0"
create 3 held 'held by dm-.*LVM-' tank mirror /dev/a /dev/c # printed elsewhere: LVM
udevadm settle; dmsetup remove --retry vg-lv
modprobe md-mod; modprobe raid1
echo md9 > /sys/module/md_mod/parameters/new_array
udevadm settle
cat > /tmp/md.py <<'END'
# build or stop: /dev/md9, a RAID1 without superblocks
import fcntl, os, struct, sys
fd = os.open("/dev/md9", os.O_RDWR)
def ioctl(nr, size, data=b""):
    fcntl.ioctl(fd, (1 if size else 0) << 30 | size << 16 | 9 << 8 | nr, data or 0)
if sys.argv[1] == "stop":
    ioctl(0x32, 0)
else:
    array = [0, 90, 0, 0, 1, 8192, 2, 2, 9, 1, 0, 1, 2, 2, 0, 0, 0, 0]
    ioctl(0x23, 72, struct.pack("18i", *array))
    for i, dev in enumerate(sys.argv[2:]):
        r = os.stat(dev).st_rdev
        ioctl(0x21, 20, struct.pack("5i", i, os.major(r), os.minor(r), i, 6))
    ioctl(0x30, 12, bytes(12))
END
"$_python" /tmp/md.py build /dev/c /dev/d
create 3 held 'held by md9' tank mirror /dev/a /dev/c # printed elsewhere: md9
udevadm settle
retry 60 "$_python" /tmp/md.py stop
held=$(mktemp -u)
"$_python" -c 'import os, sys, time; os.open("/dev/c", os.O_RDONLY | os.O_EXCL); open(sys.argv[1], "w"); time.sleep(600)' "$held" &
retry 60 test -e "$held"
create 3 held 'program holds it' tank single /dev/c
kill %1; wait %1 || true

echo "--- listed twice, by any names"
ln -s /dev/c /tmp/link
ln -s ../tmp/link /dev/linked; at_exit "rm -f /dev/linked"
mknod /tmp/node b $((0x$(stat -c %t /dev/c))) $((0x$(stat -c %T /dev/c)))
create 3 listed_twice 'same device as /dev/c' tank mirror /dev/c /dev/c
create 3 listed_twice 'same device as /dev/c' tank mirror /dev/c /tmp/link
create 3 listed_twice 'same device as /dev/linked' tank mirror /dev/linked /tmp/node
mkdir -p '/tmp/two words'; ln -s /dev/c '/tmp/two words/c'
create 3 listed_twice 'two words/c: the same device as /dev/c' tank mirror /dev/c '/tmp/two words/c'
run 0 create -n "${log[@]}" tank mirror '/tmp/two words/c' /dev/a; has out 'mirror 2 /dev/c /dev/a$'

echo "--- a partition beside its disk"
loop=$(losetup -f --show -P /dev/c)
# udev leaves locked disks alone. Otherwise it has the kernel read the partition table
# again, and there is none.
exec 9< "$loop"; flock 9
addpart "$loop" 1 0 16384; addpart "$loop" 2 16384 16384
retry 60 test -b "${loop}p1"; retry 60 test -b "${loop}p2"
create 3 listed_twice "${loop}p1: a partition of $loop" tank mirror "$loop" "${loop}p1"
create 3 listed_twice "$loop: the disk of ${loop}p2 -- name the disk, or" tank mirror "${loop}p2" "$loop"
run 0 create -n -j "${log[@]}" tank mirror /dev/a "${loop}p1"; hasnt err .
run 0 create -n "${log[@]}" tank mirror "${loop}p1" "${loop}p2"
has err "note: ${loop}p1 and ${loop}p2 are partitions of one disk"
exec 9<&-
losetup -d "$loop"
udevadm settle

echo "--- too small, too large blocks, read-only, no device"
create 3 too_small '/dev/tiny: .*larger devices' tank single /dev/tiny
create 3 too_small 'only .* bytes' -o size=1G tank single /dev/c
cat > /tmp/shim.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <linux/fs.h>
/* No device of these kernels has blocks over 4096 bytes: one says so here. */
int ioctl(int fd, unsigned long op, ...)
{
	int (*next)(int, unsigned long, ...) = (int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl");
	va_list ap;
	void *arg;
	int ret;

	va_start(ap, op);
	arg = va_arg(ap, void *);
	va_end(ap);
	ret = next(fd, op, arg);
	if (op == BLKSSZGET)
		*(int *)arg = 8192;
	return ret;
}
END
gcc -shared -fPIC -o /tmp/shim.so /tmp/shim.c
export LD_PRELOAD=/tmp/shim.so
create 3 block_size '8192 bytes, more than 4096' tank single /dev/c
unset LD_PRELOAD
blockdev --setro /dev/c
create 3 read_only 'read-only.*setrw' tank single /dev/c
blockdev --setrw /dev/c
truncate -s 32M /tmp/file
create 3 not_block_device 'losetup' tank single /tmp/file
create 3 not_block_device 'not a block device' tank single /dev/null
create 1 not_found 'No such file' tank single /dev/nowhere # printed elsewhere: No such file

echo "--- wrong usage"
create 2 usage 'single has one leg' tank single /dev/c /dev/d
create 2 usage 'mirror has 2 to 16' tank mirror /dev/c
create 2 usage 'mirror has 2 to 16' tank mirror /dev/{1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17}
create 2 usage 'needs the kind' tank /dev/c
create 2 usage 'argument is missing' tank
create 2 usage 'parity1 has 3 to 16' tank parity1 /dev/c /dev/d
refused 2 usage 'only a parity1 has chunks' create -o chunk=64K tank mirror /dev/c /dev/d
create 2 usage 'spares are no vdev' tank spare /dev/a
create 2 usage 'vdev before it' tank cache /dev/a
create 2 usage 'mirror has 2 to 16' tank single /dev/c mirror /dev/d
create 2 usage 'has one leg' tank mirror /dev/c /dev/d cache /dev/a /dev/b
create 2 usage 'cache has 2 to 16' tank mirror /dev/c /dev/d cache mirror /dev/a
create 2 usage 'has 3 to 16 legs, not 2' tank single /dev/d cache parity1 /dev/a /dev/b
create 3 listed_twice 'same device' tank single /dev/c single /dev/c
for name in 9tank -tank 'ta nk' ta/nk ../tank tänk "$(printf 'a%.0s' {1..65})" ''; do
	refused 2 usage 'a name (is|has)' create "${log[@]}" -- "$name" single /dev/c
done
for name in create destroy import export list status scrub add remove attach detach replace \
	offline online grow clear cancel wait rename labelclear get set iostat top events history \
	metrics trim whois diff inspect check extract upgrade version \
	single mirror parity1 cache spare log drain resilver; do
	refused 2 usage reserved create "${log[@]}" $name single /dev/c
done
for option in frob=1 log_size=1M log_size=x size=0 write_buffer=1M write_buffer=100T write_buffer=x \
	commit_interval_ms=0 strict=2 failmode=maybe degraded_start=yes autoimport=no scrub_rate=-1 \
	seq_cutoff_write=1K table_cache=1 "comment=$(printf %129s x)" frob =1; do
	refused 2 usage . create -o "$option" tank single /dev/c
done
refused 2 usage 'needs a value' create -o
refused 2 usage 'unknown option' create -x tank single /dev/c
refused 2 usage 'unknown option' create --force-all tank single /dev/c
refused 2 usage 'not a command' make tank single /dev/c
expect_eq "$(checksums /dev/{a,b,c,d,tiny})" "$before" "devices"

echo "--- the name is taken; the device is another pool's"
dmsetup create tank --table "0 8 zero"
create 3 name_in_use 'mapped device' tank single /dev/c
udevadm settle; dmsetup remove --retry tank
blkdiscard /dev/d
run 0 create "${log[@]}" pond mirror /dev/c /dev/d
settle pond
create 3 held 'leg of pool pond' tank single /dev/c
create 3 name_in_use 'mapped device' pond single /dev/a
stop pond
before=$(checksums /dev/{a,b,c,d,tiny})
create 3 member 'member of pool pond, which was not destroyed' tank single /dev/d
run 0 import pond; run 0 export pond
before=$(checksums /dev/{a,b,c,d,tiny})
refused 3 member 'exported pool pond, which was not destroyed' create "${log[@]}" tank single /dev/d
refused 3 member 'exported pool pond, which was not destroyed' create -f "${log[@]}" tank single /dev/d
expect_eq "$(checksums /dev/{a,b,c,d,tiny})" "$before" "devices"

echo "--- -f wipes what it overrides, also at the end"
printf 'label: gpt\nsize=4MiB\n' | sfdisk -q --force --no-reread --no-tell-kernel -w never /dev/d
before=$(checksums /dev/a)
refused 3 member . create "${log[@]}" tank single /dev/d
run 0 labelclear -f /dev/d
refused 3 signature gpt create "${log[@]}" tank single /dev/d # printed elsewhere: gpt
run 0 create -j -f "${log[@]}" tank single /dev/d
expect_eq "$(json plan.vdevs.0.legs.0.wipes)" gpt
expect_eq "$(wipefs -n -i -O TYPE --noheadings /dev/d | xargs)" PMBR "signatures left, beside kvpool's own"
expect_eq "$(checksums /dev/a)" "$before" "a device that was not named"
check_json
