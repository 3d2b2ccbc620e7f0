#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: test_pictures.sh FPLESS: pictures and their options; what names hold never becomes markup.
set -eu
fpless=$1
# shellcheck source=tests/cli/expect.sh
. "$(dirname "$0")/expect.sh"

# valid FILE: XML, whatever is in it.
valid() {
	xmllint --nonet --noout "$1" || failed=1
}

# holds FILE REGEX
holds() {
	if ! grep -qE -- "$2" "$1"; then
		echo "$1 does not hold '$2'" >&2
		failed=1
	fi
}

# lacks FILE REGEX
lacks() {
	if grep -E -- "$2" "$1" >&2; then
		echo "$1 holds '$2'" >&2
		failed=1
	fi
}

cd "$work"
printf 'a;main;f 6\na;main;g_[k] 3\nb;h 1\n' >a.folded

# Options: refused in one line, and where needs a picture that they could be for.
refused '--colors rainbow: expected hot, cold, object or origin' report --colors rainbow -o x.svg a.folded
refused '--width 10: expected pixels from 100 to 100000' report --width 10 -o x.svg a.folded
refused '--height 1: expected pixels from 4 to 200' report --height 1 -o x.svg a.folded
refused '--min-width -1: expected pixels from 0' report --min-width=-1 -o x.svg a.folded
refused '--min-width nan: expected pixels from 0' report --min-width nan -o x.svg a.folded
refused '--title: needs a picture' report --title x a.folded
refused '--negate: needs a picture' report --negate a.folded
refused '--count-name: needs a picture' report --countname x a.folded

# As flamegraph.pl spells them.
expect 0 '' report -q --title T --subtitle S --count-name C --min-width 2 --colors cold --inverted -o ours.svg a.folded
expect 0 '' report -q --title T --subtitle S --countname C --minwidth 2 --colors blue --inverted --negate -o theirs.svg a.folded
cmp ours.svg theirs.svg || failed=1
expect 0 '' report -q --colors hot -o hot.svg a.folded
for colors in java js perl red orange yellow purple chain; do
	expect 0 '' report -q --colors $colors -o x.svg a.folded
	cmp hot.svg x.svg || failed=1
done
expect 0 '' report -q --colors cold -o cold.svg a.folded
for colors in aqua green mem io wakeup; do
	expect 0 '' report -q --colors $colors -o x.svg a.folded
	cmp cold.svg x.svg || failed=1
done
expect 6 'a chart needs the time of each sample' report -q --flamechart -o x.svg a.folded
refused '--chart: needs --timeline' profile --flamechart -o x.svg -- true
refused '--inverted: needs a picture' report --inverted -f a.folded
refused '--colors: needs a picture' profile --colors hot -o x.folded -- true

expect 0 '' report -q -o a.svg a.folded
valid a.svg
holds a.svg '<title>Flame graph</title>'
holds a.svg '^10 samples, 100.00 %'
holds a.svg '<title>g$'
holds a.svg 'kernel code</text>'

# Each option does what it says.
expect 0 '' report -q --format svg -o - --title 'A "<b>" title' --subtitle '' --width 700 --height 20 \
	--count-name 'CPU & seconds' --colors cold --inverted a.folded
cp stdout b.svg
valid b.svg
holds b.svg '<title>A &quot;&lt;b&gt;&quot; title</title>'
holds b.svg '^10 CPU &amp; seconds, 100.00 %'
holds b.svg 'width="700" .* viewBox="0 0 700 '
lacks b.svg 'class="subtitle"'
holds b.svg ' height="19"/>'
holds b.svg 'data-up="0"'
expect 0 '' report -q -o c.svg --reverse a.folded
holds c.svg 'Flame graph by leaf'
holds c.svg 'data-s="0 6 1"><title>f$'
expect 0 '' report -q -o d.svg --min-width 400 a.folded
holds d.svg 'Not drawn: 3 frames of less than 4 samples; 4 samples \(40.00 %\) end in them'
lacks d.svg '<title>h$'
expect 0 '' report -q -o d.svg --min-share 15 a.folded
holds d.svg 'Not drawn: 2 frames of less than 2 samples; 1 sample \(10.00 %\) end in them'
lacks d.svg '<title>h$'
holds d.svg '<title>g$'
{
	printf 'a;big 1189999\n'
	printf 'a;third 300\na;half 500\n'
} >narrow.folded
expect 0 '' report -q -o d.svg --width 1200 narrow.folded
lacks d.svg '<title>third$'
holds d.svg '<title>half$'
expect 0 '' report -q -o d.svg --width 1200 --min-width 0 narrow.folded
holds d.svg '<title>third$'
for colors in hot object origin; do
	expect 0 '' report -q -o e.svg --colors $colors a.folded
	valid e.svg
done

# Frames of who ended a wait are drawn apart, from either end: of one name with others they are other boxes.
printf 'a;main;wait;--;unlock;work;[thread b] 3\na;main;work 2\n' >waits.folded
for ends in '' --reverse; do
	expect 0 '' report -q -o w.svg $ends waits.folded
	valid w.svg
	holds w.svg '>who ended the wait<'
	for name in -- unlock work '\[thread b\]'; do
		holds w.svg "class=\"w[0-9]+\"[^>]*><title>$name\$"
	done
	for name in main wait work; do
		holds w.svg "class=\"h[0-9]+\"[^>]*><title>$name\$"
	done
