# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# Completion of kvpoolctl for bash: commands, options, pools, tunables, devices.

# made of the help: commands
_kvpoolctl_commands='create import export destroy list status iostat top events history metrics scrub diff whois trim clear giveup add grow remove replace attach detach offline online wait cancel get set rename upgrade inspect check extract labelclear help version'
_kvpoolctl_keys='write_buffer commit_interval_ms table_cache strict failmode degraded_start autoimport scrub_rate seq_cutoff_write destage_idle_ms ram_cache seq_cutoff_read cache_mode destage_min_rate fill_dwpd leg_timeout discard_passdown resilver_rate online_auto renew_mark heartbeat slow_leg log_size size chunk cache_dirty_max comment'
_kvpoolctl_values() {
	case $1 in
	strict) echo '0 1' ;;
	failmode) echo 'error wait' ;;
	degraded_start) echo 'ask auto' ;;
	autoimport) echo '0 1' ;;
	cache_mode) echo 'writeback writethrough writearound' ;;
	discard_passdown) echo '0 1' ;;
	online_auto) echo '0 1' ;;
	esac
}
_kvpoolctl_of() {
	case $1 in
	create)
		options='-f -o -n --dry-run -j --json -p --plain -q --quiet -h --help -V --version'
		valued='-o:setting'
		places='none vdev...' ;;
	import)
		options='-a -d --readonly --degraded --takeover --destroyed --discard-log --accept-fork --boot --wait -n --dry-run -j --json -p --plain -q --quiet -h --help -V --version'
		valued='-d:device --boot:device --wait:none'
		places='found none' ;;
	export)
		options='-a --drain -n --dry-run -j --json -p --plain -q --quiet -h --help -V --version'
		valued=''
		places='pool' ;;
	destroy)
		options='-n --dry-run -j --json -p --plain -q --quiet -h --help -V --version'
		valued=''
		places='pool' ;;
	list)
		options='-H -o -j --json -p --plain -q --quiet -h --help -V --version'
		valued='-o:name,size,written,state,losses,poisoned,scrub,readonly,uuid,checkpoint,log,ram,comment'
		places='' ;;
	status)
		options='-v -x -d -j --json -p --plain -q --quiet -h --help -V --version'
		valued='-d:device'
		places='pool' ;;
	iostat)
		options='-v -j --json -p --plain -q --quiet -h --help -V --version'
		valued=''
		places='pool none none' ;;
	top)
		options='-j --json -p --plain -q --quiet -h --help -V --version'
		valued=''
		places='pool' ;;
	events)
		options='-f -j --json -p --plain -q --quiet -h --help -V --version'
		valued=''
		places='pool' ;;
	history)
		options='-j --json -p --plain -q --quiet -h --help -V --version'
		valued=''
		places='pool' ;;
	metrics)
		options='-d -j --json -p --plain -q --quiet -h --help -V --version'
		valued='-d:device'
		places='' ;;
	scrub)
		options='--wait --stop --pause --resume --since -n --dry-run -j --json -p --plain -q --quiet -h --help -V --version'
		valued='--since:none'
		places='pool' ;;
	diff)
		options='--since -j --json -p --plain -q --quiet -h --help -V --version'
		valued='--since:none'
		places='pool' ;;
	whois)
		options='-j --json -p --plain -q --quiet -h --help -V --version'
		valued=''
		places='pool none none' ;;
	trim)
		options='--wait --stop -n --dry-run -j --json -p --plain -q --quiet -h --help -V --version'
		valued=''
		places='pool' ;;
	clear)
		options='-n --dry-run -j --json -p --plain -q --quiet -h --help -V --version'
		valued=''
		places='pool device' ;;
	giveup)
		options='-f -n --dry-run -j --json -p --plain -q --quiet -h --help -V --version'
		valued=''
		places='pool none' ;;
	add)
		options='-f -o -n --dry-run -j --json -p --plain -q --quiet -h --help -V --version'
		valued='-o:setting'
		places='pool vdev...' ;;
	grow)
		options='-n --dry-run -j --json -p --plain -q --quiet -h --help -V --version'
		valued=''
		places='pool' ;;
	remove)
		options='-n --dry-run -j --json -p --plain -q --quiet -h --help -V --version'
		valued=''
		places='pool cache,' ;;
	replace)
		options='-f --wait --spare -n --dry-run -j --json -p --plain -q --quiet -h --help -V --version'
		valued=''
		places='pool device device' ;;
	attach)
		options='-f --wait -n --dry-run -j --json -p --plain -q --quiet -h --help -V --version'
		valued=''
		places='pool device device' ;;
	detach)
		options='-n --dry-run -j --json -p --plain -q --quiet -h --help -V --version'
		valued=''
		places='pool device' ;;
	offline)
		options='-n --dry-run -j --json -p --plain -q --quiet -h --help -V --version'
		valued=''
		places='pool device' ;;
	online)
		options='-f --wait -n --dry-run -j --json -p --plain -q --quiet -h --help -V --version'
		valued=''
		places='pool device' ;;
	wait)
		options='-t --now -n --dry-run -j --json -p --plain -q --quiet -h --help -V --version'
		valued='-t:scrub,resilver,drain,trim,replace'
		places='pool' ;;
	cancel)
		options='-n --dry-run -j --json -p --plain -q --quiet -h --help -V --version'
		valued=''
		places='pool drain|replace,' ;;
	get)
		options='-j --json -p --plain -q --quiet -h --help -V --version'
		valued=''
		places='pool key' ;;
	set)
		options='-f -n --dry-run -j --json -p --plain -q --quiet -h --help -V --version'
		valued=''
		places='pool setting value' ;;
	rename)
		options='-n --dry-run -j --json -p --plain -q --quiet -h --help -V --version'
		valued=''
		places='pool none' ;;
	upgrade)
		options='-n --dry-run -j --json -p --plain -q --quiet -h --help -V --version'
		valued=''
		places='pool' ;;
	inspect)
		options='--udev -j --json -p --plain -q --quiet -h --help -V --version'
		valued=''
		places='device' ;;
	check)
		options='-j --json -p --plain -q --quiet -h --help -V --version'
		valued=''
		places='device...' ;;
	extract)
		options='-o -f -n --dry-run -j --json -p --plain -q --quiet -h --help -V --version'
		valued='-o:device'
		places='device...' ;;
	labelclear)
		options='-f --foreign -n --dry-run -j --json -p --plain -q --quiet -h --help -V --version'
		valued=''
		places='device' ;;
	help)
		options='-j --json -p --plain -q --quiet -h --help -V --version'
		valued=''
		places='command' ;;
	version)
		options='-j --json -p --plain -q --quiet -h --help -V --version'
		valued=''
		places='' ;;
	esac
}
# end of what is made of the help

