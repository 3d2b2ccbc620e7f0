#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: test_report.sh FPLESS [SANITIZERS]
set -eu
fpless=$1
# shellcheck source=tests/cli/expect.sh
. "$(dirname "$0")/expect.sh"
golden=$(realpath "$(dirname "$0")/../golden")
fpless=$(realpath "$fpless")

# same FILE FILE
same() {
	cmp "$1" "$2" || failed=1
}

expect 0 '' report --help
says 'Exit status: 0 ok'

# Nonsense is refused in one line that names it.
# Without FILE the recording that fpless record has left here, else none.
counts=$golden/counts.jsonl
cd "$work"
for verb in report script; do
	refused 'no FILE to read, and no fpless.jsonl.gz here, which fpless record writes' $verb
done
printf 'a;b 3\n' >fpless.jsonl
expect 0 '' report -q -f
says '^a;b 3$'
gzip -c "$counts" >fpless.jsonl.gz
expect 0 '^fpless: fpless.jsonl.gz: read, since no FILE was given$' report -f
expect 0 '' report -q -f
[ ! -s stderr ] || failed=1
mv stdout usual
expect 0 '' report -q -f "$counts"
same stdout usual
# Lines of fewer samples are left out of the text, and counted.
printf 'a;f 90\na;g 9\na;h 1\n' >shares.folded
expect 0 '' report -q --min-share 5 shares.folded
says '^ +90\.0% +90\.0%  f '
says '^ +9\.0% +9\.0%  g '
says '\.\.\. and 1 more$'
says '1\.0%  1 of 100  in 1 other stacks$'
if grep -qE '  h ' stdout; then failed=1; fi
# What ended a wait is not the function that waited, and has none of its time; nor is who woke that one up.
printf 'a;main;lock;--;give_back;main;[thread b] 6\na;main;nap;--;[irq] 3\na;main;lock;--;wake;[thread b];--;far;[thread c] 1\n' >waits.folded
expect 0 '' report -q waits.folded
says '^ +70\.0% +70\.0%  lock '
says '^ +30\.0% +30\.0%  nap '
says '^ +0\.0% +100\.0%  main '
if grep -qE '%  (--|give_back|wake|far|\[irq\]|\[thread [bc]\])  |more$' stdout; then failed=1; fi
# Calls of a function by itself are one, where that is asked for and functions are shown.
printf 'a;f;f;f;g 5\na;f;g 2\na;f;f;f_[k];f_[k] 1\na;g;f;g 1\n' >calls.folded
expect 0 '' report -q -f --fold-recursion -o folded.jsonl calls.folded
printf 'a;f;f 1\na;g;f;g 1\na;f;g 7\n' >wanted
same stdout wanted
expect 0 '' report -q -o calls.jsonl calls.folded
grep -v '"argv"' folded.jsonl >stdout
grep -v '"argv"' calls.jsonl >usual_jsonl
same stdout usual_jsonl
printf 'a;f;g 7\na;f;f_[k] 1\na;g;f;g 1\n' >wanted
for to in txt svg html; do
	expect 0 '' report -q --fold-recursion -o "folded.$to" calls.folded
	expect 0 '' report -q -o "wanted.$to" wanted
	same "folded.$to" "wanted.$to"
done
# script: as report to the text of perf script, unless it is asked for something else.
expect 0 '' report -q --format perf "$counts"
mv stdout perf
expect 0 '' script -q
same stdout perf
expect 0 '' script -q "$counts"
same stdout perf
expect 0 '' script -q -o x.perf
same x.perf perf
[ ! -s stdout ] || failed=1
expect 0 '' script -q -f
same stdout usual
expect 0 '' script -q --format folded
same stdout usual
refused 'stdin can be read once' report - -
refused '--time 3,2: expected two times' report --time 3,2 x
refused '--time x: expected two times' report --time x x
refused '--memory 1: expected bytes from 1M' report --memory 1 x
refused '--pid a: expected process ids' report --pid a x
refused '--focus \(: ' report --focus '(' x
refused '--comm \(: ' report --comm '(' x
refused '-o x.nothing: no format' report x -o x.nothing

printf 'b;g;h_[k] 2\na;f 1\nb;[x+0x10]_[fp] 4\n' >"$work/a.folded"
printf 'a;f 6\n' >"$work/b.folded"

