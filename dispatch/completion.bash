# bash completion for agate(1): agate itself says what could come next

_agate() {
	local i
	# behind "--" stands somebody else's command
	for ((i = 1; i < COMP_CWORD; i++)); do
		if [[ ${COMP_WORDS[i]} == -- ]]; then
			if declare -F _command_offset >/dev/null; then
				_command_offset $((i + 1))
			fi
			return
		fi
	done
	mapfile -t COMPREPLY < <("${COMP_WORDS[0]}" complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
	if ((${#COMPREPLY[@]} == 0)); then
		compopt -o default
	fi
}
complete -F _agate agate