# A label may be anybody's, and so may the name in it. Only one that kvpoolctl would give is offered: the shell does
# not take any of its characters for its own.
_kvpoolctl_names() {
	sed -n '/^[A-Za-z][A-Za-z0-9_.-]*$/p'
}

# _kvpoolctl_offer LIST: those of its words that begin like the last one. compgen -W would run what is in $( ) there.
_kvpoolctl_offer() {
	local word list
	read -rd '' -a list <<< "$1"
	for word in "${list[@]}"; do
		[[ $word != "$cur"* ]] || COMPREPLY+=("$word")
	done
}

# What may stand where an argument of that kind does. Of a device it is a file, which bash completes by itself.
_kvpoolctl_words() { # KIND WORD-BEFORE
	case $1 in
	pool) kvpoolctl list -H -o name 2> /dev/null | _kvpoolctl_names ;;
	found) kvpoolctl import 2> /dev/null | sed -n 's/^ *pool: //p' | _kvpoolctl_names ;;
	vdev) echo 'single mirror parity1 cache' ;;
	key) echo "$_kvpoolctl_keys" ;;
	setting) echo "${_kvpoolctl_keys// /= }=" ;;
	value) _kvpoolctl_values "$2" ;;
	command) echo "$_kvpoolctl_commands" ;;
	*,*) echo "${1//,/ }" ;;
	esac
}

# KEY=VALUE is several words to bash: here it is one again, and $words and $cur have that.
_kvpoolctl_join() {
	local i glue=
	words=()
	for ((i = 0; i <= COMP_CWORD; i++)); do
		if [[ $i -gt 0 && (${COMP_WORDS[i]} == = || -n $glue) ]]; then
			words[-1]+=${COMP_WORDS[i]}
		else
			words+=("${COMP_WORDS[i]}")
		fi
		if [[ ${COMP_WORDS[i]} == = ]]; then glue=1; else glue=; fi
	done
	cur=${words[-1]}
}

# The kind of the last word: $kind, and the option or command that it belongs to.
_kvpoolctl_kind() {
	local i place=0 value='' options valued places list
	kind='command'
	for ((i = 1; i < ${#words[@]}; i++)); do
		if [[ -z $cmd ]]; then
			[[ ${words[i]} == -* || $i -eq $((${#words[@]} - 1)) ]] || { cmd=${words[i]}; _kvpoolctl_of "$cmd"; kind=; }
			continue
		fi
		read -ra list <<< "$places"
		kind=none
		if [[ $place -lt ${#list[@]} ]]; then
			kind=${list[place]}
		elif [[ $places == *... ]]; then
			kind=${list[-1]}
		fi
		if [[ -n $value ]]; then
			kind=$value value=
		elif [[ ${words[i]} == -* ]]; then
			[[ " $valued" != *" ${words[i]}:"* ]] || { value=${valued#*"${words[i]}:"} value=${value%% *}; }
			kind=option
			opts=$options
		else
			place=$((place + 1))
		fi
	done
	kind=${kind%...}
}

_kvpoolctl() {
	local words cur cmd='' kind='' opts='-h --help -V --version -j --json -p --plain -q --quiet -n --dry-run' list
	_kvpoolctl_join
	_kvpoolctl_kind
	COMPREPLY=()
	if [[ $cur == -* && ($kind == option || $kind == command) ]]; then
		list=$opts
	elif [[ $kind == setting && $cur == *=* ]]; then
		list=$(_kvpoolctl_values "${cur%%=*}")
		cur=${cur#*=}
	else
		list=$(_kvpoolctl_words "$kind" "${words[-2]}")
	fi
	_kvpoolctl_offer "$list"
	if [[ $kind == device || $kind == vdev && $cur == */* ]]; then
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
	elif [[ ${COMPREPLY[0]-} == *= ]]; then
		compopt -o nospace 2> /dev/null
	fi
}
complete -F _kvpoolctl kvpoolctl
