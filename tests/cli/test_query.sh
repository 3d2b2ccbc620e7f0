#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: test_query.sh FPLESS
set -eu
fpless=$1
# shellcheck source=tests/cli/expect.sh
. "$(dirname "$0")/expect.sh"
TZ=UTC
export TZ

expect 0 '' query --help
says 'Exit status: 0 ok'
expect 0 '' agent --help
says '^  -F, --frequency'

# Nonsense is refused in one line that names it.
refused 'expected list, top, find, analyze, function, advice, diff, export, flame, import, check, resymbolize, metrics or profiles' query
refused "'lists': expected list" query lists
refused 'find: expected a time or a function' query find
refused "find: 'b': unexpected" query find a b
refused 'function: expected a function' query function
refused "advice: 'x': unexpected" query advice x
refused '--store: not with FILE' report --store s f
refused '--from: of --store' report --from -2h f
refused '--to: of --store' diff --to -2h a b
refused '--before: of --store' diff --before=-2h..-1h a b
refused '--source: of --store' report --source cpu f
refused '--source: of --store' diff --source cpu a b
refused '--from x: expected a time' report --store s --from x
refused '--store: not with recordings in files' diff --store s a b
refused 'import: expected FILE' query import
refused '--from x: expected a time' query list --from x
refused '--before -1h: expected FROM..TO' query diff --before -1h
refused '--before: of diff' query top --before=-2h..-1h
refused 'the second is not behind the first' query list --from now --to -1h
refused '--limit 0: expected' query top --limit 0
refused 'list: writes to stdout alone' query list -o x.svg
refused '--json: of list, top, find, analyze, function, advice and diff' query export --json
refused '--label x: expected NAME=VALUE' query import --label x f
refused '--label: of import' query list --label a=b
refused '--keep 0d: expected a time' agent --keep 0d
refused '--max-size 1K: expected a size' agent --max-size 1K
refused '--label =x: expected NAME=VALUE' agent --label =x
refused '-a excludes -p' agent -p 1

refused '--reserve x: expected a size' agent --reserve x
refused '--top 11: expected a number from 0 to 10' agent --metrics m --top 11
refused '--top: of --metrics' agent --top 3

# Options in a file: what is wrong there is said with its line.
printf '# a comment = x\n\n\t keep = 7d \nlabel = a=b\nquiet\nmax-size=1K\n' >"$work/conf"
refused "^fpless agent: $work/conf:6: --max-size 1K: expected a size" agent --config "$work/conf"
# of those behind it nothing is said to be in the file, and they have the last word
sed -i 's/1K/1M/' "$work/conf"
refused '^fpless agent: --keep 0d: expected a time' agent "--config=$work/conf" --keep 0d
printf 'pid = 1\n' >>"$work/conf"
refused '^fpless agent: -a excludes -p' agent --config "$work/conf"
refused '--config f: expected it once, and in full' agent --config "$work/conf" --config f
refused '--config f: expected it once, and in full' agent --conf f
refused '/none: No such file' agent --config "$work/none"
refused ': expected a regular file' agent --config /dev/zero
bad_line() {
	# shellcheck disable=SC2059
	printf "$2" >"$work/conf"
	refused "$work/conf:$1" agent --config "$work/conf"
}
bad_line "1: 'kep': expected the long name of an option: see fpless agent --help" 'kep = 7d'
bad_line "2: 'config': expected" '\nconfig = x\n'
bad_line "1: 'from-line': expected" 'from-line = x\n'
bad_line "1: 'help': expected" 'help\n'
bad_line "1: '': expected" '= 7d\n'
bad_line '1: expected keep = TIME' 'keep\n'
bad_line '1: expected keep = TIME' 'keep =\n'
bad_line '1: quiet takes no value' 'quiet = yes\n'
bad_line '1: a control character' 'keep = 7\033d\n'
bad_line ' expected text, found a NUL' 'keep = 7d\000\n'
head -c 65537 /dev/zero | tr '\0' '\n' >"$work/conf"
refused "$work/conf: above 64 KiB" agent --config "$work/conf"
refused '-o x.svg: with --window its name needs %t' agent -o x.svg