# From folded to folded nothing is lost; marks are written as asked.
sort -n -k2 -t' ' "$work/a.folded" >"$work/sorted"
expect 0 'fired 7 = shown 7 \+ idle 0 \+ filtered 0 \+ lost 0: closed' report -v -f --annotate --origin "$work/a.folded"
same "$work/stdout" "$work/sorted"
expect 0 '' report -q -f --delimited "$work/a.folded"
says '^b;g;-;h 2$'
[ ! -s "$work/stderr" ] || failed=1

# Characters that turn, break or hide text are nowhere raw where people read it; pprofs keep them, and so do
# values in JSON, where they are escapes.
printf 'a\342\200\256b;\342\201\246f\342\200\250;g\330\234\342\200\216 3\n' >"$work/bidi.folded"
for to in folded txt perf jsonl speedscope.json firefox.json svg html pb.gz; do
	expect 0 '' report -q -o "$work/bidi.$to" "$work/bidi.folded"
	[ "$to" = pb.gz ] || ! LC_ALL=C grep -qE "$(printf '\342\200[\216\250\256]|\342\201\246|\330\234')" "$work/bidi.$to" || {
		echo "bidi.$to holds a character that turns or breaks text" >&2
		failed=1
	}
done
printf 'a\\xe2\\x80\\xaeb;\\xe2\\x81\\xa6f\\xe2\\x80\\xa8;g\\xd8\\x9c\\xe2\\x80\\x8e 3\n' >"$work/escaped.folded"
for from in folded jsonl pb.gz; do
	expect 0 '' report -q -f "$work/bidi.$from"
	same "$work/stdout" "$work/escaped.folded"
done
expect 2 'no.xe2.x80.xae: ' report "$work/no$(printf '\342\200\256')"

# A format that is text is packed where .gz or .zst stands behind its extension, and read back.
for to in folded txt perf jsonl speedscope.json json svg html; do
	expect 0 '' report -q -o "$work/plain.$to" -o "$work/plain.$to.gz" "$counts"
	gzip -dc "$work/plain.$to.gz" >"$work/unpacked" || failed=1
	same "$work/plain.$to" "$work/unpacked"
	expect 0 '' report -q -o "$work/plain.$to.zst" "$counts"
	zstd -qdc "$work/plain.$to.zst" >"$work/unpacked" || failed=1
	# .jsonl has a format of its own there: frames stand once
	[ "$to" = jsonl ] || same "$work/plain.$to" "$work/unpacked"
done
for from in folded jsonl; do
	expect 0 '' report -q -o "$work/again.$from" "$work/plain.$from"
	expect 0 '' report -q -o "$work/again.gz.$from" "$work/plain.$from.gz"
	same "$work/again.$from" "$work/again.gz.$from"
	expect 0 '' report -q -o "$work/again.zst.$from" "$work/plain.$from.zst"
	same "$work/again.$from" "$work/again.zst.$from"
	cat "$work/plain.$from.zst" | "$fpless" report -q -o "$work/again.zst.$from" - || failed=1
	same "$work/again.$from" "$work/again.zst.$from"
done
zstd -qdc "$work/plain.jsonl.zst" >"$work/tree.jsonl"
grep -q '^{"type":"meta","format":3,' "$work/tree.jsonl" || failed=1
expect 0 '' report -q -o "$work/from_tree.jsonl" "$work/tree.jsonl"
same "$work/again.jsonl" "$work/from_tree.jsonl"
printf 'no text of ours\n' | zstd -qc >"$work/other.zst"
expect 2 'other.zst: what zstd packed there is no text of ours' report "$work/other.zst"
head -c 8 "$work/plain.folded.zst" >"$work/cut.zst"
expect 2 'cut.zst: offset 8: the file ends within its zstd data' report "$work/cut.zst"
{ head -c 20 "$work/plain.folded.zst" && printf 'garbage, and more of it, and more'; } >"$work/bad.zst"
expect 2 'bad.zst: offset [0-9]+: ' report "$work/bad.zst"
zstd -qc "$work/plain.folded.zst" >"$work/twice.zst"
expect 2 'twice.zst: what zstd packed there is no text' report "$work/twice.zst"
ln -s /dev/full "$work/full.folded.zst"
expect 6 'full.folded.zst: No space left on device' report -q -o "$work/full.folded.zst" "$counts"
ln -s /dev/full "$work/full.folded.gz"
expect 6 'full.folded.gz: No space left on device' report -q -o "$work/full.folded.gz" "$counts"
refused '-o x.pb.gz.gz: no format' report x -o x.pb.gz.gz
refused '-o .gz: no format' report x -o .gz
refused '-o x.gz: no format has this extension: .folded, .* or .htm; or one of text and .gz or .zst' report x -o x.gz

