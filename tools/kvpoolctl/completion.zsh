#compdef kvpoolctl
# SPDX-License-Identifier: GPL-2.0-only
# Completion of kvpoolctl for zsh: commands, options, pools, tunables, devices.

typeset -ga _kvpoolctl_keys _kvpoolctl_commands
# made of the help: commands
_kvpoolctl_keys=(write_buffer commit_interval_ms table_cache strict failmode degraded_start autoimport scrub_rate seq_cutoff_write destage_idle_ms ram_cache seq_cutoff_read cache_mode destage_min_rate fill_dwpd leg_timeout discard_passdown resilver_rate online_auto renew_mark heartbeat slow_leg log_size size chunk cache_dirty_max comment)
typeset -gA _kvpoolctl_words
_kvpoolctl_words=(
	strict '0 1'
	failmode 'error wait'
	degraded_start 'ask auto'
	autoimport '0 1'
	cache_mode 'writeback writethrough writearound'
	discard_passdown '0 1'
	online_auto '0 1'
)
_kvpoolctl_commands=(
	'create:make a pool of devices'
	'import:find pools and start them'
	'export:stop a pool'
	'destroy:stop a pool and give up its devices'
	'list:list the pools that run, one a line'
	'status:health of pools, and what to do about faults'
	'iostat:activity of a pool'
	'top:pools at work, on a terminal that one leaves open'
	'events:events of pools, oldest first'
	'history:what was ordered of a pool, when, on which host, and by whom'
	'metrics:all counters in the text format of Prometheus'
	'scrub:verify all written data, and repair it'
	'diff:the parts of a pool that changed, for a backup of only those'
	'whois:the files that blocks of a pool belong to'
	'trim:discard unused blocks on SSDs'
	'clear:reset error counters, try failed parts again, resume a pool'
	'giveup:give up a page of checksums that is bad in every copy'
	'add:make a pool larger, or add a cache or spares'
	'grow:use the space of legs that have become larger'
	'remove:take the cache, or a spare, out'
	'replace:put another device in the place of a leg'
	'attach:add one more leg to a mirror, or SSD to the cache, as a copy'
	'detach:take a leg out of a mirror, or an SSD out of a cache of several'
	'offline:take a leg out of use, until online brings it back'
	'online:take a leg that is out into use again'
	'wait:wait until a scrub, resilver, drain, trim or replace has ended'
	'cancel:stop a drain of the cache, or undo the replacement of a leg in use'
	'get:show tunables, with range, default and meaning'
	'set:change a tunable'
	'rename:give a running pool another name'
	'upgrade:on-disk features, and those that a pool uses'
	'inspect:show labels, log and table of one device'
	'check:verify a whole pool, offline and read-only'
	'extract:copy a whole pool to a file, offline and verified'
	'labelclear:remove kvpool labels, or signatures of other tools, from a device'
	'help:list the commands, or explain one'
	'version:versions of the tool, the module and the on-disk format'
)
_kvpoolctl_of() {
	case $1 in
	create)
		_arguments -s \
			'-f[wipe foreign signatures]' \
			'*-o[set a tunable, or the comment]:KEY=VALUE:_kvpoolctl_setting' \
			'-n[print what would be done]' \
			'--dry-run[print what would be done]' \
			'-j[machine-readable output]' \
			'--json[machine-readable output]' \
			'-p[sizes in plain bytes]' \
			'--plain[sizes in plain bytes]' \
			'-q[no messages but errors]' \
			'--quiet[no messages but errors]' \
			'-h[help of kvpoolctl, or of the command]' \
			'--help[help of kvpoolctl, or of the command]' \
			'-V[version of the tool]' \
			'--version[version of the tool]' \
			'1:argument: ' \
			'*:argument:_kvpoolctl_vdev' ;;
	import)
		_arguments -s \
			'-a[all pools except those whose autoimport is 0]' \
			'*-d[search here, not on all block devices]:DIR|DEV:_kvpoolctl_device' \
			'--readonly[write nothing to any leg]' \
			'--degraded[start although some legs are read-only, or are missing and may hold newer data]' \
			'--takeover[start although another host runs it, or ran it last and did not stop it]' \
			'--destroyed[import a destroyed pool]' \
			'--discard-log[discard the log of a cache that is lost or damaged, with all data that is not home]' \
			'--accept-fork[legs disagree about their history]' \
			'*--boot[for udev, when LEG has appeared]:LEG:_kvpoolctl_device' \
			'*--wait[how long --boot waits, 30 by default]:SECONDS: ' \
			'-n[print what would be done]' \
			'--dry-run[print what would be done]' \
			'-j[machine-readable output]' \
			'--json[machine-readable output]' \
			'-p[sizes in plain bytes]' \
			'--plain[sizes in plain bytes]' \
			'-q[no messages but errors]' \
			'--quiet[no messages but errors]' \
			'-h[help of kvpoolctl, or of the command]' \
			'--help[help of kvpoolctl, or of the command]' \
			'-V[version of the tool]' \
			'--version[version of the tool]' \
			'1:argument:_kvpoolctl_found' \
			'2:argument: ' ;;
	export)
		_arguments -s \
			'-a[all pools]' \
			'--drain[write home first the data that only a cache has, which may take minutes]' \
			'-n[print what would be done]' \
			'--dry-run[print what would be done]' \
			'-j[machine-readable output]' \
			'--json[machine-readable output]' \
			'-p[sizes in plain bytes]' \
			'--plain[sizes in plain bytes]' \
			'-q[no messages but errors]' \
			'--quiet[no messages but errors]' \
			'-h[help of kvpoolctl, or of the command]' \
			'--help[help of kvpoolctl, or of the command]' \
			'-V[version of the tool]' \
			'--version[version of the tool]' \
			'1:argument:_kvpoolctl_pool' ;;
	destroy)
		_arguments -s \
			'-n[print what would be done]' \
			'--dry-run[print what would be done]' \
			'-j[machine-readable output]' \
			'--json[machine-readable output]' \
			'-p[sizes in plain bytes]' \
			'--plain[sizes in plain bytes]' \
			'-q[no messages but errors]' \
			'--quiet[no messages but errors]' \
			'-h[help of kvpoolctl, or of the command]' \
			'--help[help of kvpoolctl, or of the command]' \
			'-V[version of the tool]' \
			'--version[version of the tool]' \
			'1:argument:_kvpoolctl_pool' ;;
	list)
		_arguments -s \
			'-H[no titles, tabs between the columns]' \
			'*-o[some of]:COLUMNS:(name size written state losses poisoned scrub readonly uuid checkpoint log ram comment)' \
			'-j[machine-readable output]' \
			'--json[machine-readable output]' \
			'-p[sizes in plain bytes]' \
			'--plain[sizes in plain bytes]' \
			'-q[no messages but errors]' \
			'--quiet[no messages but errors]' \
			'-h[help of kvpoolctl, or of the command]' \
			'--help[help of kvpoolctl, or of the command]' \
			'-V[version of the tool]' \
			'--version[version of the tool]' ;;
	status)
		_arguments -s \
			'-v[more]' \
			'-x[only pools for which there is advice]' \
			'*-d[search there for pools that do not run, not on all block devices]:DIR|DEV:_kvpoolctl_device' \
			'-j[machine-readable output]' \
			'--json[machine-readable output]' \
			'-p[sizes in plain bytes]' \
			'--plain[sizes in plain bytes]' \
			'-q[no messages but errors]' \
			'--quiet[no messages but errors]' \
			'-h[help of kvpoolctl, or of the command]' \
			'--help[help of kvpoolctl, or of the command]' \
			'-V[version of the tool]' \
			'--version[version of the tool]' \
			'1:argument:_kvpoolctl_pool' ;;
	iostat)
		_arguments -s \
			'-v[also the cache, and each leg]' \
			'-j[machine-readable output]' \
			'--json[machine-readable output]' \
			'-p[sizes in plain bytes]' \
			'--plain[sizes in plain bytes]' \
			'-q[no messages but errors]' \
			'--quiet[no messages but errors]' \
			'-h[help of kvpoolctl, or of the command]' \
			'--help[help of kvpoolctl, or of the command]' \
			'-V[version of the tool]' \
			'--version[version of the tool]' \
			'1:argument:_kvpoolctl_pool' \
			'2:argument: ' \
			'3:argument: ' ;;
	top)
		_arguments -s \
			'-j[machine-readable output]' \
			'--json[machine-readable output]' \
			'-p[sizes in plain bytes]' \
			'--plain[sizes in plain bytes]' \
			'-q[no messages but errors]' \
			'--quiet[no messages but errors]' \
			'-h[help of kvpoolctl, or of the command]' \
			'--help[help of kvpoolctl, or of the command]' \
			'-V[version of the tool]' \
			'--version[version of the tool]' \
			'1:argument:_kvpoolctl_pool' ;;
	events)
		_arguments -s \
			'-f[print new events as they come, also after the pool was stopped and started]' \
			'-j[machine-readable output]' \
			'--json[machine-readable output]' \
			'-p[sizes in plain bytes]' \
			'--plain[sizes in plain bytes]' \
			'-q[no messages but errors]' \
			'--quiet[no messages but errors]' \
			'-h[help of kvpoolctl, or of the command]' \
			'--help[help of kvpoolctl, or of the command]' \
			'-V[version of the tool]' \
			'--version[version of the tool]' \
			'1:argument:_kvpoolctl_pool' ;;
	history)
		_arguments -s \
			'-j[machine-readable output]' \
			'--json[machine-readable output]' \
			'-p[sizes in plain bytes]' \
			'--plain[sizes in plain bytes]' \
			'-q[no messages but errors]' \
			'--quiet[no messages but errors]' \
			'-h[help of kvpoolctl, or of the command]' \
			'--help[help of kvpoolctl, or of the command]' \
			'-V[version of the tool]' \
			'--version[version of the tool]' \
			'1:argument:_kvpoolctl_pool' ;;
	metrics)
		_arguments -s \
			'*-d[search there for pools that do not run, not on all block devices]:DIR|DEV:_kvpoolctl_device' \
			'-j[machine-readable output]' \
			'--json[machine-readable output]' \
			'-p[sizes in plain bytes]' \
			'--plain[sizes in plain bytes]' \
			'-q[no messages but errors]' \
			'--quiet[no messages but errors]' \
			'-h[help of kvpoolctl, or of the command]' \
			'--help[help of kvpoolctl, or of the command]' \
			'-V[version of the tool]' \
			'--version[version of the tool]' ;;
	scrub)
		_arguments -s \
			'--wait[start it, or wait for the one that runs]' \
			'--stop[end it]' \
			'--pause[interrupt it]' \
			'--resume[go on]' \
			'*--since[verify only changes since then]:CHECKPOINT: ' \
			'-n[print what would be done]' \
			'--dry-run[print what would be done]' \
			'-j[machine-readable output]' \
			'--json[machine-readable output]' \
			'-p[sizes in plain bytes]' \
			'--plain[sizes in plain bytes]' \
			'-q[no messages but errors]' \
			'--quiet[no messages but errors]' \
			'-h[help of kvpoolctl, or of the command]' \
			'--help[help of kvpoolctl, or of the command]' \
			'-V[version of the tool]' \
			'--version[version of the tool]' \
			'1:argument:_kvpoolctl_pool' ;;
	diff)
		_arguments -s \
			'*--since[what changed since then]:CHECKPOINT: ' \
			'-j[machine-readable output]' \
			'--json[machine-readable output]' \
			'-p[sizes in plain bytes]' \
			'--plain[sizes in plain bytes]' \
			'-q[no messages but errors]' \
			'--quiet[no messages but errors]' \
			'-h[help of kvpoolctl, or of the command]' \
			'--help[help of kvpoolctl, or of the command]' \
			'-V[version of the tool]' \
			'--version[version of the tool]' \
			'1:argument:_kvpoolctl_pool' ;;
	whois)
		_arguments -s \
			'-j[machine-readable output]' \
			'--json[machine-readable output]' \
			'-p[sizes in plain bytes]' \
			'--plain[sizes in plain bytes]' \
			'-q[no messages but errors]' \
			'--quiet[no messages but errors]' \
			'-h[help of kvpoolctl, or of the command]' \
			'--help[help of kvpoolctl, or of the command]' \
			'-V[version of the tool]' \
			'--version[version of the tool]' \
			'1:argument:_kvpoolctl_pool' \
			'2:argument: ' \
			'3:argument: ' ;;
	trim)
		_arguments -s \
			'--wait[start it, or wait for the one that runs]' \
			'--stop[end it]' \
			'-n[print what would be done]' \
			'--dry-run[print what would be done]' \
			'-j[machine-readable output]' \
			'--json[machine-readable output]' \
			'-p[sizes in plain bytes]' \
			'--plain[sizes in plain bytes]' \
			'-q[no messages but errors]' \
			'--quiet[no messages but errors]' \
			'-h[help of kvpoolctl, or of the command]' \
			'--help[help of kvpoolctl, or of the command]' \
			'-V[version of the tool]' \
			'--version[version of the tool]' \
			'1:argument:_kvpoolctl_pool' ;;
	clear)
		_arguments -s \
			'-n[print what would be done]' \
			'--dry-run[print what would be done]' \
			'-j[machine-readable output]' \
			'--json[machine-readable output]' \
			'-p[sizes in plain bytes]' \
			'--plain[sizes in plain bytes]' \
			'-q[no messages but errors]' \
			'--quiet[no messages but errors]' \
			'-h[help of kvpoolctl, or of the command]' \
			'--help[help of kvpoolctl, or of the command]' \
			'-V[version of the tool]' \
			'--version[version of the tool]' \
			'1:argument:_kvpoolctl_pool' \
			'2:argument:_kvpoolctl_device' ;;
	giveup)
		_arguments -s \
			'-f[even if a leg that is out may have the page, or one that fails to read it]' \
			'-n[print what would be done]' \
			'--dry-run[print what would be done]' \
			'-j[machine-readable output]' \
			'--json[machine-readable output]' \
			'-p[sizes in plain bytes]' \
			'--plain[sizes in plain bytes]' \
			'-q[no messages but errors]' \
			'--quiet[no messages but errors]' \
			'-h[help of kvpoolctl, or of the command]' \
			'--help[help of kvpoolctl, or of the command]' \
			'-V[version of the tool]' \
			'--version[version of the tool]' \
			'1:argument:_kvpoolctl_pool' \
			'2:argument: ' ;;
	add)
		_arguments -s \
			'-f[wipe foreign signatures, accept that the pool survives fewer losses, accept an SSD of less than 64 MiB in a cache, accept devices that have one WWID]' \
			'*-o[log_size=, size=]:KEY=VALUE:_kvpoolctl_setting' \
			'-n[print what would be done]' \
			'--dry-run[print what would be done]' \
			'-j[machine-readable output]' \
			'--json[machine-readable output]' \
			'-p[sizes in plain bytes]' \
			'--plain[sizes in plain bytes]' \
			'-q[no messages but errors]' \
			'--quiet[no messages but errors]' \
			'-h[help of kvpoolctl, or of the command]' \
			'--help[help of kvpoolctl, or of the command]' \
			'-V[version of the tool]' \
			'--version[version of the tool]' \
			'1:argument:_kvpoolctl_pool' \
			'*:argument:_kvpoolctl_vdev' ;;
	grow)
		_arguments -s \
			'-n[print what would be done]' \
			'--dry-run[print what would be done]' \
			'-j[machine-readable output]' \
			'--json[machine-readable output]' \
			'-p[sizes in plain bytes]' \
			'--plain[sizes in plain bytes]' \
			'-q[no messages but errors]' \
			'--quiet[no messages but errors]' \
			'-h[help of kvpoolctl, or of the command]' \
			'--help[help of kvpoolctl, or of the command]' \
			'-V[version of the tool]' \
			'--version[version of the tool]' \
			'1:argument:_kvpoolctl_pool' ;;
	remove)
		_arguments -s \
			'-n[print what would be done]' \
			'--dry-run[print what would be done]' \
			'-j[machine-readable output]' \
			'--json[machine-readable output]' \
			'-p[sizes in plain bytes]' \
			'--plain[sizes in plain bytes]' \
			'-q[no messages but errors]' \
			'--quiet[no messages but errors]' \
			'-h[help of kvpoolctl, or of the command]' \
			'--help[help of kvpoolctl, or of the command]' \
			'-V[version of the tool]' \
			'--version[version of the tool]' \
			'1:argument:_kvpoolctl_pool' \
			'2:argument:(cache)' ;;
	replace)
		_arguments -s \
			'-f[even if NEW carries a foreign signature, which is wiped]' \
			'--wait[return when NEW is in sync, and OLD has left]' \
			'--spare[put a spare of the pool in the place of OLD, also if that is in use]' \
			'-n[print what would be done]' \
			'--dry-run[print what would be done]' \
			'-j[machine-readable output]' \
			'--json[machine-readable output]' \
			'-p[sizes in plain bytes]' \
			'--plain[sizes in plain bytes]' \
			'-q[no messages but errors]' \
			'--quiet[no messages but errors]' \
			'-h[help of kvpoolctl, or of the command]' \
			'--help[help of kvpoolctl, or of the command]' \
			'-V[version of the tool]' \
			'--version[version of the tool]' \
			'1:argument:_kvpoolctl_pool' \
			'2:argument:_kvpoolctl_device' \
			'3:argument:_kvpoolctl_device' ;;
	attach)
		_arguments -s \
			'-f[even if NEW carries a foreign signature, which is wiped]' \
			'--wait[return when NEW is in sync]' \
			'-n[print what would be done]' \
			'--dry-run[print what would be done]' \
			'-j[machine-readable output]' \
			'--json[machine-readable output]' \
			'-p[sizes in plain bytes]' \
			'--plain[sizes in plain bytes]' \
			'-q[no messages but errors]' \
			'--quiet[no messages but errors]' \
			'-h[help of kvpoolctl, or of the command]' \
			'--help[help of kvpoolctl, or of the command]' \
			'-V[version of the tool]' \
			'--version[version of the tool]' \
			'1:argument:_kvpoolctl_pool' \
			'2:argument:_kvpoolctl_device' \
			'3:argument:_kvpoolctl_device' ;;
	detach)
		_arguments -s \
			'-n[print what would be done]' \
			'--dry-run[print what would be done]' \
			'-j[machine-readable output]' \
			'--json[machine-readable output]' \
			'-p[sizes in plain bytes]' \
			'--plain[sizes in plain bytes]' \
			'-q[no messages but errors]' \
			'--quiet[no messages but errors]' \
			'-h[help of kvpoolctl, or of the command]' \
			'--help[help of kvpoolctl, or of the command]' \
			'-V[version of the tool]' \
			'--version[version of the tool]' \
			'1:argument:_kvpoolctl_pool' \
			'2:argument:_kvpoolctl_device' ;;
	offline)
		_arguments -s \
			'-n[print what would be done]' \
			'--dry-run[print what would be done]' \
			'-j[machine-readable output]' \
			'--json[machine-readable output]' \
			'-p[sizes in plain bytes]' \
			'--plain[sizes in plain bytes]' \
			'-q[no messages but errors]' \
			'--quiet[no messages but errors]' \
			'-h[help of kvpoolctl, or of the command]' \
			'--help[help of kvpoolctl, or of the command]' \
			'-V[version of the tool]' \
			'--version[version of the tool]' \
			'1:argument:_kvpoolctl_pool' \
			'2:argument:_kvpoolctl_device' ;;
	online)
		_arguments -s \
			'-f[also a device that is, or may be, a copy of the leg, or that cannot be looked at for signatures]' \
			'--wait[return when the leg is in sync]' \
			'-n[print what would be done]' \
			'--dry-run[print what would be done]' \
			'-j[machine-readable output]' \
			'--json[machine-readable output]' \
			'-p[sizes in plain bytes]' \
			'--plain[sizes in plain bytes]' \
			'-q[no messages but errors]' \
			'--quiet[no messages but errors]' \
			'-h[help of kvpoolctl, or of the command]' \
			'--help[help of kvpoolctl, or of the command]' \
			'-V[version of the tool]' \
			'--version[version of the tool]' \
			'1:argument:_kvpoolctl_pool' \
			'2:argument:_kvpoolctl_device' ;;
	wait)
		_arguments -s \
			'*-t[wait for some of]:LIST:(scrub resilver drain trim replace)' \
			'--now[with -t replace]' \
			'-n[print what would be done]' \
			'--dry-run[print what would be done]' \
			'-j[machine-readable output]' \
			'--json[machine-readable output]' \
			'-p[sizes in plain bytes]' \
			'--plain[sizes in plain bytes]' \
			'-q[no messages but errors]' \
			'--quiet[no messages but errors]' \
			'-h[help of kvpoolctl, or of the command]' \
			'--help[help of kvpoolctl, or of the command]' \
			'-V[version of the tool]' \
			'--version[version of the tool]' \
			'1:argument:_kvpoolctl_pool' ;;
	cancel)
		_arguments -s \
			'-n[print what would be done]' \
			'--dry-run[print what would be done]' \
			'-j[machine-readable output]' \
			'--json[machine-readable output]' \
			'-p[sizes in plain bytes]' \
			'--plain[sizes in plain bytes]' \
			'-q[no messages but errors]' \
			'--quiet[no messages but errors]' \
			'-h[help of kvpoolctl, or of the command]' \
			'--help[help of kvpoolctl, or of the command]' \
			'-V[version of the tool]' \
			'--version[version of the tool]' \
			'1:argument:_kvpoolctl_pool' \
			'2:argument:(drain|replace)' ;;
	get)
		_arguments -s \
			'-j[machine-readable output]' \
			'--json[machine-readable output]' \
			'-p[sizes in plain bytes]' \
			'--plain[sizes in plain bytes]' \
			'-q[no messages but errors]' \
			'--quiet[no messages but errors]' \
			'-h[help of kvpoolctl, or of the command]' \
			'--help[help of kvpoolctl, or of the command]' \
			'-V[version of the tool]' \
			'--version[version of the tool]' \
			'1:argument:_kvpoolctl_pool' \
			'2:argument:_kvpoolctl_key' ;;
	set)
		_arguments -s \
			'-f[cache_mode=writeback onto a single SSD, although the pool then survives fewer losses]' \
			'-n[print what would be done]' \
			'--dry-run[print what would be done]' \
			'-j[machine-readable output]' \
			'--json[machine-readable output]' \
			'-p[sizes in plain bytes]' \
			'--plain[sizes in plain bytes]' \
			'-q[no messages but errors]' \
			'--quiet[no messages but errors]' \
			'-h[help of kvpoolctl, or of the command]' \
			'--help[help of kvpoolctl, or of the command]' \
			'-V[version of the tool]' \
			'--version[version of the tool]' \
			'1:argument:_kvpoolctl_pool' \
			'2:argument:_kvpoolctl_setting' \
			'3:argument:_kvpoolctl_value' ;;
	rename)
		_arguments -s \
			'-n[print what would be done]' \
			'--dry-run[print what would be done]' \
			'-j[machine-readable output]' \
			'--json[machine-readable output]' \
			'-p[sizes in plain bytes]' \
			'--plain[sizes in plain bytes]' \
			'-q[no messages but errors]' \
			'--quiet[no messages but errors]' \
			'-h[help of kvpoolctl, or of the command]' \
			'--help[help of kvpoolctl, or of the command]' \
			'-V[version of the tool]' \
			'--version[version of the tool]' \
			'1:argument:_kvpoolctl_pool' \
			'2:argument: ' ;;
	upgrade)
		_arguments -s \
			'-n[print what would be done]' \
			'--dry-run[print what would be done]' \
			'-j[machine-readable output]' \
			'--json[machine-readable output]' \
			'-p[sizes in plain bytes]' \
			'--plain[sizes in plain bytes]' \
			'-q[no messages but errors]' \
			'--quiet[no messages but errors]' \
			'-h[help of kvpoolctl, or of the command]' \
			'--help[help of kvpoolctl, or of the command]' \
			'-V[version of the tool]' \
			'--version[version of the tool]' \
			'1:argument:_kvpoolctl_pool' ;;
	inspect)
		_arguments -s \
			'--udev[only the pool of the leg, for a udev rule]' \
			'-j[machine-readable output]' \
			'--json[machine-readable output]' \
			'-p[sizes in plain bytes]' \
			'--plain[sizes in plain bytes]' \
			'-q[no messages but errors]' \
			'--quiet[no messages but errors]' \
			'-h[help of kvpoolctl, or of the command]' \
			'--help[help of kvpoolctl, or of the command]' \
			'-V[version of the tool]' \
			'--version[version of the tool]' \
			'1:argument:_kvpoolctl_device' ;;
	check)
		_arguments -s \
			'-j[machine-readable output]' \
			'--json[machine-readable output]' \
			'-p[sizes in plain bytes]' \
			'--plain[sizes in plain bytes]' \
			'-q[no messages but errors]' \
			'--quiet[no messages but errors]' \
			'-h[help of kvpoolctl, or of the command]' \
			'--help[help of kvpoolctl, or of the command]' \
			'-V[version of the tool]' \
			'--version[version of the tool]' \
			'*:argument:_kvpoolctl_device' ;;
	extract)
		_arguments -s \
			'*-o[the copy]:FILE:_kvpoolctl_device' \
			'-f[overwrite FILE, with all signatures of other tools there]' \
			'-n[print what would be done]' \
			'--dry-run[print what would be done]' \
			'-j[machine-readable output]' \
			'--json[machine-readable output]' \
			'-p[sizes in plain bytes]' \
			'--plain[sizes in plain bytes]' \
			'-q[no messages but errors]' \
			'--quiet[no messages but errors]' \
			'-h[help of kvpoolctl, or of the command]' \
			'--help[help of kvpoolctl, or of the command]' \
			'-V[version of the tool]' \
			'--version[version of the tool]' \
			'*:argument:_kvpoolctl_device' ;;
	labelclear)
		_arguments -s \
			'-f[even if its pool was not destroyed]' \
			'--foreign[leave the labels, and wipe signatures that mkfs, pvcreate, mdadm, mkswap or a partitioning tool left on a leg by mistake, where the pool does not use the space. The pool may run]' \
			'-n[print what would be done]' \
			'--dry-run[print what would be done]' \
			'-j[machine-readable output]' \
			'--json[machine-readable output]' \
			'-p[sizes in plain bytes]' \
			'--plain[sizes in plain bytes]' \
			'-q[no messages but errors]' \
			'--quiet[no messages but errors]' \
			'-h[help of kvpoolctl, or of the command]' \
			'--help[help of kvpoolctl, or of the command]' \
			'-V[version of the tool]' \
			'--version[version of the tool]' \
			'1:argument:_kvpoolctl_device' ;;
	help)
		_arguments -s \
			'-j[machine-readable output]' \
			'--json[machine-readable output]' \
			'-p[sizes in plain bytes]' \
			'--plain[sizes in plain bytes]' \
			'-q[no messages but errors]' \
			'--quiet[no messages but errors]' \
			'-h[help of kvpoolctl, or of the command]' \
			'--help[help of kvpoolctl, or of the command]' \
			'-V[version of the tool]' \
			'--version[version of the tool]' \
			'1:argument:_kvpoolctl_command' ;;
	version)
		_arguments -s \
			'-j[machine-readable output]' \
			'--json[machine-readable output]' \
			'-p[sizes in plain bytes]' \
			'--plain[sizes in plain bytes]' \
			'-q[no messages but errors]' \
			'--quiet[no messages but errors]' \
			'-h[help of kvpoolctl, or of the command]' \
			'--help[help of kvpoolctl, or of the command]' \
			'-V[version of the tool]' \
			'--version[version of the tool]' ;;
	esac
}
# end of what is made of the help