# window BEGAN_S COUNT_OF_A COUNT_OF_B
window() {
	printf '{"type":"meta","format":1,"event":"cpu-clock","period_ns":10000000,"hz":100,"start_unix_ns":%s000000000,"duration_ns":10000000000,"cpus":1}\n' "$1"
	for task in "a $2" "b $3"; do
		printf '{"type":"stack","count":%s,"weight_ns":%s0000000,"comm":"%s","pid":1,"stop":"outermost","user":[{"object":"/bin/x","build_id":"ab","vaddr":"0x10","symbol":"leaf_%s","offset":0,"origin":"cfi"},{"object":"/bin/x","build_id":"ab","vaddr":"0x20","symbol":"main","offset":0,"origin":"cfi"}],"kernel":[]}\n' \
			"${task#* }" "${task#* }" "${task% *}" "${task% *}"
	done
	printf '{"type":"books","fired":%s,"shown":%s,"lost":{"ring_full":1}}\n' "$(($2 + $3 + 1))" "$(($2 + $3))"
}
cd "$work"
expect 2 'No such file' query list --store s
# 2026-11-29 03:12:00 and on
window 1795921920 600 400 >1.jsonl
window 1795921930 100 900 >2.jsonl
window 1795921940 110 890 >3.jsonl
expect 0 '' query import --store s --label host=a 1.jsonl 2.jsonl 3.jsonl
range='--store s --from @1795921900 --to @1795922000'
# shellcheck disable=SC2086
set -- $range
expect 0 '' query list "$@"
says '^2026-11-29 03:12:00 +10.0 s +1000 +100.0 % +1$'
says '^2026-11-29 03:12:20 +10.0 s +1000 '
expect 0 '' query list "$@" --limit 1 --json
says '"start_unix_ns":1795921940000000000.*"samples":1000,"judged":1000,"complete":1000,"lost":1'
expect 0 '' query top "$@" --limit 2
says '^3000 samples in 3 windows, 30.0 s$'
says '^  73.0%   73.0%  leaf_b  \(x\)$'
expect 0 '' query top "$@" --comm '^a$' --json
says '"windows":3,"sum":810,"of":"samples","functions":\[\{"function":"leaf_a","object":"x","self":810,"total":810'
expect 0 '' query find 2026-11-29T03:12:05 --store s
says '^2026-11-29 03:12:00 '
says 'leaf_a'
expect 0 '' query find 2026-11-29T03:12:50 --store s
says 'the last one before it ended 20.0 s earlier'
expect 0 '' query analyze 2026-11-29T03:12:05 --store s
says '^2026-11-29 03:12:00 +10.0 s +1000 '
says '^1000 samples in 1 window, 10.0 s, 2 stacks$'
says '^  60.0%   60.0%  leaf_a  \(x\)$'
expect 0 '' query analyze --store s --limit 1 --from @1 2026-11-29T03:12:20 --json
says '"start_unix_ns":1795921940000000000.*"windows":1,"sum":1000,"of":"samples","functions":\[\{"function":"leaf_b",[^}]*\}\],"stacks":2'
expect 1 'analyze leaf_a: expected a time' query analyze leaf_a --store s
expect 0 '' query find leaf_a "$@"
says '^2026-11-29 03:12:00 +10.0 s +600 +60.0% +60.0%$'
expect 0 '' query find 'main' "$@" --json
says '"windows_with_it":3,.*"of":1000,"self":0,"total":1000'
expect 3 'no samples in this time' query find nothing "$@"
expect 3 'no samples in this time' query top --store s --from @1 --to @2
expect 1 'find \(: ' query find '(' "$@"
expect 0 '' query function '^leaf_' "$@" --limit 2
says '^2026-11-29 03:12:00 +10.0 s +1000 +100.0% +100.0%$'
says '^\.\.\. and 1 more windows with less$'
says '^   73.0%    main$'
says '^   73.0%  leaf_b  \(x\), self 73.0%$'
expect 0 '' query function 'main' "$@" --comm '^a$' --json
says '"functions":\[\{"function":"main","object":"x","self":0,"total":810,"outermost":810,"callers":\[\],"callees":\[\{"function":"leaf_a","object":"x","total":810\}\]\}\]'
expect 3 'no samples in this time' query function nothing "$@"
expect 1 'find \(: ' query function '(' "$@"
expect 0 '' query advice "$@"
says '^3000 samples in 3 windows, 3 lost$'
says '^  lost +ring_full 3: a lower -F'
says '^100.00 % of 3000 user stacks are whole$'
says '^No file lacks names$'
expect 0 '' query metrics --store s
says '^fpless_store_windows 3$'
says '^fpless_store_samples 3000$'
says '^fpless_last_window_samples 1000$'
says '^fpless_last_window_complete 1000$'
says '^fpless_last_window_lost 1$'
says '^fpless_last_window_timestamp_seconds 1795921950\.0+$'
says '^fpless_store_bytes [1-9][0-9]{4,}$'
refused '--json: of list' query metrics --json
expect 3 'no samples in this time' query advice --store s --from @1 --to @2