# A recording that was cut, packed or not, gives its whole lines, and says what is missing.
head -c 2000 "$counts" >"$work/cut.jsonl"
expect 0 'cut.jsonl: cut off in line 4 \(offset [0-9]+\): 5 samples in 2 stacks are read; what was behind them and the books are missing$' \
	report -f "$work/cut.jsonl"
lines=$(($(wc -l <"$counts") - 1))
head -n $lines "$counts" >"$work/cut.jsonl"
expect 0 "cut.jsonl: cut off behind line $lines .*: 11 samples in 7 stacks are read" report -f "$work/cut.jsonl"
gzip -c "$counts" >"$work/whole.jsonl.gz"
head -c -20 "$work/whole.jsonl.gz" >"$work/cut.jsonl.gz"
expect 0 'cut.jsonl.gz: cut off ' report -f "$work/cut.jsonl.gz"
zstd -qc "$counts" | head -c -20 >"$work/cut.jsonl.zst"
expect 2 'ends within its zstd data' report -f "$work/cut.jsonl.zst"
gzip -c "$work/a.folded" | head -c -10 >"$work/cut.folded.gz"
expect 2 'ends within its gzip data' report -f "$work/cut.folded.gz"

# A frame that was read before is known by its bytes: however a recording is spaced, it is the same.
for spacing in 's/"user":\[{/"user":[ {/; s/"kernel":\[{/"kernel": [{/' 's/},{/}, {/g' 's/"type":"stack",/"type":"stack", /'; do
	sed -e "$spacing" "$counts" >spaced.jsonl
	! cmp -s spaced.jsonl "$counts" || failed=1
	expect 0 '' report -q -o again.jsonl spaced.jsonl
	same again.jsonl plain.jsonl
done
sed -e 's/"comm":"app"/"comm":",\\"user\\":[{\\"x"/' "$counts" >quoted.jsonl
expect 0 '' report -q -o again.jsonl quoted.jsonl
same again.jsonl quoted.jsonl
for bad in 1 null '{"addr":1}' '{"addr":"0x1","origin":"cfi"'; do
	sed -e "s/\"user\":\[{/\"user\":[$bad,{/" "$counts" >bad.jsonl
	expect 2 'bad.jsonl: line 2 ' report -q -f bad.jsonl
done

# Of perf's text, what is no frame is left out and counted.
printf 'a 1 1.0: cycles:\n\t10 f (/x)\n\t817ff80000000000 [unknown] ([unknown])\n\tffffffff81000000 s ([kernel.kallsyms])\n\na 1 2.0: cyc' \
	>"$work/bad.txt"
expect 0 'bad.txt: left out: frames at addresses of no code: 1; kernel frames behind user frames: 1; a last sample that is cut off$' \
	report -f "$work/bad.txt"
says '^a;f 1$'

# Code without a name is called by the start of its function; its address is shown on request.
expect 0 '' report -q -f "$counts"
says ';loop_avx2;\[x\.so\+0x2000\] 1$'
expect 0 '' report -q -f --addresses "$counts"
says ';loop_avx2;\[x\.so\+0x2050\] 1$'
expect 0 '' report -q --addresses --format speedscope -o - "$counts"
says '"\[x\.so\+0x2050\]"'

# How far stacks can be trusted is said of recordings, too: why they ended, and what is not from CFI.
expect 0 'marked +frames by frame pointers \(fp\) in 57\.14 % of the user stacks$' report -v -f "$work/a.folded"
expect 0 '^  stops +outermost 8, fp_end 1, execing 1$' report -v -f "$counts"
expect 0 'marked +frames by rows made from code \(synth\) in [0-9.]+ % of the user stacks, by frame pointers' report -v -f "$counts"
expect 0 '' report -f "$work/b.folded"
if grep -qE '^  (stops|marked|complete)' "$work/stderr"; then
	echo "report says what folded stacks do not know: $(cat "$work/stderr")" >&2
	failed=1
