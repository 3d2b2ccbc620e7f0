# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# usage: bash completion_bash.sh COMPLETION WORD...: the candidates for the last word, a line each.
# Words as readline splits them: --option=value is three.
. /usr/share/bash-completion/bash_completion
# shellcheck source=/dev/null
. "$1"
shift
# Only readline's own completion may set options of it.
compopt() { :; }
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
COMP_LINE="$*"
COMP_POINT=${#COMP_LINE}
COMP_TYPE=9
COMP_KEY=9
_fpless
((${#COMPREPLY[@]} == 0)) || printf '%s\n' "${COMPREPLY[@]}"