# A stack that ends early, in code of a file without names
{
	printf '{"type":"meta","format":1,"event":"cpu-clock","period_ns":10000000,"hz":100,"start_unix_ns":1795921900000000000,"duration_ns":10000000000,"cpus":1}\n'
	printf '{"type":"stack","count":30,"weight_ns":300000000,"comm":"a","pid":1,"stop":"no_cfi","user":[{"object":"/opt/no such/y","build_id":"cd","vaddr":"0x10","symbol":null,"offset":null,"origin":"cfi"},{"object":"/bin/x","build_id":"ab","vaddr":"0x20","symbol":"asm_thing","offset":0,"origin":"cfi"}],"kernel":[]}\n'
	printf '{"type":"stack","count":70,"weight_ns":700000000,"comm":"a","pid":1,"stop":"outermost","user":[{"object":"/bin/x","build_id":"ab","vaddr":"0x20","symbol":"main","offset":0,"origin":"cfi"}],"kernel":[]}\n'
	printf '{"type":"books","fired":100,"shown":100,"lost":{}}\n'
} >cut.jsonl
expect 0 '' query import --store cut cut.jsonl
expect 0 '' query advice --store cut --from @1795921900 --to @1795922000
says '^100 samples in 1 window, 0 lost$'
says '^70.00 % of 100 user stacks are whole; the others end in$'
says '^ +30 no_cfi +asm_thing  \(x\)$'
says 'build with -fasynchronous-unwind-tables'
says '^ +30.0% /opt/no such/y$'
expect 0 '' query advice --json --store cut --from @1795921900 --to @1795922000
says '"complete":70,"lost":0,"losses":\[\],"places":1,"cut_short":\[\{"stop":"no_cfi",.*"samples":30,"function":"asm_thing","object":"/bin/x","advice":"no CFI'
says '"objects":1,"names_missing":\[\{"object":"/opt/no such/y","build_id":"cd","samples":30,"leaf_samples":30'

expect 0 '' query diff --store s --from @1795921930 --to @1795921940 --before @1795921920..@1795921930
says 'leaf_b'
says 'real'
expect 0 '' query diff --store s --from @1795921940 --to @1795921950 --json
says '"verdict":"noise"'
# of one source, which words stand for
expect 0 '' query top "$@" --source cpu
says '^3000 samples in 3 windows'
expect 0 '' query list "$@" --source cpu-clock --comm '^a$'
says '^2026-11-29 03:12:00 +10.0 s +600 +100.0 % +1$'
for verb in list top advice export "find main" "function main"; do
	# shellcheck disable=SC2086
	expect 3 'no samples' query $verb "$@" --source off-cpu
done
expect 0 '' query find 2026-11-29T03:12:05 --store s --source cpu
expect 3 'no samples' query find 2026-11-29T03:12:05 --store s --source off-cpu
expect 0 '' report "$@" --source cpu -q -f
says '^a;main;leaf_a 810$'
expect 3 'no samples' report "$@" --source page-faults -q -f
expect 3 '' diff --store s --from @1795921930 --to @1795921940 --source off-cpu
# report and diff take a time of a store in place of files
expect 0 '' query diff -f --store s --from @1795921930 --to @1795921950 --before @1795921920..@1795921930
cp stdout by_query
expect 0 '' diff -f --store s --from @1795921930 --to @1795921950 --before @1795921920..@1795921930
cmp stdout by_query || failed=1
expect 0 '' diff --store s --from @1795921940 --to @1795921950 --json
says '"verdict":"noise"'
expect 0 '' report "$@" -q -f
says '^a;main;leaf_a 810$'
expect 0 '' report "$@" --comm '^b$' -q -f
says '^b;main;leaf_b 2190$'
expect 3 'no samples in this time' report --store s --from @1 --to @2 -q -f
expect 2 'no_such' report --store no_such
expect 2 'no_such' diff --store no_such
expect 0 '' query export "$@" -q -f
says '^a;main;leaf_a 810$'
expect 0 '' query export "$@" -q -o x.pb.gz -o x.svg
expect 0 '' report -q -f x.pb.gz
says '^b;main;leaf_b 2190$'
expect 0 '' query check --store s
says 'as it was written'

# Nothing lacks a name, or no file has it
expect 0 '' query resymbolize --store s
says '^0 of 0 functions without a name have one now, by the files of 0 objects$'
expect 0 '' query resymbolize --store cut
says '^0 of 1 functions without a name have one now, by the files of 0 objects'
expect 2 'no_such/store: ' query resymbolize --store no_such/store
refused 'resymbolize: writes to stdout alone' query resymbolize -o x.svg

# What is no store, or damaged, is an error in words; what is no window is refused.
printf 'a;b 1\n' >plain.folded
expect 2 'does not say when it was recorded' query import --store s plain.folded
expect 2 'no_such' query import --store s no_such
mkdir other
printf 'no database, but long enough to be looked at, and this is some more of it, until it is a hundred\n' >other/fpless.db
expect 2 'other/fpless.db: ' query list --store other
head -c 20000 s/fpless.db >other/fpless.db
expect 2 'damaged' query top --store other --from @1
exit "$failed"
