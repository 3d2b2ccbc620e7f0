#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: test_diff.sh FPLESS
set -eu
fpless=$1
# shellcheck source=tests/cli/expect.sh
. "$(dirname "$0")/expect.sh"

expect 0 '' diff --help
says 'Exit status: 0 ok'

# Nonsense is refused in one line that names it.
refused 'BEFORE... -- AFTER' diff
refused 'BEFORE... -- AFTER' diff a
refused 'BEFORE... -- AFTER' diff a b c
refused 'BEFORE... -- AFTER' diff a --
refused 'BEFORE... -- AFTER' diff -- a
refused 'stdin can be read once' diff - -- -
refused '--top x: expected a number' diff --top x a b
refused '--format speedscope: folded, text' diff --format speedscope a b
refused '-o x.pb.gz: no format' diff -o x.pb.gz a b
refused 'only one of' diff -f --json a b
refused '--negate: needs a picture' diff --negate a b -o x.txt
refused '--title: needs a picture' diff --title x a b
refused '--colors: not supported: changes are red and blue' diff --colors cold a b -o x.svg
refused '--chart: not supported: changes have no order of time' diff --chart a b -o x.svg
refused '--focus \(: ' diff --focus '(' a b

printf 'b;g;h_[k] 200\na;f 100\nb;[/bin/x+0x10]_[fp] 400\n' >"$work/a.folded"
printf 'a;f 600\nb;[/lib/x+0x20] 410\n' >"$work/b.folded"
: >"$work/empty.folded"
cd "$work"

# Readable text is the default; two files need no `--', and options may be anywhere.
expect 0 '700 samples of 1 file before, 1010 of 1 file after' diff a.folded b.folded
says 'total +\+44.29 % per run'
says ' 14.29% +85.71% +\+71.43 .* real +f  \('
says ' 28.57% +0.00% +-28.57 .* gone +h  \(kernel\)'
expect 0 '' diff -q a.folded -- b.folded -s --top 1
says '57.14% +58.57% .* noise +\[x\+0x\.\.\.\]|\.\.\. and '
[ ! -s stderr ] || failed=1
expect 0 '1400 samples of 2 files before, 1010 of 1 file after' diff a.folded a.folded -- b.folded
says 'runs vary by 0.00 %'

# The headline says what changed, or the most that may have.
expect 0 '' diff -q -s a.folded b.folded
says '^2 functions changed: f \+71.43, h -28.57 \(gone\) \(in % of the samples before\)$'
expect 0 '' diff -q a.folded a.folded
says '^no function changed by more than [1-9][0-9.]* % of the samples before$'
expect 0 '' diff -q --json a.folded a.folded
says '"headline":"no function changed by more than .*"changed":\{"self":0,"total":0,"bound":[1-9]'
expect 0 '' diff -n empty.folded b.folded
says '^no function is known to have changed$'

# A limit: what grew beyond it ends with 7, once all is written; what shrank, or grew less, does not.
refused '--fail-on 10x: expected a growth in per cent, as .10%' diff --fail-on 10x a b
refused '--fail-on-function -10%: expected a growth' diff --fail-on-function -10% a b
expect 7 'grew beyond the limit: the whole \+44.29 %, f \+71.43 %$' diff -q -s --fail-on +40% a.folded b.folded -o l.txt
[ -s l.txt ] || failed=1
expect 7 'limit: f \+71.43 %$' diff -q --fail-on 71.4 a.folded b.folded
expect 0 '' diff -q --fail-on +72% a.folded b.folded
expect 7 'limit: h \+19.80 % \(new\)' diff -q -s --fail-on +15% b.folded a.folded
expect 0 '' diff -q -s --fail-on +20% b.folded a.folded
expect 0 '' diff -q --fail-on +0% --fail-on-function +0% a.folded a.folded
expect 7 'limit: f \+71.43 % \(by 500 % of itself\)' diff -q -s --fail-on-function +400% a.folded b.folded
expect 0 '' diff -q --fail-on-function +501% a.folded b.folded -s

