#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: test_profile.sh FPLESS
# shellcheck disable=SC2016,SC2154
# One real run per promise: outputs that agree, streams that stay apart, exit codes.
set -eu
fpless=$(realpath "$1")
if [ "$(id -u)" != 0 ] || ! "$fpless" profile -q -f -d 0.1 -F 99 -I >/dev/null 2>&1; then
	echo "SKIP: sampling needs root, BPF and perf events"
	exit 77
fi
# shellcheck source=tests/cli/expect.sh
. "$(dirname "$0")/expect.sh"
cd "$work"
loop='$n += $_ for 1 .. 1e9'
some='do { $n += $_ for 1 .. 1e5 } while (times)[0] < 0.4' # s of CPU time, however busy the machine is

fail() {
	echo "$*" >&2
	cat "$work/stderr" >&2
	failed=1
}

# Every format of one run holds the same samples; only -o: stdout stays empty.
expect 0 'books .*: closed' profile -v -F 499 -o a.folded -o a.jsonl -o a.txt -o a.perf \
	-o a.speedscope.json -o a.firefox.json --stats a.json \
	-- perl -e "$some"
[ ! -s stdout ] || fail "stdout is not empty"
python3 - <<'PYTHON' || failed=1
import json, re, sys

stats = json.load(open("a.json"))
folded = sum(int(line.rsplit(" ", 1)[1]) for line in open("a.folded"))
lines = [json.loads(line) for line in open("a.jsonl")]
stacks = [line for line in lines if line["type"] == "stack"]
text = int(open("a.txt").readline().split()[0])
rest = [int(n) for n in re.findall(r"%  (\d+) of \d+  ", open("a.txt").read())]
books = dict(lines[-1])
firefox = json.load(open("a.firefox.json"))
speedscope = json.load(open("a.speedscope.json"))["profiles"][0]
sums = {
    "folded": folded,
    "jsonl": sum(stack["count"] for stack in stacks),
    "text": text,
    "text stacks": sum(rest),
    "perf": open("a.perf").read().count("\n\n"),
    "firefox": sum(sum(thread["samples"]["weight"]) for thread in firefox["threads"]),
    "books": books["shown"],
    "stats": stats["shown"],
}
assert sum(speedscope["weights"]) == sum(stack["weight_ns"] for stack in stacks)
assert folded > 0 and len(set(sums.values())) == 1, sums
assert lines[0]["type"] == "meta" and books.pop("type") == "books"
assert books == stats, (books, stats)
right = stats["shown"] + stats["idle"] + stats["filtered"] + sum(stats["lost"].values())
assert stats["fired"] == right, stats
assert sum(stats["stop"].values()) == stats["user_samples"], stats
assert sum(stats["frames_by_origin"].values()) == stats["frames"], stats
assert stats["frames"] == sum(s["count"] * len(s["user"]) for s in stacks), stats

# The folded lines follow from the .jsonl, but for escapes, which none of these names need.
want = {}
for stack in stacks:
    names = [f"{f['symbol']} ({f['file'].rsplit('/', 1)[-1]}:{f['line']})" if f["origin"] == "script" else
             f["symbol"] or (f"[{f['object'].rsplit('/', 1)[1]}+{f.get('start', f['vaddr'])}]" if "object" in f
                             else f"[{f['addr']}]")
             for f in reversed(stack["user"])]
    names += [f["symbol"] or f"[{f['addr']}]" for f in reversed(stack["kernel"])]
    line = ";".join([stack["comm"]] + names)
    want[line] = want.get(line, 0) + stack["count"]
got = [line.rstrip("\n").rsplit(" ", 1) for line in open("a.folded")]
assert {line: int(count) for line, count in got} == want
assert got == sorted(got, key=lambda p: (int(p[1]), p[0].encode("utf-8", "surrogateescape")))
PYTHON

# record writes all of it where nothing else is asked for, and report finds it.
expect 0 '^  wrote        fpless.jsonl.gz$' record -F 499 -- perl -e "$some"
[ ! -s stdout ] || fail "record writes to stdout"
expect 0 '' report -q -f
grep -q '^perl;.* [0-9]' stdout || fail "report does not find what record has written"
expect 0 '' script -q
grep -q '^perl  *[0-9]' stdout || fail "script does not print what record has written"
expect 0 '' report -q --chart -o record.svg
grep -q ' data-time="1"' record.svg || fail "record keeps no times"
rm fpless.jsonl.gz
expect 0 '' record -q -f -F 499 -- perl -e "$some"
if [ -e fpless.jsonl.gz ] || ! grep -q '^perl;' stdout; then fail "record -f is not profile -f"; fi