fi

# What the text of perf script does not say is left out, not 0.
printf 'a  1/1  1.000000: cpu-clock: \n\t 10 f+0x0 (/x)\n\n' >"$work/script.txt"
expect 0 '' report "$work/script.txt"
says '^1 samples: cpu-clock$'

# Readable text is the default; files add up.
expect 0 'fpless: 13 samples of 2 files' report "$work/a.folded" "$work/b.folded"
says '^13 samples'
says '53.8%.* f '

# By default the closing report is a summary of the samples, the files and what has no name, and what is wrong; -v says all.
expect 0 '' report -o x.svg -o x.txt "$counts"
cat >summary <<end
fpless: 11 samples of 1 file, 0.1 s, 88.9 % complete, none lost
  wrote        x.svg, x.txt
  names        9 % of leaves have no name, most of them in x.so: fpless report --missing says which packages have them
  cut short    11.1 % of the stacks, most of them by fp_end: the frame-pointer chain ended
end
same stderr summary
expect 0 '' report -v -o x.svg -o x.txt "$counts"
head -3 summary >expected
cat >>expected <<end
  sampled      cpu-clock at 100 Hz on 2 CPUs
  complete     88.89 % (8 of 9 user stacks)
  stops        outermost 8, fp_end 1, execing 1
  marked       frames by rows made from code (synth) in 10.00 % of the user stacks, by frame pointers (fp) in 10.00 %
  books        fired 11 = shown 11 + idle 0 + filtered 0 + lost 0: closed
end
same stderr expected
# What was lost, and books that are open.
sed -e 's/"fired":11,/"fired":14,/; s/"ring_full":0/"ring_full":3/' "$counts" >lost.jsonl
expect 0 '^fpless: 11 samples of 1 file, 0.1 s, 88.9 % complete, 3 lost$' report -f lost.jsonl
grep -q '^  lost         ring_full 3: a lower -F, or more --ring-memory$' stderr || failed=1
[ "$(grep -c books stderr)" = 0 ] || failed=1
sed -e 's/"fired":11,/"fired":12,/' "$counts" >open.jsonl
expect 0 'fired 12 = shown 11 .*DO NOT CLOSE, off by 1' report -f open.jsonl
expect 0 '^fpless: 6 samples of 1 file$' report -f b.folded
[ "$(wc -l <stderr)" = 1 ] || failed=1
expect 0 '^  refused      2 samples, by the filters' report -f --ignore h a.folded
expect 0 '^  wrote        x.svg$' diff -o x.svg a.folded b.folded

# Filters close the books; nothing left is exit 3.
expect 0 'fired 7 = shown 2 \+ idle 0 \+ filtered 5 \+ lost 0: closed' report -v -f --focus '^h$' "$work/a.folded"
says '^b;g;h 2$'
expect 0 'shown 1 \+ idle 0 \+ filtered 6' report -v -f --comm a "$work/a.folded"
expect 0 'shown 3 \+ idle 0 \+ filtered 4' report -v -f --ignore "^x$" "$work/a.folded"
expect 3 'the filters exclude them all' report --focus nothing "$work/a.folded"
expect 2 'a.folded: --time: it holds no times' report --time 1,2 "$work/a.folded"
expect 2 'a.folded: --pid: it holds no process ids' report --pid 1 "$work/a.folded"

# An object that lacks names is listed with the package that has them: perl is Debian's own everywhere.
if [ -e /var/lib/dpkg/info/perl-base.list ]; then
	printf '%s\n' '{"type":"meta","format":1,"event":"cpu-clock","period_ns":1,"hz":99}' \
		'{"type":"stack","count":2,"comm":"perl","pid":1,"stop":"outermost","user":[{"object":"/usr/bin/perl","build_id":"ab","vaddr":"0x1000","origin":"cfi"}]}' \
		'{"type":"books","format":1,"event":"cpu-clock","hz":99,"period_ns":1,"duration_ms":1,"cpus":1,"fired":2,"shown":2}' \
		>"$work/perl.jsonl"
	expect 0 '' report -q --missing "$work/perl.jsonl"
	says 'apt-get install perl-debug'
fi