# Where noise can hide a growth by the limit, a line and the JSON say so, and what would show it.
for i in 1 2 3; do
	printf 'a;f %d\nb;g %d\n' $((380 + 20 * i)) $((600 - 7 * i)) >"few$i.folded"
	printf 'a;f %d\nb;g %d\n' $((40000 + i)) 60000 >"many$i.folded"
done
few='few1.folded few2.folded -- few3.folded few1.folded'
many='many1.folded many2.folded -- many3.folded many1.folded'
# shellcheck disable=SC2086
{
	expect 0 '^fpless: --fail-on 10%: .* 2 runs before and 2 after show a growth by 1[0-9.]* %, .*; 3 a side would show 10 %$' \
		diff -q --fail-on 10 $few
	[ "$(wc -l <"$work/stderr")" = 1 ] || failed=1
	expect 0 '^fpless: --fail-on-function 10%: .*; [0-9]* a side would show' diff -q --fail-on-function 10 $few
	expect 0 '--fail-on 0.5%: .*; make longer runs$' diff -q --fail-on 0.5 $few
	expect 0 '' diff -q --fail-on 10 --fail-on-function 10 $many
	[ ! -s "$work/stderr" ] || failed=1
	expect 0 'show a growth' diff -q --json --fail-on 10 $few
	says '"limits":\{"of_whole":\{"percent":10,"shows":1[0-9.]*,"hidden":true,"runs":3\},"of_itself":null,"beyond":null\}'
	expect 0 '' diff -q --json --fail-on 20 $few
	says '"percent":20,"shows":1[0-9.]*,"hidden":false,"runs":null\}'
}
expect 7 '' diff -q --json --fail-on 40 a.folded b.folded
says '"beyond":"the whole \+44.29 %, f '
expect 0 '--fail-on 5%: not known: a side has no samples$' diff -q -n --fail-on 5 empty.folded b.folded

# Frames of who ended a wait are told apart: violet, or, where they changed, with an edge.
printf 'a;main;wait;--;unlock;work 500\na;work 500\n' >waits.folded
printf 'a;main;wait;--;unlock;work 500\na;main;wait;--;unlock;late 900\na;work 500\n' >longer.folded
for ends in --reverse ''; do
	expect 0 '' diff -q waits.folded longer.folded $ends -o w.svg
	grep -q '>who ended the wait<' w.svg || failed=1
	grep -q 'class="v".*<title>work$' w.svg || failed=1
	grep -q 'class="n".*<title>work$' w.svg || failed=1
done
grep -q 'class="r[0-9] e".*<title>late$' w.svg || failed=1
expect 0 '' diff -q a.folded b.folded -o w.svg
grep -E 'who ended the wait|class="(v|r[0-9] e)"' w.svg && failed=1

# Files and stdin; every format, several at a time.
expect 0 '' diff -q a.folded b.folded -o d.folded -o d.txt -o d.json -o d.svg --title 'Monday & Tuesday'
[ ! -s stdout ] || failed=1
grep -q '^a;f 100 600$' d.folded || failed=1
grep -q '<title>Monday &amp; Tuesday</title>' d.svg || failed=1
grep -q 'class="note".*>4 functions changed: f +71.43' d.svg || failed=1
expect 0 '' diff -q a.folded b.folded -o t.svg
grep -q '<title>4 functions changed: f +71.43' t.svg || failed=1
"$fpless" diff -q --json - b.folded <a.folded | cmp - d.json || failed=1
"$fpless" report -q a.folded -o a.pb.gz
"$fpless" report -q a.folded -o a.jsonl
expect 0 '' diff -q a.pb.gz -- b.folded -o d2.folded
cmp d.folded d2.folded || failed=1
# A page, or a line that says why there is none.
status=0
"$fpless" diff -q a.folded b.folded -o p.html --title '</script>' 2>p.err || status=$?
if [ "$status" = 2 ]; then
	grep -q 'without npm' p.err || failed=1