# A page of a run is served once, by a process that the run's rights and filters do not reach.
"$fpless" profile -q -F 499 --open -- perl -e "$some" >stdout 2>stderr </dev/null &
pid=$!
while kill -0 $pid 2>/dev/null && ! grep -q 'page: http' stderr; do sleep 0.05; done
address=$(sed -n 's|^fpless: page: http://\([0-9.:]*\)/\([0-9a-f]*\) for one visit, within 60 s$|\1 \2|p' stderr)
python3 - "${address% *}" "${address#* }" >page.html <<'PYTHON' || fail "--open: $address"
import sys, urllib.request
print(urllib.request.urlopen(f"http://{sys.argv[1]}/{sys.argv[2]}").read().decode())
PYTHON
status=0
wait $pid || status=$?
if [ "$status" != 0 ] || [ -s stdout ] || ! grep -q '<html' page.html; then fail "--open: status $status"; fi

# Data on stdout: the command's own stdout goes to stderr.
expect 0 '^said by the command$' profile -q -f -F 999 -- \
	perl -e 'print "said by the command\n"; $n += $_ for 1 .. 5e6'
if ! grep -qE '^perl;' stdout || grep -vqE ' [0-9]+$' stdout; then fail "no folded stdout"; fi
expect 0 '' profile -q -o b.folded -F 999 -- perl -e 'print "data\n"; $n += $_ for 1 .. 5e6'
[ "$(cat stdout)" = data ] || fail "the command's stdout was taken"

# The command runs as it does without fpless: no signal ignored or blocked.
"$fpless" profile -q -o b.folded -- grep -E 'Sig(Ign|Blk)' /proc/self/status >with 2>stderr || :
grep -E 'Sig(Ign|Blk)' /proc/self/status >without
cmp with without || fail "the command was given other signals"

# Only stacks with a function, or without: the others are filtered, and the books close.
expect 0 'books .*: closed' profile -v -F 999 --focus '^Perl_pp_' --ignore '^Perl_pp_add$' -o focus.folded \
	--stats focus.json -- perl -e "$some"
if ! grep -q ';Perl_pp_' focus.folded || grep -vq ';Perl_pp_' focus.folded || grep -q ';Perl_pp_add' focus.folded; then
	fail "--focus and --ignore show other stacks: $(head -3 focus.folded)"
fi
python3 - <<'PYTHON' || fail "--focus: the books do not close"
import json
stats = json.load(open("focus.json"))
shown = sum(int(line.rsplit(" ", 1)[1]) for line in open("focus.folded"))
assert shown == stats["shown"] > 0 and stats["filtered"] > 0 and stats["user_samples"] == shown, stats
assert stats["fired"] == shown + stats["idle"] + stats["filtered"] + sum(stats["lost"].values()), stats
PYTHON
expect 3 'no samples: --focus and --ignore exclude them all' profile -q -f --focus 'no such' -- perl -e "$some"
expect 0 'books .*: closed' top -v --plain --view stacks -F 999 --focus '^Perl_pp_' --ignore '^Perl_pp_add$' -- perl -e "$some"
if ! grep -q ';Perl_pp_' stdout || grep '	perl	' stdout | grep -vq ';Perl_pp_' || grep -q ';Perl_pp_add' stdout; then
	fail "top --focus and --ignore show other stacks"
fi
[ "$(sed -n 's/^top .* samples=\([0-9]*\) .*/\1/p' stdout | awk '{ n += $1 } END { print n }')" = \
	"$(sed -n 's/.* = shown \([0-9]*\) .*/\1/p' stderr)" ] || fail "top --focus: blocks and books differ"
expect 0 '' top --plain -q -F 999 --min-share 20 -- perl -e "$some"
if ! awk -F '\t' '/%/ { next } NF > 4 { nr++; if ($2 < 20) bad = 1 } END { exit bad || !nr }' stdout; then
	fail "top --min-share 20 shows rows of less"
fi

# User and kernel only.
expect 0 '' profile -q -U -o u.jsonl -F 499 -- perl -e "$some"
if grep -q '"kernel":\[{' u.jsonl; then fail "-U shows kernel frames"; fi
grep -q '"command":"perl -e ' u.jsonl || fail "the COMMAND is not kept"
expect 0 '' profile -q -K -o k.jsonl -F 999 -- dd if=/dev/zero of=/dev/null bs=1M count=4000
if grep -q '"user":\[{' k.jsonl; then fail "-K shows user frames"; fi