done
expect 0 '' report -q -o w.svg --reverse --colors object waits.folded
lacks w.svg 'who ended the wait|class="w[0-9]'

# The heading is what was sampled, from wherever that is drawn; of two commands it is neither.
for command in 'perl -e 1' 'sh -c "x"'; do
	printf '%s\n' '{"type":"meta","format":1,"argv":["fpless","profile","--","x"]}' \
		'{"type":"stack","count":3,"weight_ns":3,"comm":"x","pid":1,"stop":"outermost","user":[],"kernel":[]}' \
		"{\"type\":\"books\",\"format\":1,\"shown\":3,\"command\":\"$(echo "$command" | sed 's/"/\\"/g')\"}" >"${command%% *}.jsonl"
done
expect 0 '' report -q -o e.svg perl.jsonl
holds e.svg '<text class="title" [^>]*>perl -e 1</text>'
expect 0 '' report -q -o e.svg --reverse sh.jsonl
holds e.svg '<title>sh -c &quot;x&quot;, by leaf</title>'
expect 0 '' report -q -o e.svg --title T sh.jsonl
holds e.svg '<title>T</title>'
expect 0 '' report -q -o e.svg sh.jsonl perl.jsonl
holds e.svg '<title>Flame graph</title>'
expect 0 '' report -q -o e.svg sh.jsonl sh.jsonl
holds e.svg '<title>sh -c &quot;x&quot;</title>'

# A chart needs times.
refused '--chart: needs --timeline' profile --chart -o x.svg -- true
expect 6 'a chart needs the time of each sample' report -q --chart -o chart.svg a.folded
[ ! -e chart.svg ] || failed=1
printf 'p <x> 7/7 [000] 1.0%s: cpu-clock:\n\t1000 <a>&" (/bin/p)\n\n' 02000 04000 06000 15000 >times.perf
expect 0 '' report -q --chart -o chart.svg times.perf
valid chart.svg
holds chart.svg '<title>Flame chart</title>'
holds chart.svg '^13\.000 ms from 0\.000000 s on, of which it ran 6\.000 ms, 4 samples'
holds chart.svg '<path d="M[0-9.]* '
holds chart.svg 'lighter: it did not run'
expect 0 '' report -q --chart --axis time -o time.svg times.perf
cmp chart.svg time.svg || failed=1
expect 0 '' report -q --chart --axis cpu -o cpu.svg times.perf
valid cpu.svg
lacks cpu.svg 'of which it ran|<path|>lighter'
holds cpu.svg 'ms from 0\.000000 s of CPU time on, 4 samples'
holds cpu.svg '[0-9] s CPU</text>'
# A thread that executes another program begins anew.
{
	printf 'p 7/7 [000] 1.0%s: cpu-clock:\n\t1000 main (/bin/p)\n\n' 02000 04000
	printf 'q 7/7 [000] 1.0%s: cpu-clock:\n\t1000 main (/bin/q)\n\n' 06000 20000
} >exec.perf
expect 0 '' report -q --chart -o chart.svg exec.perf
[ "$(grep -c '<title>main$' chart.svg)" = 2 ] || failed=1
refused '--axis wall: expected time or cpu' report --chart --axis wall -o x.svg times.perf
refused '--axis: needs --chart' report --axis cpu -o x.svg times.perf
refused '--axis: needs a picture' report --axis time times.perf

# Names are strangers': markup, quotes, escapes, bytes of no character, a megabyte.
{
	printf 'c"o<m>m&;<script>alert(1)</script>;</title><image href="x" onerror="alert(1)"/> 1\n'
	printf 'c;]]>;\\x1b[31mred\\x0aline;\\xff\\xfe\xff\xef\xbf\xbf\xe2\x80\xae 2\n'
	printf 'c;-->;&#x0;&lt;;%%s%%n;javascript:alert(1) 3\n'
	printf 'c;'
	head -c 900000 /dev/zero | tr '\0' '<'
	printf ' 4\n'
} >hostile.folded
expect 0 '' report -q -o h.svg --title '</title><script>' --subtitle "$(printf 'a\033b')" hostile.folded
valid h.svg
lacks h.svg '<script>.*alert|<image|onerror="'
[ "$(grep -c '<script' h.svg)" = 1 ] || failed=1
holds h.svg 'x1b\[31mred.x0aline'
holds h.svg '899,488 more bytes'
[ "$(wc -c <h.svg)" -lt 60000 ] || failed=1
if LC_ALL=C tr -d '\t\n' <h.svg | LC_ALL=C grep -q '[[:cntrl:]]'; then
	echo "h.svg holds control characters" >&2
	failed=1
fi

# Nothing is asked for from elsewhere, and nothing of a name could run.
lacks h.svg '[[:space:]](href|src|style|on[a-z]+)="|@import|url\(|eval\(|Function\(|innerHTML|fetch\(|XMLHttp'
[ "$(grep -oE 'https?://[^"]*' h.svg | sort -u)" = "$(printf 'http://www.w3.org/1999/xhtml\nhttp://www.w3.org/2000/svg')" ] ||
	failed=1

# Nothing and next to nothing.
: >none.folded
expect 3 'no samples in the files read' report -q -o none.svg none.folded
[ ! -e none.svg ] || valid none.svg
printf 'a 1\n' >one.folded
expect 0 '' report -q -o one.svg one.folded
valid one.svg
holds one.svg '^1 sample, 100.00 %'

exit $failed