else
	[ "$status" = 0 ] || failed=1
	grep -q '"diff":{' p.html || failed=1
	grep -q 'u003c/script>' p.html || failed=1
	for options in -n -s --negate; do
		expect 0 '' diff -q "$options" a.folded empty.folded -o q.html
		expect 0 '' diff -q "$options" empty.folded b.folded -o q.html
		tail -n 20 q.html | grep -q '</html>' || failed=1
	done
fi
expect 0 'over different numbers of files' diff -f a.folded a.folded -- b.folded
expect 0 '' diff -q -f -n --delimited --annotate a.folded b.folded
says '^b;g;-;h_\[k\] 288 0$'

# Filters; nothing left is exit 3, and one empty side is not.
expect 0 'refused +1010 samples' diff --comm a a.folded b.folded --ignore nothing
expect 3 'the filters exclude them all' diff --focus nothing a.folded b.folded
expect 3 'no samples in the files read' diff empty.folded empty.folded
expect 0 '' diff empty.folded b.folded
says '0.00% +59.41% .* new +f '
expect 0 '' diff -n empty.folded b.folded
says '0.00% +59.41% .* \? +noise +f '
expect 0 '' diff --json a.folded empty.folded
says '"verdict":"gone"'
printf 'a;f 1\n' >one.folded
expect 0 '' diff -q empty.folded b.folded -o e.svg
expect 0 '' diff -q a.folded empty.folded -n -o f.svg
grep -q 'There is nothing after' f.svg || failed=1
expect 0 '' diff one.folded empty.folded
says '100.00% +0.00% .* noise +f '

# What cannot be compared is refused: what, why, and what to do.
meta() {
	printf '{"type":"meta","format":1,"event":"%s","period_ns":%d,"hz":%d,"start_unix_ns":0,"duration_ns":1000000000,"cpus":1,"kernel":"6.1","argv":[]}\n' "$1" $((1000000000 / $2)) "$2"
	printf '{"type":"stack","count":9,"weight_ns":%d,"comm":"a","pid":1,"stop":null,"user":[],"kernel":[]}\n' "$3"
	printf '{"type":"books","shown":9}\n'
}
meta cpu-clock 99 90000000 >clock.jsonl
meta cpu-clock 999 9000000 >fast.jsonl
meta cpu-cycles 99 90000000 >cycles.jsonl
refused 'cycles.jsonl: samples of cpu-cycles, but clock.jsonl has samples of cpu-clock: record both' diff clock.jsonl cycles.jsonl
refused 'fast.jsonl: 999 samples per second, clock.jsonl 99: .*--normalize' diff -f clock.jsonl fast.jsonl
refused '999 samples per second' diff -o x.svg clock.jsonl fast.jsonl
[ ! -e x.svg ] || failed=1
expect 0 '' diff -f -n clock.jsonl fast.jsonl
expect 0 '' diff clock.jsonl fast.jsonl
says 'total +-90.00 %' # they weigh what they stand for
expect 0 '' diff clock.jsonl one.folded

# Bad files: where, exit 2, and nothing is written.
printf 'a;f 1\na;f one\n' >bad.folded
expect 2 'bad.folded: line 2 \(offset 6\): the count .one.' diff a.folded bad.folded -o never.folded
[ ! -e never.folded ] || failed=1
expect 2 'absent: No such file' diff a.folded absent
expect 2 'times' diff --time 1,2 a.folded b.folded
printf 'a;f 18446744073709551614\n' >huge.folded
expect 0 '' diff -q -f huge.folded huge.folded
says '^a;f 18446744073709551614 18446744073709551614$'
expect 2 'more than 2\^64' diff huge.folded huge.folded -- a.folded

# Names of strangers stay in their lines.
printf 'a\\x0ab;\\x1b[31mred\\x3b<script> 50\n' >hostile.folded
expect 0 '' diff a.folded hostile.folded
says 'x1b\[31mred.x3b<script>'
if LC_ALL=C grep -q "$(printf '\033')" stdout; then
	echo "an escape reached the terminal" >&2
	failed=1
fi
exit $failed