# By mode, as perf's :u and :k: a sample taken in the other mode is filtered.
busy='do { $n += $_ for 1 .. 20000; open F, "<", "/proc/self/maps"; $_ = <F> for 1 .. 50 } while (times)[0] < 0.3'
for run in u:cycles:u k:cycles:k clock:cpu-clock both:cycles:uk; do
	expect 0 '' profile -v -o e.jsonl -F 999 -e "${run#*:}" -- perl -e "$busy"
	grep -qE 'books .*: closed' stderr || fail "-e ${run#*:}: the books are open"
	mv e.jsonl "e-${run%%:*}.jsonl"
	case $(grep -c 'no cpu-cycles counter' stderr):$run in
	0:clock*|[01]:[ubk]*) ;;
	*) fail "-e ${run#*:} does not say once what is sampled" ;;
	esac
done
if grep -q '"kernel":\[{' e-u.jsonl; then fail "-e cycles:u shows kernel frames"; fi
if grep -q '"kernel":\[\]' e-k.jsonl; then fail "-e cycles:k shows samples of user mode"; fi
grep -q '"user":\[{' e-k.jsonl || fail "-e cycles:k: no user frames"
for mode in clock both; do
	for want in '"kernel":\[{' '"kernel":\[\]'; do
		grep -q "$want" "e-$mode.jsonl" || fail "e-$mode: no $want"
	done
done

# A period, to the nanosecond; and the highest frequency, said aloud.
expect 0 '' profile -q -o c.jsonl -c 1000003 -- perl -e "$some"
if ! grep -q '"event":"cpu-clock".*"period_ns":1000003,' c.jsonl ||
	! grep -q '"count":3,"weight_ns":3000009,\|"count":1,"weight_ns":1000003,' c.jsonl; then
	fail "-c 1000003: $(head -3 c.jsonl)"
fi
expect 0 '^fpless: -F max: [0-9]+ Hz at first, up to the [0-9]+ Hz that the kernel allows if they cost less than 10 % ' \
	profile -F max -f -- perl -e "$some"
expect 0 '-F max: [0-9]+ Hz.* less than 3 % ' profile -F max --max-overhead 3 -f -- perl -e "$some"

# Targets that are not there; a command's end and its own status.
expect 3 'exists|No such process' profile -p 4194303 1
expect 3 '/nowhere/command: No such file' profile 1 -- /nowhere/command
expect 3 'nosuchcommand: No such file or directory: no folder of .PATH has it' profile 1 -- nosuchcommand
expect 3 '/etc/passwd: Permission denied: it is no program' profile 1 -- /etc/passwd
expect 3 'no samples' profile -q -F 1 1 -- true
expect 0 'perl: ended by signal 15 with the run: --keep-running lets it go on$' profile -q -f -F 4999 -d 1 -- perl -e "$loop"

# The exit status is the command's where fpless has nothing to say, as perf's is.
work_a_bit='$n += $_ for 1 .. 3e6;'
for run in 'exit 7:7' 'exit 0:0' 'kill 9, $$:137' 'kill "SEGV", $$:139'; do
	expect "${run#*:}" '' profile -q -f -F 999 -- perl -e "$work_a_bit ${run%:*}"
	expect "${run#*:}" '' top --plain -q -F 999 -- perl -e "$work_a_bit ${run%:*}"
	expect "${run#*:}" '' profile -q -f -I -F 999 -a -- perl -e "$work_a_bit ${run%:*}"
done
expect 3 'no samples' profile -q -f -F 1 -- sh -c 'exit 7'
status=0
"$fpless" profile -q -f -F 999 -- perl -e "$work_a_bit exit 7" >/dev/full 2>stderr || status=$?
[ "$status" = 6 ] || fail "/dev/full and a command that fails: status $status"

# One that is to go on does, and fpless has ended.
expect 0 'perl: goes on as process [0-9]+$' profile -q -F 4999 -d 1 --keep-running -o keep.folded -- perl -e "$loop"
pid=$(sed -n 's/.*goes on as process //p' stderr)
if [ "$(cat "/proc/$pid/comm")" != perl ]; then fail "--keep-running: the command has ended"; fi
kill "$pid"
expect 5 '' profile -q -f -F 999 -d 60 --keep-running -- perl -e "$work_a_bit exit 5"
perl -e "$loop" &
pid=$!
expect 0 '' profile -q -f -d 1 -F 4999 -p $pid
if ! grep -q '^perl;' stdout || grep -vq '^perl;' stdout; then fail "-p $pid shows something else"; fi
# A command beside -p or -a is a stopwatch: it is not sampled, its end ends the run.
cp "$(readlink -f "$(command -v perl)")" stopwatch
watch='sub used { open F, "<", "/proc/'$pid'/stat"; (split " ", <F>)[13] }
	$end = used() + 30; do { $n += $_ for 1 .. 1e5 } while used() < $end' # ticks of CPU time of $pid
