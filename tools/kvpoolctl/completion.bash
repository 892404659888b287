# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# Completion of kvpoolctl for bash: commands, pools, devices.

_kvpoolctl() {
	local cur=${COMP_WORDS[COMP_CWORD]} cmd=${COMP_WORDS[1]} words=
	if [ "$COMP_CWORD" -eq 1 ]; then
		words=$(kvpoolctl --help 2>/dev/null | sed -n 's/^  \([a-z]*\) .*/\1/p')
	elif [[ $cur == -* ]]; then
		words=$(kvpoolctl "$cmd" --help 2>/dev/null | grep -o -- '--[a-z-]*' | sort -u)
	elif [[ $cur == /* ]]; then
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
	else
		case $cmd in
		create) words='single mirror parity1 cache' ;;
		remove) words="$(kvpoolctl list -H -o name 2>/dev/null) cache" ;;
		cancel) words="$(kvpoolctl list -H -o name 2>/dev/null) drain" ;;
		metrics | version) ;;
		import) words=$(kvpoolctl import 2>/dev/null | sed -n 's/^ *pool: //p') ;;
		inspect | check | labelclear) ;;
		*) words=$(kvpoolctl list -H -o name 2>/dev/null) ;;
		esac
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -o default -F _kvpoolctl kvpoolctl
