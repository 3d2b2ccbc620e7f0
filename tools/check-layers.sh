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
	lines=$(grep -rnE --include='*.[ch]' '^[[:space:]]*#[[:space:]]*include "[^"]*/' "$1" |
		grep -vE "include \"($2)" || :)
	if [ -n "$lines" ]; then
		printf '%s\n  ^ %s may include only: %s\n' "$lines" "$1" "$2" >&2
		bad=1
	fi
}

allow bpf         'bpf/'
allow src/base    'base/|bpf/shared\.h'
allow src/obj     'obj/|base/|bpf/shared\.h'
allow unwind      'unwind/|obj/|base/|bpf/'
allow symbolize   'symbolize/|obj/|base/|bpf/shared\.h'
allow src/proc    'proc/|obj/|base/|bpf/shared\.h'
allow src/recording 'recording/|base/|bpf/shared\.h'
allow src/parse   'parse/|unwind/|symbolize/|obj/|base/|bpf/shared\.h'
allow src/profile 'profile/|parse/|proc/|unwind/|symbolize/|obj/|base/|bpf/'
allow src/verify  'verify/|unwind/|symbolize/|obj/|base/|bpf/'
allow src/judge   'judge/|verify/|profile/|parse/|proc/|unwind/|symbolize/|obj/|base/|bpf/shared\.h'
allow src/doctor  'doctor/|profile/|parse/|proc/|unwind/|symbolize/|obj/|base/|bpf/shared\.h'
allow src/naming  'naming/|view/|recording/|profile/|parse/|unwind/|symbolize/|obj/|base/|bpf/shared\.h'
allow src/view    'view/|recording/|base/|bpf/shared\.h'
allow src/picture 'picture/|view/|recording/|base/|bpf/shared\.h'
allow src/format  'format/|picture/|view/|recording/|base/|bpf/shared\.h'
allow src/diff    'diff/|picture/|view/|recording/|base/|bpf/shared\.h'
allow src/output  'output/|naming/|format/|view/|recording/|doctor/|profile/|unwind/|symbolize/|obj/|base/|bpf/shared\.h'
allow src/top     'top/|output/|naming/|view/|recording/|profile/|symbolize/|base/|bpf/shared\.h'
allow src/cli     'cli/|top/|judge/|verify/|output/|naming/|diff/|format/|picture/|view/|recording/|doctor/|profile/|parse/|proc/|unwind/|symbolize/|obj/|base/|bpf/shared\.h'
allow src/manual  'manual/|cli/|format/|profile/|base/'
exit $bad