# A label may be anybody's, and so may the name in it. Only one that kvpoolctl would give is offered.
_kvpoolctl_names() {
	sed -n '/^[A-Za-z][A-Za-z0-9_.-]*$/p'
}
_kvpoolctl_pool() {
	compadd -- ${(f)"$(kvpoolctl list -H -o name 2> /dev/null | _kvpoolctl_names)"}
}
_kvpoolctl_found() {
	compadd -- ${(f)"$(kvpoolctl import 2> /dev/null | sed -n 's/^ *pool: //p' | _kvpoolctl_names)"}
}
_kvpoolctl_device() { _files }
_kvpoolctl_vdev() {
	compadd -- single mirror parity1 cache
	_files
}
_kvpoolctl_key() { compadd -- $_kvpoolctl_keys }
_kvpoolctl_value() { compadd -- ${=_kvpoolctl_words[${words[CURRENT - 1]}]} }
_kvpoolctl_setting() {
	if compset -P 1 '*='; then
		compadd -- ${=_kvpoolctl_words[${IPREFIX%=}]}
	else
		compadd -S = -- $_kvpoolctl_keys
	fi
}
_kvpoolctl_command() { _describe -t commands command _kvpoolctl_commands }

_kvpoolctl() {
	local curcontext=$curcontext state line
	_arguments -C '(-h --help)'{-h,--help}'[list the commands]' '(-V --version)'{-V,--version}'[version of the tool]' \
		'1:command:_kvpoolctl_command' '*::argument:->argument'
	[[ $state != argument ]] || _kvpoolctl_of $words[1]
}

if [[ $funcstack[1] == _kvpoolctl ]]; then
	_kvpoolctl "$@"
else
	compdef _kvpoolctl kvpoolctl
fi