# A function of a script is one row, whatever its lines; a stack of each line stays one.
script() { # LINE
	printf '%s' '{"type":"stack","count":2,"comm":"py","pid":1,"stop":"outermost","user":[{"addr":null,"symbol":"dump","offset":null,"file":"/x/a.py","line":'"$1"',"start_line":120,"origin":"script"}],"kernel":[]}'
}
printf '%s\n' '{"type":"meta","format":1,"event":"cpu-clock","period_ns":1,"hz":99}' "$(script 179)" "$(script 180)" \
	"$(script 0)" >"$work/script.jsonl"
expect 0 '' report -q "$work/script.jsonl"
says '100.0% +100.0%  dump .a.py:120.  '
says '^ +dump .a.py:179.$'
says '^ +dump .a.py:180.$'
expect 0 '' report -q --lines "$work/script.jsonl"
says '33.3% +33.3%  dump .a.py:179.  '

# So is it in pages and in differences; folded stacks have the lines.
meta='{"type":"meta","format":1,"event":"cpu-clock","period_ns":1,"hz":99}'
printf '%s\n' "$meta" "$(script 179)" >"$work/before.jsonl"
printf '%s\n' "$meta" "$(script 180)" >"$work/after.jsonl"
expect 0 '' report -q "$work/script.jsonl" -o "$work/script.html"
grep -q 'dump (a.py:120)' "$work/script.html" || failed=1
grep -q 'dump (a.py:1[78]' "$work/script.html" && failed=1
expect 0 '' report -q --lines "$work/script.jsonl" -o "$work/script.html"
grep -q 'dump (a.py:179)' "$work/script.html" || failed=1
expect 0 '' diff -q "$work/before.jsonl" "$work/after.jsonl" -o "$work/script.html"
expect 0 '' diff -q "$work/before.jsonl" "$work/after.jsonl"
says '100.00% +100.00% +.0.00 .*dump .a.py:120.'
grep -q 'dump (a.py:120)' "$work/script.html" || failed=1
grep -q 'dump (a.py:1[78]' "$work/script.html" && failed=1
expect 0 '' diff -q -f "$work/before.jsonl" "$work/after.jsonl"
says 'dump .a.py:179. 2 0'

# .jsonl read and written again is the same bytes.
expect 0 '' report -q "$work/a.folded" -o "$work/a.jsonl" -o "$work/a2.folded"
expect 0 '' report -q "$work/a.jsonl" -o "$work/again.jsonl"
same "$work/a.jsonl" "$work/again.jsonl"

DEBUGINFOD_URLS='' expect 2 'DEBUGINFOD_URLS names no server' report --debuginfod "$work/a.folded"

# pprof too: from a file, from a pipe, and not gzipped.
expect 0 '' report -q "$work/a.folded" -o "$work/a.pb.gz"
expect 0 '' report -q "$work/a.pb.gz" -o "$work/again.jsonl"
same "$work/a.jsonl" "$work/again.jsonl"
"$fpless" report -q -f --annotate --origin - <"$work/a.pb.gz" | cmp - "$work/sorted" || failed=1
gzip -dc "$work/a.pb.gz" | "$fpless" report -q -f --annotate --origin - | cmp - "$work/sorted" || failed=1

seq 20000 | sed 's/.*/task &;function & 1/' >"$work/big.folded"

# A disk that is full and a reader that has gone: one line that names the place, and exit 6.
for format in folded jsonl perf pprof speedscope firefox; do
	expect 6 '^fpless: /dev/full: (0 of 20000 samples are in it: )?No space left on device$' \
		report -q --format "$format" -o /dev/full "$work/big.folded"
	[ "$(wc -l <"$work/stderr")" = 1 ] || failed=1
	status=0
	"$fpless" report -q --format "$format" -o - "$work/big.folded" >/dev/full 2>"$work/stderr" || status=$?
	[ "$status" = 6 ] && grep -qE '^fpless: stdout: .*No space left' "$work/stderr" || {
		echo "$format: $status" >&2
		cat "$work/stderr" >&2
		failed=1
	}
	{
		status=0
		"$fpless" report -q --format "$format" -o - "$work/big.folded" 2>"$work/stderr" || status=$?
		echo "$status" >"$work/status"
	} | head -c 1 >/dev/null
	[ "$(cat "$work/status")" = 6 ] && grep -qE '^fpless: stdout: .*Broken pipe$' "$work/stderr" || {
		echo "$format to a pipe that is closed: $(cat "$work/status" "$work/stderr")" >&2
		failed=1
	}