expect 0 '' profile -q -f -F 499 -p $pid ./stopwatch -e "$watch"
if ! grep -q '^perl;' stdout || grep -vq '^perl;' stdout; then fail "-p $pid COMMAND shows something else"; fi
expect 0 '' profile -q -f -F 499 -a -- ./stopwatch -e "$watch"
for name in perl stopwatch; do
	grep -q "^$name;" stdout || fail "-a COMMAND does not show $name"
done
# By name: that of the executable, or of the main thread.
./stopwatch -e '$0 = "renamed"; '"$loop" &
named=$!
while [ "$(cat /proc/$named/comm)" != renamed ]; do sleep 0.02; done
for name in stopwatch renamed; do
	expect 0 '' profile -q -f -F 4999 -d 1 -n $name
	if ! grep -q '^renamed;' stdout || grep -vq '^renamed;' stdout; then fail "-n $name shows something else"; fi
done
expect 0 '' profile -q -f -F 4999 -d 1 -n renamed -p $pid
for name in perl renamed; do
	grep -q "^$name;" stdout || fail "-n and -p do not show $name"
done
kill $pid $named
wait $pid $named 2>/dev/null || :
expect 0 '' profile -q -f -F 499 perl -e '$n += $_ for 1 .. 5e6' -- -F -d
if ! grep -q '^perl;' stdout || grep -vq '^perl;' stdout; then fail "a command without --: something else"; fi

# Ctrl-C flushes, whenever it comes; only before the first sample there is nothing to flush.
status=0
timeout --preserve-status -s INT 0.2 "$fpless" profile -q -I -F 499 -o int.folded -a 2>stderr || status=$?
if [ "$status" = 3 ]; then
	grep -q 'no samples' stderr || fail "SIGINT at the start: status 3"
elif [ "$status" != 0 ] || [ ! -s int.folded ]; then
	fail "SIGINT at the start: status $status"
fi
for when in 0.3 1 3 9 27; do
	# a shell has what it puts into the background ignore this signal
	env --default-signal=INT "$fpless" profile -q -I -F 499 -o int.folded -a 2>stderr &
	pid=$!
	while kill -0 $pid 2>/dev/null && ! grep -qs '^link_id' /proc/$pid/fdinfo/*; do sleep 0.02; done
	sleep "$when"
	status=0
	kill -INT $pid
	wait $pid || status=$?
	if [ "$status" != 3 ] || ! grep -q 'no samples' stderr; then break; fi
done
if [ "$status" != 0 ] || [ ! -s int.folded ]; then fail "SIGINT: status $status"; fi
# The terminal's goes to the command, too: how that ends does not matter then.
for when in 1 3 9 27; do
	status=0
	setsid timeout --preserve-status -s INT "$when" env --default-signal=INT \
		"$fpless" profile -q -F 499 -o int.folded -- perl -e "$loop" 2>stderr || status=$?
	if [ "$status" != 3 ] || ! grep -q 'no samples' stderr; then break; fi
done
if [ "$status" != 0 ] || [ ! -s int.folded ]; then fail "SIGINT with a command: status $status"; fi

# An output that fails costs neither the others nor the exit code.
status=0
"$fpless" profile -q -f -F 499 -o d.folded -- perl -e "$some" >/dev/full 2>stderr || status=$?
if [ "$status" != 6 ] || [ ! -s d.folded ] || ! grep -q 'stdout: No space' stderr; then
	fail "/dev/full: status $status"
fi

# What is said on a stderr that is closed ends up in no output; data for a stdout that is, is an error.
"$fpless" profile -v -f -F 499 -o closed.folded -- perl -e "$some" 2>&- >/dev/null
if ! grep -q 'perl;' closed.folded || grep -qvE '^perl;.* [0-9]+$' closed.folded; then
	fail "stderr closed: $(grep -vE '^perl;.* [0-9]+$' closed.folded | head -3)"
fi
status=0
"$fpless" profile -q -f -F 499 -- perl -e "$some" <&- >&- 2>stderr || status=$?
if [ "$status" != 6 ] || ! grep -q 'stdout: Bad file descriptor' stderr; then
	fail "stdout closed: status $status"
fi

# Without rights: one line that says what to do.
status=0
setpriv --reuid 65534 --clear-groups "$fpless" profile -e cpu-clock -q -d 0.1 2>stderr || status=$?
if [ "$status" != 2 ] || [ "$(wc -l <stderr)" != 1 ] || ! grep -q root stderr; then
	fail "without rights: status $status"
fi
if find . -name '.fpless-*' | grep . >&2; then
	fail "a temporary was left behind"
fi
exit "$failed"
