#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: test_recorded.sh FPLESS
# shellcheck disable=SC2016,SC2046,SC2154
# What a run writes in each format is what report makes of its .jsonl: the same bytes.
set -eu
fpless=$(realpath "$1")
if [ "$(id -u)" != 0 ] || ! "$fpless" profile -q -f -d 0.1 -F 99 -I >/dev/null 2>&1; then
	echo "SKIP: sampling needs root, BPF and perf events"
	exit 77
fi
# shellcheck source=tests/cli/expect.sh
. "$(dirname "$0")/expect.sh"
cd "$work"
formats="folded txt jsonl perf pb.gz speedscope.json json svg"
if "$fpless" report -q -o a.html - </dev/null 2>/dev/null || [ $? = 3 ]; then
	formats="$formats html"
else
	echo "fpless was built without npm: html is not compared"
fi
# several processes and threads, inlined functions, kernel code, and a command that is replaced, by a shell without
# symbols that has work for some 30 samples
load='for $i (1 .. 3) { if (!fork) { $n += sqrt($_) for 1 .. 2e6; opendir $d, "/proc" and readdir $d for 1 .. 5e3; exit } }
	wait for 1 .. 3; exec "sh", "-c",
	"for i in 1 2 3 4 5 6 7 8 9; do (:); done; while [ \$((n += 1)) -lt 100000 ]; do :; done"'

# outputs PREFIX: the options that write each format, and the numbers.
outputs() {
	for format in $formats; do
		echo "-o"
		echo "$1.$format"
	done
	echo "--stats"
	echo "$1.stats"
}

for options in "" "--timeline" "--timeline --by tid,cpu,cgroup -I" "--timeline --by pid -K" "--timeline --chart" \
	"--timeline --unwind fp --lines --inline --annotate --origin --delimited" "--timeline-memory 64K -F 4999"; do
	rm -f run.* again.*
	# shellcheck disable=SC2086
	expect 0 '' profile -q -F 499 $options $(outputs run) -- perl -e "$load"
	shown=
	for option in $options; do
		case $option in
		--chart | --lines | --inline | --annotate | --origin | --delimited) shown="$shown $option" ;;
		esac
	done
	# shellcheck disable=SC2086
	expect 0 '' report -q $shown $(outputs again) run.jsonl
	for format in $formats stats; do
		if ! cmp "run.$format" "again.$format"; then
			echo "profile $options: report makes another .$format of its .jsonl" >&2
			failed=1
		fi
	done
	case $options in
	*timeline*) grep -q '^{"type":"samples"' run.jsonl || failed=1 ;;
	*) ! grep -q '^{"type":"samples"' run.jsonl || failed=1 ;;
	esac
done

# The code of the hottest functions is in the page of a run, as in that of its recording; without a page there is no run.
if [ "${formats##* }" = html ]; then
	for verb in profile record; do
		rm -f run.* again.*
		expect 0 '' $verb -q -F 499 --code -o run.html -o run.jsonl -- perl -e "$load"
		expect 0 '' report -q --code -o again.html run.jsonl
		cmp run.html again.html || { echo "$verb --code: report makes another page" >&2; failed=1; }
		grep -q '"code":{"left_out":[0-9]*,"functions":\[{"name"' run.html || { echo "$verb --code: no code" >&2; failed=1; }
	done
fi
expect 1 'needs a page' profile --code -- touch ran
[ ! -e ran ] || failed=1

# Code without a symbol has one name in all formats, and names are read back as they were written.
expect 0 '' profile -q -F 499 --timeline $(outputs run) -- perl -e "$load"
names() {
	grep -aoE '\[[a-z][a-z0-9.]*\+0x[0-9a-f]+\]' | sort -u
}
names <run.folded >want
[ -s want ] || { echo "the load has no code without a symbol" >&2; failed=1; }
gzip -dc run.pb.gz >run.pb
for format in perf pb speedscope.json json; do
	names <run.$format >got
	cmp want got || { echo "run.$format has other names than run.folded" >&2; failed=1; }
done
for format in folded perf pb.gz jsonl; do
	expect 0 '' report -q -o again.folded run.$format
	cmp run.folded again.folded || { echo "run.$format reads back with other names" >&2; failed=1; }
done
expect 0 '' report -q -o again.pb.gz run.pb.gz
cmp run.pb.gz again.pb.gz || failed=1

# A comparison's two walks are kept, too.
expect 0 '' compare -q -F 499 -o run.jsonl -o run.html -o run.pb.gz -- perl -e "$load"
expect 0 '' report -q -o again.jsonl -o again.html -o again.pb.gz run.jsonl
for format in jsonl pb.gz; do
	cmp "run.$format" "again.$format" || failed=1
done

# Filters by time work from it, and packed it is the same, in format 3, too.
expect 0 '' profile -q --timeline -F 499 -o run.jsonl -o run.pb.gz -o packed.jsonl.gz -o packed.jsonl.zst -- perl -e "$load"
expect 0 '' report -q -o again.jsonl packed.jsonl.zst
cmp run.jsonl again.jsonl || failed=1
first_ns=$(sed -n 's/^{"type":"samples","time_ns":\[\([0-9]*\).*/\1/p;T;q' run.jsonl)
until=$(awk "BEGIN { printf \"%.3f\", $first_ns / 1e9 + 0.1 }")
for file in run.jsonl run.pb.gz packed.jsonl.gz packed.jsonl.zst; do
	expect 0 '' report -q --time "0,$until" -o "$file.folded" "$file"
	cmp run.jsonl.folded "$file.folded" || failed=1
done
exit "$failed"