done

# What is counted: of pprofs alone there is a choice, and different things do not add up.
expect 0 '' report -q --sample-type samples "$work/a.folded"
expect 2 "a.folded: no sample type is called 'cpu': there are samples" report --sample-type cpu "$work/a.folded"
printf 'a 1 [000] 1.0: 500 cpu-clock: \n\t10 f (/x)\n\na 1 [000] 2.0: 700 cpu-clock: \n\t10 f (/x)\n\n' >"$work/perf"
expect 0 'fpless: 2 samples of 1 file' report "$work/perf" -o "$work/perf.pb.gz"
expect 2 "no sample type is called 'space': there are samples \(count\), cpu \(nanoseconds\)" report --sample-type space "$work/perf.pb.gz"
expect 0 'fired 1200 = shown 1200 \+ idle 0 .*: closed' report -v --sample-type cpu -o "$work/cpu.jsonl" -o "$work/cpu.txt" "$work/perf.pb.gz"
grep -q '^1.2 us of cpu$' "$work/cpu.txt" || failed=1
grep -q '"sample_type":"cpu","sample_unit":"nanoseconds"' "$work/cpu.jsonl" || failed=1
expect 1 'cpu.jsonl: counts nanoseconds of cpu, earlier files count samples' report "$work/a.folded" "$work/cpu.jsonl"

# Bad files: where, exit 2, and nothing is written.
printf 'a;f 1\na;f one\n' >"$work/bad.folded"
expect 2 'bad.folded: line 2 \(offset 6\): the count .one.' report "$work/a.folded" "$work/bad.folded" -o "$work/never.folded"
[ ! -e "$work/never.folded" ] || failed=1
head -c 50 "$work/a.jsonl" >"$work/cut.jsonl"
expect 2 'cut.jsonl: line 1 ' report "$work/cut.jsonl"
expect 2 'absent: No such file' report "$work/absent"
size=$(wc -c <"$work/a.pb.gz")
head -c $((size - 9)) "$work/a.pb.gz" >"$work/cut.pb.gz"
expect 2 '^fpless: .*cut.pb.gz: offset [0-9]+: the file ends within its gzip data$' report -o "$work/never.folded" "$work/cut.pb.gz"
{
	head -c 40 "$work/a.pb.gz"
	printf '\377\377\377\377'
	tail -c +45 "$work/a.pb.gz"
} >"$work/corrupt.pb.gz"
expect 2 'corrupt.pb.gz: .*offset [0-9]+' report -o "$work/never.folded" "$work/corrupt.pb.gz"
gzip -dc "$work/a.pb.gz" | head -c 60 >"$work/cut.pb"
expect 2 'cut.pb: ' report -o "$work/never.folded" "$work/cut.pb"
expect 6 '^fpless: .*/none/x.folded: No such file' report -o "$work/none/x.folded" "$work/a.folded"
expect 6 '^fpless: .*: Is a directory' report --format folded -o "$work" "$work/a.folded"
expect 0 'no file of 0$' report -f --symfs "$work/none" "$work/a.folded"
[ ! -e "$work/never.folded" ] || failed=1
# Text may be gzipped, from a pipe, too; a damaged one is named.
for text in "$work/a.folded" "$counts" "$work/script.txt"; do
	expect 0 '' report -q -f --origin "$text"
	mv "$work/stdout" "$work/plain"
	gzip -c "$text" >"$work/text.gz"
	expect 0 '' report -q -f --origin "$work/text.gz"
	same "$work/plain" "$work/stdout"
	"$fpless" report -q -f --origin - <"$work/text.gz" | cmp - "$work/plain" || failed=1
	# shellcheck disable=SC2002 # a pipe, which cannot be read again from its beginning
	cat "$work/text.gz" | "$fpless" report -q -f --origin - | cmp - "$work/plain" || failed=1
done
head -c 900 /dev/urandom | od -An -tx1 | tr -d ' ' | sed 's/$/ 1/' | gzip >"$work/random.gz"
head -c 500 "$work/random.gz" >"$work/cut.gz"
expect 2 'cut.gz: ' report -f "$work/cut.gz"
yes 'a;b 1' | head -c 2000000 | gzip >"$work/large.gz"
expect 2 'large.gz: more than --memory' report --memory 1M "$work/large.gz"
gzip -c "$work/text.gz" >"$work/twice.gz"
expect 2 'twice.gz: ' report "$work/twice.gz"

