#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: check-layers.sh [ROOT]
# Includes may only point down (docs/architecture.md): each folder lists what it may include. Callbacks that point up are
# listed, too.
set -eu
tools=$(cd "$(dirname "$0")" && pwd)
cd "${1:-$tools/..}"
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
answers='symbolize/(code_file|code_table|listing|probe_sites|symbol_place)\.h'
readers='src/parse/(worker[a-z_]*\.c|file_cache\.h|coverage\.[ch]|examination\.c):'
if [ -d src/parse ]; then
	refuse src/parse "$answers, but for workers" "$(grep -rnE --include='*.[ch]' 'include "symbolize/' src/parse |
		grep -vE "^$readers|include \"$answers" || :)"
fi

allow bpf         'bpf/'
allow src/base    'base/|bpf/shared\.h'
allow src/obj     'obj/|base/|bpf/shared\.h'
allow unwind      'unwind/|obj/|base/|bpf/'
allow symbolize   'symbolize/|obj/|base/|bpf/shared\.h'
allow src/preload 'preload/'
allow src/proc    'proc/|obj/|base/|bpf/shared\.h'
allow src/source  'source/|base/|bpf/shared\.h'
allow src/recording 'recording/|base/|bpf/shared\.h'
allow src/store   'store/|recording/|base/|bpf/shared\.h'
allow src/script  'script/|unwind/|base/|bpf/shared(_script)?\.h'
allow src/jit     'jit/|symbolize/code_table\.h|base/|bpf/(entry_x86_64|shared(_region)?)\.h'
allow src/parse   'parse/|jit/|script/|unwind/|symbolize/|obj/|base/|bpf/shared\.h'
allow src/profile "profile/|preload/preload\.h|jit/|script/|source/|parse/|proc/|unwind/|$answers|obj/|base/|bpf/"
allow src/verify  'verify/|unwind/|obj/|base/|bpf/'
allow src/core    "core/|profile/|parse/|$answers|proc/|unwind/|obj/|base/|bpf/shared\.h"
allow src/judge   'judge/|naming/|verify/|profile/|parse/|proc/|unwind/|obj/|base/|bpf/shared\.h'
allow src/doctor  'doctor/|view/|profile/|source/|parse/|proc/|unwind/|obj/|base/|bpf/shared\.h'
# kallsyms are the kernel's, whose names are demangled here
allow src/naming  "naming/|view/|recording/|profile/|parse/|$answers|symbolize/(kallsyms|demangle)\.h|obj/|base/|bpf/shared(_script|_region)?\.h"
allow src/annotate "annotate/|naming/|view/|recording/|parse/|$answers|obj/|base/|bpf/shared\.h"
allow src/view    'view/|recording/|base/|bpf/shared\.h'
allow src/picture 'picture/|view/|recording/|base/|bpf/shared\.h'
allow src/format  'format/|picture/|view/|recording/|base/|bpf/shared\.h'
allow src/diff    'diff/|picture/|view/|recording/|base/|bpf/shared\.h'
allow src/compare "compare/|naming/|format/|view/|recording/|profile/|$answers|base/|bpf/shared\.h"
allow src/report  'report/|compare/|naming/|format/|view/|recording/|profile/|base/|bpf/shared(_script)?\.h'
allow src/top     'top/|naming/|view/|recording/|profile/|base/|bpf/shared\.h'
allow src/cli     'cli/|store/|core/|annotate/|top/|judge/|verify/|report/|compare/|naming/|diff/|format/|picture/|view/|recording/|doctor/|profile/|source/|parse/|proc/|unwind/|obj/|base/|bpf/shared\.h'
allow src/serve   'serve/|proc/leave_root\.h|base/'
allow src/push    'push/|proc/leave_root\.h|view/json\.h|base/'
allow src/manual  'manual/|cli/|format/|profile/|source/|base/'

# Includes do not show every way up: a callback lets a folder call into one that lies above it. Structs of function
# pointers, and functions that take one, by name; the folders above that fill them; and why they may.
if ! perl "$tools/callbacks-up.pl" <<'LIST'; then
cfa_program_run src/parse: visits rows while it runs
cfi_rows_for_each src/cli src/parse src/verify: visits rows while it runs
helper_add src/compare src/profile: a task that the helper does with the rights of the start
helper_start src/cli src/profile: drops the rights that the helper's tasks do not need
client_on_pause src/profile: the compiler looks for a stop while it waits for a worker
engine_listener src/cli src/naming: a run tells its viewers of stacks as they come
engine_namer src/naming: a run has stacks named before their object goes
env_loop unwind: the loop that the kernel has as a helper
feed_options src/cli src/top: the thread behind the feed belongs to its viewer
fpl_log_set_writer src/cli src/top: lines of the log wait while a view owns the terminal
frame_list_make src/format: writes one frame of a list while it runs
id_table_find src/naming: compares keys while it runs
io_set_watch src/cli: progress of reading, on a terminal
io_write_patiently src/cli src/top: asks if the run is over while a reader takes nothing
jit_memory_create src/parse: reads the memory of a process through its descriptor
machine_memory src/judge: rules are applied to the memory of a traced process
merge_filter src/cli src/naming: chooses stacks and renames frames while it runs
opener_wait src/parse: the caller looks for a stop while an opener waits
pool_init src/core: makes chunks of ordinary memory
proc_maps_read src/doctor: visits mappings while it runs
proc_maps_read_from src/profile: visits mappings while it runs
processes_each src/profile: visits processes while it runs
processes_each_changed src/profile: visits processes while it runs
processes_init src/profile: the tracker lets go of a program image without references
read_options src/cli: takes the parts of a large file while it is read
replay_input src/core src/profile: reads the code of files, and the memory of a core file, which the walker does not know
sideband_drain src/profile: visits records while it runs
store_find src/cli: visits windows while it runs
store_list src/cli: visits windows while it runs
store_unnamed src/cli: visits functions while it runs
svg_page src/diff: the colours of a picture of changes
symtab_for_each src/parse: visits symbols while it runs
synth_file_analyse src/cli src/verify: visits instructions while it runs
thread_begin src/naming src/proc src/profile: runs in the new thread
tracefs_for_each src/cli: visits tracepoints while it runs
verify_pool_options src/cli: judges files in threads, and reports each in turn
LIST
	bad=1
fi
exit $bad
