#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: check-layers.sh [ROOT]
# Includes may only point down (docs/architecture.md): each folder lists what it may include.
set -eu
cd "${1:-$(dirname "$0")/..}"
bad=0

# allow FOLDER REGEX: project headers are included by a path with a folder in it; one that does
# not match REGEX is refused. Generated headers (x.skel.h) have no folder and pass.
allow() {
	[ -d "$1" ] || return 0
	refuse "$1" "$2" "$(grep -rnE --include='*.[ch]' '^[[:space:]]*#[[:space:]]*include "[^"]*/' "$1" |
		grep -vE "include \"($2)" || :)"
}

# refuse WHERE REGEX LINES: what is in LINES may not be included there.
refuse() {
	if [ -n "$3" ]; then
		printf '%s\n  ^ %s may include only: %s\n' "$3" "$1" "$2" >&2
		bad=1
	fi
}

# What symbolize/ reads is hostile, so workers alone read: others know what an answer holds.
answers='symbolize/(code_file|code_table|symbol_place)\.h'
readers='src/parse/(worker[a-z_]*\.c|shelf\.h|coverage\.[ch]|examination\.c):'
if [ -d src/parse ]; then
	refuse src/parse "$answers, but for workers" "$(grep -rnE --include='*.[ch]' 'include "symbolize/' src/parse |
		grep -vE "^$readers|include \"$answers" || :)"
fi

allow bpf         'bpf/'
allow src/base    'base/|bpf/shared\.h'
allow src/obj     'obj/|base/|bpf/shared\.h'
allow unwind      'unwind/|obj/|base/|bpf/'
allow symbolize   'symbolize/|obj/|base/|bpf/shared\.h'
allow src/proc    'proc/|obj/|base/|bpf/shared\.h'
allow src/recording 'recording/|base/|bpf/shared\.h'
allow src/parse   'parse/|unwind/|symbolize/|obj/|base/|bpf/shared\.h'
allow src/profile "profile/|parse/|proc/|unwind/|$answers|obj/|base/|bpf/"
allow src/verify  'verify/|unwind/|obj/|base/|bpf/'
allow src/judge   'judge/|naming/|verify/|profile/|parse/|proc/|unwind/|obj/|base/|bpf/shared\.h'
allow src/doctor  'doctor/|view/|profile/|parse/|proc/|unwind/|obj/|base/|bpf/shared\.h'
# kallsyms are the kernel's, whose names are demangled here
allow src/naming  "naming/|view/|recording/|profile/|parse/|$answers|symbolize/(kallsyms|demangle)\.h|obj/|base/|bpf/shared\.h"
allow src/view    'view/|recording/|base/|bpf/shared\.h'
allow src/picture 'picture/|view/|recording/|base/|bpf/shared\.h'
allow src/format  'format/|picture/|view/|recording/|base/|bpf/shared\.h'
allow src/diff    'diff/|picture/|view/|recording/|base/|bpf/shared\.h'
allow src/compare "compare/|naming/|format/|view/|recording/|profile/|$answers|base/|bpf/shared\.h"
allow src/report  'report/|compare/|naming/|format/|view/|recording/|profile/|base/|bpf/shared\.h'
allow src/top     'top/|naming/|view/|recording/|profile/|base/|bpf/shared\.h'
allow src/cli     'cli/|top/|judge/|verify/|report/|compare/|naming/|diff/|format/|picture/|view/|recording/|doctor/|profile/|parse/|proc/|unwind/|obj/|base/|bpf/shared\.h'
allow src/manual  'manual/|cli/|format/|profile/|base/'
exit $bad