# What is not read is told by its name, and what to do instead.
printf 'PERFILE2abc' >"$work/perf.data"
expect 2 'perf.data: a perf.data: what .perf script. prints' report "$work/perf.data"
# Whole, it is read as what perf script prints of it, by every verb that reads recordings. No perf: the package is named.
mkdir "$work/bin"
cat >"$work/bin/perf" <<'end'
#!/bin/sh
printf 'a b 1/2 1.5: 500000000 cpu-clock: \n\t10 f+0x1 (/x)\n\nc 3/3 2.0: 500000000 cpu-clock: \n\t10 g+0x1 (/x)\n\n'
end
chmod 755 "$work" "$work/bin" "$work/bin/perf"
printf 'PERFILE2\150\0\0\0\0\0\0\0' >"$work/whole.data"
printf 'PERFILE2\020\0\0\0\0\0\0\0' >"$work/stream.data"
path=$PATH
PATH=$work/bin:$path
for data in whole stream; do
	expect 0 '^fpless: 2 samples of 1 file, 0.5 s$' report -f "$work/$data.data"
	says '^a b;f 1$'
	says '^c;g 1$'
	expect 0 '' script -q "$work/$data.data"
	says '^a b +1/2 .* 0.000000: cpu-clock:'
	expect 0 '1 samples? of 1 file before, 1 of 1 file after' diff --focus g "$work/$data.data" "$work/$data.data"
	cat "$work/$data.data" | "$fpless" report -q -f - >stdout || failed=1
	says '^c;g 1$'
done
PATH=$path
printf '#!/bin/sh\nPATH=/nonexistent exec "%s" "$@"\n' "$fpless" >"$work/without_perf"
chmod 755 "$work/without_perf"
with_perf=$fpless
fpless=$work/without_perf
expect 2 'whole.data: a perf.data, .* perf is not installed: sudo apt-get install linux-perf$' report "$work/whole.data"
fpless=$with_perf
for format in firefox speedscope svg; do
	"$fpless" report -q --format $format "$counts" >"$work/other"
	expect 2 'other: a .* is not read back: .jsonl and .pb.gz are' report "$work/other"
done
printf '<tag>;f 1\nPERFILE2;f 2\n' >"$work/begins.folded"
expect 0 'shown 3 ' report -v -f "$work/begins.folded"
printf "hello\n" >"$work/other"
expect 2 'neither pprof nor folded' report "$work/other"
expect 2 'big.folded: line .*--memory' report --memory 1M "$work/big.folded"

# --memory is for all of the process: what is read fits, what a writer makes of it does not.
awk 'BEGIN { for (i = 0; i < 100000; i++) printf "c;f%d;g%d 1\n", i, i }' >"$work/names.folded"
expect 0 '' report -q -f --memory 48M "$work/names.folded"
LC_ALL=C sort "$work/names.folded" | cmp - "$work/stdout" || failed=1
# no limit holds a build with sanitizers
if [ -z "${2:-}" ]; then
	# one line, and no output but those that are made before
	mkdir "$work/names"
	echo old >"$work/names/a.svg"
	expect 2 '^fpless: [^ ]*/a.svg: out of memory: more --memory$' \
		report -q -o "$work/names/a.svg" -o "$work/names/b.jsonl" --memory 52M "$work/names.folded"
	[ "$(wc -l <"$work/stderr")" = 1 ] || failed=1
	[ "$(ls -A "$work/names" | tr '\n' ' ')" = 'a.svg b.jsonl ' ] || failed=1
	[ "$(cat "$work/names/a.svg")" = old ] || failed=1
	expect 0 'shown 100000 ' report -v -f "$work/names/b.jsonl"
	# nor half of one
	expect 2 'b.jsonl: out of memory: more --memory$' report -q -o "$work/names/b.jsonl" --memory 43M "$work/names.folded"
	expect 0 'shown 100000 ' report -v -f "$work/names/b.jsonl"
	expect 2 'out of memory.*: more --memory$' diff -q --memory 48M "$work/names.folded" "$work/names.folded"
fi
exit $failed
