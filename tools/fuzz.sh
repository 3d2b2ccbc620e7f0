#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: fuzz.sh [--hours N] [--minutes N] [--corpora DIR] [TARGET...]
# Fuzz every target of tests/fuzz, or those named, for N hours in all (1), or N minutes each, as many at a time as
# there are CPUs. Each begins with its seeds (fixtures/fuzz/TARGET) and what was found earlier: corpora are kept in DIR
# (~/.cache/fpless-fuzz). Prints a line per target: seconds, runs, runs a second, edges reached, files in the corpus,
# and what it stumbled over, which is kept beside the corpus. Exit status 1 where that is anything.
set -euo pipefail
cd "$(dirname "$0")/.."

hours=1 minutes= corpora=${XDG_CACHE_HOME:-$HOME/.cache}/fpless-fuzz
while [ $# -gt 0 ]; do
	case "$1" in
	--hours) hours=$2 && shift 2 ;;
	--minutes) minutes=$2 && shift 2 ;;
	--corpora) corpora=$2 && shift 2 ;;
	-*) sed -n 's/^# //; 3,8p' "$0" >&2 && exit 2 ;;
	*) break ;;
	esac
done
targets=("$@")
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <(sed -n 's/^fpl_add_fuzz(\([a-z_]*\).*/\1/p' tests/fuzz/CMakeLists.txt)

./tools/setup.sh test
cmake --preset fuzz >&2
cmake --build --preset fuzz --target "${targets[@]}" >&2

jobs=$(nproc)
seconds=$(awk -v h="$hours" -v m="$minutes" -v jobs="$jobs" -v nr=${#targets[@]} \
	'BEGIN { s = m != "" ? m * 60 : h * 3600 * jobs / nr; print int(s < 1 ? 1 : s) }')

# One target, as a line of the table; 1 where it found something.
fuzz() {
	local name=$1 own=$corpora/$1 log
	mkdir -p "$own/corpus" "$own/found"
	log=$own/log
	build/fuzz/tests/fuzz/"$name" -max_total_time="$seconds" -timeout=25 -rss_limit_mb=2560 -print_final_stats=1 \
		-artifact_prefix="$own/found/" "$own/corpus" fixtures/fuzz/"$name" >"$log" 2>&1 || true
	awk -v name="$name" -v s="$seconds" -v nr="$(ls "$own/corpus" | wc -l)" -v found="$(ls "$own/found" | wc -l)" '
		/stat::number_of_executed_units/ { runs = $2 }
		/stat::average_exec_per_sec/ { rate = $2 }
		{ for (i = 1; i < NF; i++) if ($i == "cov:") edges = $(i + 1) }
		END { printf "%s\t%d\t%d\t%d\t%d\t%d\t%s\n", name, s, runs, rate, edges, nr, found ? found " in found/" : "-" }' "$log"
}

# fuzz() of one after the other, and as many at once as there are CPUs
printf 'target\tseconds\truns\truns/s\tedges\tcorpus\tfound\n'
for name in "${targets[@]}"; do
	while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
	fuzz "$name" &
done
wait
[ -z "$(find "${targets[@]/#/$corpora/}" -path '*/found/*' -type f 2>/dev/null)" ]
