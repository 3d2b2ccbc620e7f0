#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: test_options.sh FPLESS
set -eu
fpless=$1
# shellcheck source=tests/cli/expect.sh
. "$(dirname "$0")/expect.sh"

# Help and version.
expect 0 '' --help
says '^Usage: fpless VERB'
for verb in profile offcpu wall wakeup locks record top heap compare report script agent query tables verify events doctor; do
	says "^  $verb "
done
expect 0 '' --version
says '^fpless [0-9]+\.[0-9]+\.[0-9]+$'
expect 1 ''
says '^Usage: fpless VERB'
if [ -s "$work/stderr" ]; then
	echo "fpless alone says something on stderr" >&2
	failed=1
fi
refused "no verb 'frobnicate': see fpless --help" frobnicate
refused "no verb 'profil': did you mean profile. see fpless --help" profil
refused "no FUNCTION: fpless report lists the hottest" annotate
refused "no verb 'list': fpless events" list
refused "no verb 'flamegraph': fpless profile -o FILE.svg" flamegraph
refused "no verb 'dif': did you mean diff. see fpless --help" dif
refused "no verb 'tabels': see fpless --help" tabels
refused 'no verb .\\x1b' "$(printf '\033[31m')"
expect 0 '' profile --version
says '^fpless '
expect 0 '' profile --help
for option in -a -p -n -t -C -u -e -F -d -D -U -K -I -f -o --format --delimited --annotate --origin --unwind \
	--inline --no-inline --lines --no-lines --no-demangle \
	--max-depth --table-memory --stack-memory --jit-memory --ring-memory --max-processes --max-mappings --snapshot --strict --stats -q -v --call-graph -g \
	--version --help; do
	says "(^|[ ,])$option([ =,[]|\$)"
done
for option in --cgroup --comm --by; do
	says "^ +$option="
done
says 'Exit status: 0 ok'

# A verb with sources of its own does not list what it refuses.
for verb in offcpu wakeup locks wall heap; do
	expect 0 '' "$verb" --help
	says '^ .*--duration='
	if grep -qE -- '--(event|period|filter|weight|unit)=' "$work/stdout"; then
		echo "fpless $verb --help lists options that it refuses" >&2
		failed=1
	fi
done
says '--live'
expect 0 '' wall --help
says '^ .*--frequency='

# Nonsense is refused in one line that names it.
refused '-F 0: expected a frequency' profile -F 0 1
refused '-F -5: expected a frequency' profile -F -5 1
refused '-F fast: expected a frequency' profile -F fast 1
refused '-F 1e3: expected a frequency' profile -F 1e3 1
refused '-F maximum: expected a frequency from 1 to 100000 Hz, or max' profile -F maximum
refused '-c 9999: expected nanoseconds' profile -c 9999
refused '-c 1000000001: expected nanoseconds' profile -c 1000000001
refused '-F and -c exclude each other' profile -F 99 -c 1000000
refused '-c: nanoseconds of cpu-clock: cycles take -F' profile -e cycles -c 1000000
refused '-c: nanoseconds of cpu-clock: cycles take -F' profile -c 1000000 -e cpu-cycles:u
refused '-d 0: expected seconds' profile -d 0
refused 'heap: -p PID or -- COMMAND: whose memory' heap
refused 'heap: -p PID or -- COMMAND: whose memory' heap -d 1
refused '-a: heap wants -p PID or -- COMMAND' heap -a
refused '-t: heap wants -p PID or -- COMMAND' heap -t 1
refused '-e: this verb samples allocations: fpless profile takes it' heap -e cycles -- true
refused '-F: this verb samples allocations' heap -F 99 -- true
refused '-c: this verb samples allocations' heap -c 10 -- true
refused '--filter: this verb samples allocations' heap --filter 'arg0 > 1' -- true
refused '--weight: this verb samples allocations' heap --weight arg0 -- true
refused '--unit: this verb samples allocations' heap --unit bytes -- true
refused '-e, -F, -c: not with --offcpu' top --offcpu -e faults -- true
refused '-e, -F, -c: not with --offcpu' top --offcpu -F 49 -- true
refused '-m, -M, --state, --exact: of waits, which --offcpu and --wall show' top -m 5 -- true
refused '-e, -c: not with --wall' top --wall -e faults -- true
refused '-e, -c: not with --wall' top --wall -c 100000 -- true
refused '--state: not with --wall, which shows all states' top --wall --state R -- true
refused '--offcpu and --wall exclude each other' top --wall --offcpu -- true
refused '--max-overhead: not with --exact' top --wall --exact --max-overhead 1 -- true
for verb in offcpu wakeup locks; do
	refused '--max-overhead: not with --exact' "$verb" --exact --max-overhead 1 -- true
	refused '--max-overhead 0: expected a percentage' "$verb" --max-overhead 0 -- true
done
refused '--max-overhead: not with --exact' wall --max-overhead 1 --exact -- true
refused '--max-overhead: this verb samples allocations' heap --max-overhead 1 -- true
refused '--live and --allocs exclude each other' heap --live --allocs -- true
refused '--allocs and --leaks-older exclude each other' heap --allocs --leaks-older 1 -- true
refused '--leaks-older 0: expected seconds above 0' heap --leaks-older 0 -- true
refused '--sample-bytes 0: expected bytes from 1 to 1G' heap --sample-bytes 0 -- true
refused '--sample-bytes 2G: expected bytes from 1 to 1G' heap --sample-bytes 2G -- true
refused '--sample-bytes few: expected bytes from 1 to 1G' heap --sample-bytes few -- true
refused '--totals and --exact exclude each other' offcpu --totals --exact -- true
refused '--totals and --wakers exclude each other' offcpu --totals --wakers -- true
refused '--totals and -m or -M exclude each other' offcpu --totals -m 100 -- true
refused '--totals and --by syscall exclude each other' offcpu --totals --by syscall -- true
refused '--max-rate many: expected 0 to 1000000' heap --max-rate many --preload -- true
refused '--max-rate: wants --preload' heap --max-rate 100 -- true
refused '--max-live 1023: expected 1024 to 16777216' heap --max-live 1023 -- true
refused '-K: programs allocate in user code' heap -K -- true
refused '-C: allocations are sampled on all CPUs' heap -C 0 -- true
refused '-d -1: expected seconds' profile -d -1
refused '-D x: expected milliseconds' profile -D x
refused '-p 0: expected process ids' profile -p 0
refused '-p 1,,2: expected process ids' profile -p 1,,2
refused '-p self: expected process ids' profile -p self
refused '-p : expected process ids' profile -p ''
refused '-p: given twice' profile -p 1 -p 2
refused '-a excludes -p, -n and -t' profile -a -n perl
refused '-n: an empty name' profile -n ''
expect 3 '^fpless profile: -n no such name: no process has this name$' profile -n 'no such name'
expect 3 '-n no such name: no process has this name' top -p 1 -n 'no such name' 5
refused '-t 0: expected thread ids' profile -t 0
refused '-t 1,x: expected thread ids' profile -t 1,x
refused '-t: given twice' profile -t 1 -t 2
refused '-a excludes -p, -n and -t' profile -a -t 1
for list in '' , 0, -1 0-, 1-0 8192 0x1 ' 0' '0 ' 0,,1 all; do
	refused "-C $list: expected CPUs and ranges" profile -C "$list"
done
refused '-C: given twice' profile -C 0 -C 1
refused '-u no such user: no such user' profile -u 'no such user'
refused '-u -1: no such user' profile -u -1
refused '-u 4294967295: no such user' profile -u 4294967295
refused '-u 0x10: no such user' profile -u 0x10
refused '-u: given twice' profile -u 0 -u 1
refused '--cgroup: given twice' profile --cgroup a --cgroup b
refused '--cgroup: an empty path' profile --cgroup ''
for regex in '(' '[a' 'a{1'; do
	refused "--comm " profile --comm "$regex"
done
refused '--comm: given twice' profile --comm a --comm b
for verb in profile record top; do
	refused '--focus \(: ' $verb --focus '('
	refused '--ignore \[a: ' $verb --ignore '[a'
done
refused '--min-share 101: expected per cent' profile --min-share 101
refused '--min-share: needs readable text, or a picture: -o FILE.svg' profile --min-share 1 -f
refused '--min-share: needs readable text, or a picture: -o FILE.svg' report --min-share 1 -o x.jsonl x
for labels in '' , comm, ,comm comm,,pid user comm,us PID 'comm pid' com commm; do
	refused "--by $labels: expected comm, pid, tid, cpu, cgroup, state, event" profile --by "$labels"
done
refused '-e pagefaults: no such event: did you mean page-faults\?' profile -e pagefaults
refused '-e task-clock: no such event: did you mean cpu-clock\?' profile -e task-clock
refused '-e nonsense: no such event: fpless events names all' profile -e nonsense
refused '-e nmi:nmi_handler: registers may be half stored there' profile -e nmi:nmi_handler
refused '--filter: is for tracepoints and probes: cpu-clock has no fields' profile -e cpu-clock --filter x
refused '--unit: is the unit of --weight' profile -e sched:sched_switch --unit bytes
refused '--unit x: expected bytes, ns or count' profile -e sched:sched_switch --weight x --unit x
refused '-e uprobe:main: expected uprobe:FILE:FUNC\[\+OFF\]' profile -e uprobe:main
refused '-e usdt:libc.so.6:setjmp: expected usdt:FILE:PROVIDER:NAME' profile -e usdt:libc.so.6:setjmp
refused '-e uprobe:/bin/sh:main: without -p and COMMAND, every process that comes by pays some 0.6 us: say so by -a' profile -e uprobe:/bin/sh:main
refused '-e mem:0x1002:rw: the address is no multiple of 4: a shorter length is mem:ADDR/1' profile -e mem:0x1002:rw
refused '-e cpu-cycles: one clock a run: -e cpu-clock is given, too' profile -e cpu-clock -e cpu-cycles
refused '-e cpu-clock: :u and :k are for all events of a run' profile -e faults:u,cpu-clock
refused '-e cpu-cycles: :u and :k are for all events of a run' profile -e faults:k -e cycles
refused '--filter: is for tracepoints and probes: context-switches has no fields' profile -e sched:sched_switch --filter x -e cs --filter x
refused '--unit: is the unit of --weight' profile -e a:b --weight x -e c:d --unit bytes
refused '-c 0: expected 1 to 1000000000: one in so many minor-faults is sampled' profile -c 9 -e cs -e minor-faults -c 0
refused '-e xq:qv: at most 16 events a run' profile -e xa:av,xb:bv,xc:cv,xd:dv,xe:ev,xf:fv,xg:gv,xh:hv,xi:iv,xj:jv,xk:kv,xl:lv,xm:mv,xn:nv,xo:ov,xp:pv,xq:qv
refused '-e : no such event' profile -e faults,,cs
refused '-e cs:u: context-switches happen in the kernel only' profile -e cs:u
refused '-F: is for clocks: of page-faults, -c N samples one in N' profile -e page-faults -F 99
refused '-F: is for clocks: of page-faults, -c N samples one in N' profile -F max -e faults
refused '-c 0: expected 1 to 1000000000: one in so many minor-faults is sampled' profile -c 0 -e minor-faults
refused '-c 1000000001: expected 1 to 1000000000' top -c 1000000001 -e cpu-migrations
refused '--max-overhead: lowers the frequency of a clock: of major-faults, -c N samples one in N' record --max-overhead 1 -e major-faults
for modes in '' x ux :u; do
	refused "-e cycles:$modes: expected u or k behind the colon" profile -e cycles:$modes
done
for modes in p pp ppp P upp; do
	refused "-e cycles:$modes: precise events are not sampled: .*: use -e cycles" profile -e cycles:$modes
done
refused '-e cycle:u: no such event: did you mean cycles' profile -e cycle:u
refused '--unwind magic: expected auto, cfi or fp' profile --unwind magic
refused '--call-graph lbr: expected fp or dwarf' profile --call-graph lbr
for depth in 0 2049 1,2048 0,1 5, ,5 1,2,3; do
	refused "--max-depth $depth: expected N or N,M, from 1 to 2048 frames in all" profile --max-depth $depth
done
refused '--table-memory 12: expected bytes' profile --table-memory 12
refused '--table-memory 1T: expected bytes' profile --table-memory 1T
refused '--stack-memory 1K: expected bytes' profile --stack-memory 1K
refused '--jit-memory 1K: expected bytes' profile --jit-memory 1K
refused '--table-memory 4G: expected bytes' profile --table-memory 4G
refused '--ring-memory 4K: expected bytes' profile --ring-memory 4K
refused '--max-processes 1: expected' profile --max-processes 1
refused '--max-mappings x: expected' profile --max-mappings x
refused '--snapshot 97K: expected bytes' profile --snapshot 97K
refused '--strict=101: expected a percentage' profile --strict=101
refused '--format xml: folded, text, jsonl, perf' profile --format xml -o -
refused '--format folded and --format text: only one can go to stdout' profile --format folded --format text
refused '--format perf and --format text: only one can go' profile -o - --format folded --format perf --format text
refused '-o -: needs --format' profile -o -
refused '-o out.png: no format has this extension' profile -o out.png
refused '-o a.b/out: no format has this extension' profile -o a.b/out
refused 'only one of -f, --format, -o - and --stats - can write to stdout' profile -f -o - --format text
refused 'only one of -f, --format, -o - and --stats - can write to stdout' profile -f --format text
refused 'only one of' profile -f --stats -
refused '-a excludes -p, -n and -t' profile -a -p 1
refused 'no command behind --' profile --
refused "'0': expected seconds above 0 .a command goes behind --" profile 0
refused "'1.2.3': expected seconds above 0" profile 1.2.3
# Pids without commas, as the shell leaves those of pgrep.
refused "'30': unexpected: ids are separated by commas: -p 1,2,30$" profile -p 1 2 30
refused "'40': unexpected: ids are separated by commas: -p 1,2,30,40,50$" profile -p 1,2 30 40 50
refused "'2': unexpected: ids are separated by commas: -p 1,2$" profile -d 5 -p 1 2
refused "'9': unexpected: ids are separated by commas: -t 7,8,9$" top -t 7 8 9 perl
refused "'5': unexpected: the duration is given twice" profile -d 3 5
refused "'6': unexpected: the duration is given twice" profile 5 6
expect 1 'unrecognized option' profile --flamingo
expect 1 'requires an argument' profile -F

# compare takes what profile takes, but for what leaves nothing to compare.
expect 0 '' compare --help
for option in --out-dir --json -a -p -t -C -u --cgroup --comm --by -F -d -o -f --stats --strict --unwind; do
	says "(^|[ ,])$option([ =,[]|\$)"
done
says 'Exit status: 0 ok'
refused '-F 0: expected a frequency' compare -F 0 1
refused '--unwind fp: compare makes both walks' compare --unwind fp 1
refused '--unwind fp: compare makes both walks' compare --call-graph fp 1
refused '-K: excludes the user stacks' compare -K 1
refused '--out-dir: given twice' compare --out-dir a --out-dir b 1
refused 'only one of --json, -f, --format, -o - and --stats - can write' compare --json -f
refused 'only one of --json, -f' compare -o - --format text --json
refused 'only one of --json, -f' compare --stats - --json
expect 1 'unrecognized option' profile --json
expect 1 'requires an argument' compare --out-dir

refused '-j 0: expected a number' verify -j 0 x
refused '-t 0: expected seconds' verify -t 0 x
refused 'no FILE to judge: see --help' verify
# A file that was named and is no ELF cannot be judged; one in a folder is passed over.
expect 2 '' verify "$0"
says 'skipped: not an ELF64 x86-64 program or library'
expect 2 '' verify "$fpless" "$0"
mkdir "$work/folder"
cp "$0" "$work/folder"
expect 0 '' verify "$work/folder"
says '^total: 0 files judged'
# A timeout is seconds: a file that is judged in a blink has time enough.
expect 0 '' verify -t 60 "$fpless"

# A command begins with the first word that is neither an option nor a number: what follows is its own.
expect 6 '/nowhere/x.txt: No such file' profile -o /nowhere/x.txt perl --no-such-option
expect 6 '/nowhere/x.txt: No such file' profile 10 -o /nowhere/x.txt 7z -F fast
expect 6 '/nowhere/x.txt: No such file' compare -o /nowhere/x.txt 1.5s perl -e 1 -d x
expect 6 '/nowhere/x.txt: No such file' top -o /nowhere/x.txt -a -- sleep --no-such-option
expect 6 '/nowhere/x.txt: No such file' profile -o /nowhere/x.txt -p 1 sleep --no-such-option
refused '-F fast: expected a frequency' profile -F fast perl -F 99

# bcc's profile: a verb, and a program under three names.
expect 0 '' bcc-profile --help
mv "$work/stdout" "$work/help"
refused '-U and -K exclude each other' bcc-profile -U -K
for name in fpless-bcc-profile profile profile-bpfcc; do
	ln -s "$(realpath "$fpless")" "$work/$name"
	"$work/$name" --help | tail -n +3 >"$work/stdout"
	tail -n +3 "$work/help" | cmp - "$work/stdout" || failed=1
	status=0
	"$work/$name" -U -K 2>"$work/stderr" || status=$?
	if [ "$status" != 1 ] || ! grep -q '^[a-z-]*: -U and -K exclude' "$work/stderr"; then
		echo "$name -U -K: exit status $status" >&2
		cat "$work/stderr" >&2
		failed=1
	fi
done

# bcc's stackcount likewise: each kind of pattern, and what is not there is refused by name.
expect 0 '' bcc-stackcount --help
refused 'expected an event' bcc-stackcount
refused '-U and -K exclude each other' bcc-stackcount -U -K t:sched:sched_switch
refused '-i 5: not supported: fpless top -e' bcc-stackcount -i 5 c:malloc
refused '-r: not supported' bcc-stackcount -r '^tcp_send.*'
refused '-s: offsets are not supported' bcc-stackcount -s c:malloc
refused '-v: addresses are not supported' bcc-stackcount -v c:malloc
refused "tcp_send\*: '\*' is not supported" bcc-stackcount 'tcp_send*'
refused 'u:c:setjmp: the provider is needed: u:c:PROVIDER:setjmp: fpless events libc.so.6 names it' bcc-stackcount u:c:setjmp
refused 'x:c:malloc: expected FUNC, LIB:FUNC' bcc-stackcount x:c:malloc
refused 'a:b:c:d:e: expected FUNC, LIB:FUNC' bcc-stackcount a:b:c:d:e
refused "'c:free': unexpected: one pattern a run" bcc-stackcount c:malloc c:free
refused '-p 1,2: expected a process' bcc-stackcount -p 1,2 c:malloc
refused '-D 0: expected a number' bcc-stackcount -D 0 c:malloc
for name in fpless-bcc-stackcount stackcount stackcount-bpfcc; do
	ln -s "$(realpath "$fpless")" "$work/$name"
	status=0
	"$work/$name" -U -K c:malloc 2>"$work/stderr" || status=$?
	if [ "$status" != 1 ] || ! grep -q '^[a-z-]*: -U and -K exclude' "$work/stderr"; then
		echo "$name -U -K: exit status $status" >&2
		cat "$work/stderr" >&2
		failed=1
	fi
done

# bcc's offcputime and offwaketime: verbs, and programs under two names.
for tool in offcputime offwaketime; do
	verb=bcc-$tool
	expect 0 '' "$verb" --help
	mv "$work/stdout" "$work/help"
	refused '-U and -K exclude each other' "$verb" -U -K
	refused '-p, -t, -u and -k exclude each other' "$verb" -p 1 -k
	refused '-M: below -m: no wait is both' "$verb" -m 5 -M 4
	refused '-m 0: expected a number from 1 up' "$verb" -m 0
	refused '--state 0: not supported' "$verb" --state 0
	refused '--state S: expected a number' "$verb" --state S
	refused '--state 2147483648: expected a number' "$verb" --state 2147483648
	refused '--ebpf: not supported' "$verb" --ebpf
	refused 'the duration is given twice' "$verb" 1 2
	for name in "$tool" "$tool-bpfcc"; do
		ln -s "$(realpath "$fpless")" "$work/$name"
		"$work/$name" --help | tail -n +3 >"$work/stdout"
		tail -n +3 "$work/help" | cmp - "$work/stdout" || failed=1
	done
done

# bcc's wakeuptime likewise.
expect 0 '' bcc-wakeuptime --help
mv "$work/stdout" "$work/help"
refused '-p and -u exclude each other' bcc-wakeuptime -u -p 1
refused '-M: below -m: no wait is both' bcc-wakeuptime -m 5 -M 4
refused '-M 0: expected a number from 1 up' bcc-wakeuptime -M 0
refused '--stack-storage-size 0: expected a number from 1 up' bcc-wakeuptime --stack-storage-size 0
refused '-p x: expected numbers separated by commas' bcc-wakeuptime -p x
refused '--ebpf: not supported' bcc-wakeuptime --ebpf
refused 'the duration is given twice' bcc-wakeuptime -v 1 2
for name in wakeuptime wakeuptime-bpfcc; do
	ln -s "$(realpath "$fpless")" "$work/$name"
	"$work/$name" --help | tail -n +3 >"$work/stdout"
	tail -n +3 "$work/help" | cmp - "$work/stdout" || failed=1
done

# Events that can be sampled.
expect 0 '' events
says '^EVENT +SAMPLED HERE +WHAT$'
says '^cpu-cycles +(yes|not with these rights|not on this machine) +cycles'
says '^cpu-clock +(yes|not with these rights|not on this machine) +time'
refused "'b': one PATTERN: quote it, or the shell makes many of it" events a b
expect 0 '' events page-faults
says '^page-faults +(yes|not with these rights) +accesses'
refused "no event matches 'no-such-event'" events no-such-event

# Outputs are opened before anything is sampled, so this needs no rights.
expect 6 '/nowhere/x.jsonl: No such file' record -o /nowhere/x.jsonl -- true
mkdir "$work/empty"
(cd "$work/empty" && mkdir fpless.jsonl.gz && status=0 && { "$fpless" record -- true 2>stderr || status=$?; } &&
	[ "$status" = 6 ] && grep -q '^fpless: fpless.jsonl.gz: Is a directory' stderr) || {
	echo "fpless record does not write fpless.jsonl.gz" >&2
	cat "$work/empty/stderr" >&2
	failed=1
}
expect 6 '/nowhere/out.folded: No such file or directory: its folder has to be there' profile -o /nowhere/out.folded -- true
expect 6 '/nowhere/s.json: No such file' profile -q --stats /nowhere/s.json -o "$work/x.txt" -- true
expect 6 '/nowhere/dir: No such file' compare --out-dir /nowhere/dir -- true
expect 6 "$work/stdout: Not a directory" compare --out-dir "$work/stdout" -- true
expect 6 '/proc/self/cfi.folded: ' compare --json --out-dir /proc/self -- true
expect 6 '/nowhere/x.jsonl: No such file' compare --out-dir "$work/x.txt" -o /nowhere/x.jsonl -- true
if find "$work" -name 'x.txt' -o -name '.fpless-*' | grep . >&2; then
	echo "  ^ left behind" >&2
	failed=1
fi
# top
expect 0 '' top --help
for option in --view --sort --match --interval --window --since-start --plain --count --rows -p -F; do
	says "(^|[ ,])$option([ =,[]|\$)"
done
refused '--view x: expected functions, stacks or processes' top --view x
refused '--sort x: expected self or total' top --sort x
refused '--match \(: .' top --match '('
refused '--interval 0: expected seconds' top --interval 0
refused '--interval 0.05: expected seconds' top --interval 0.05
refused '--window -1: expected seconds' top --window -1
refused '--count 0: expected a number' top --count 0
refused '--rows 0: expected a number' top --rows 0
refused 'only one of what top shows, -f' top -f
refused 'only one of what top shows, -f' top --stats -
refused '-a excludes' top -a -p 1
# offcpu
expect 0 '' offcpu --help
for option in -m -M --min-block-time --max-block-time --state --exact --wakers -p -a -d; do
	says "(^|[ ,])$option([ =,[]|\$)"
done
refused '-e: this verb samples waits: fpless profile takes it' offcpu -e cs
refused '-e: this verb samples waits: fpless profile takes it' offcpu -e cpu-clock
refused '-c: this verb samples waits: fpless profile takes it' offcpu -c 5
refused '-F: this verb samples waits: fpless profile takes it' offcpu -F 99
refused '--filter: this verb samples waits: fpless profile takes it' offcpu --filter x
for us in '' x -1 1e3 86400000001; do
	refused "-m $us: expected microseconds, at most a day" offcpu -m "$us"
	refused "-M $us: expected microseconds, at most a day" offcpu -M "$us"
done
for state in '' s X S,X S, ,D; do
	refused "--state $state: expected S, D, T, R or all, separated by commas" offcpu --state "$state"
done
refused '-M: below -m: no wait is both' offcpu -m 20 -M 10
refused '-M: below -m: no wait is both' offcpu -M 10 -m 20
refused '--wakers: not with --timeline' offcpu --wakers --timeline -a
refused '--wakers: not with --stream' offcpu --by waker --stream -a
refused '--by syscall and --wakers exclude each other' offcpu --wakers --by syscall -a
refused '--by x: expected comm' offcpu --by x -a

# wall
refused '-e: this verb samples the time of threads: fpless profile takes it' wall -e cs
refused '-c: this verb samples the time of threads: fpless profile takes it' wall -c 5
refused '--filter: this verb samples the time of threads: fpless profile takes it' wall --filter x
refused '-F 0: expected' wall -F 0

# wakeup
expect 0 '' wakeup --help
for option in -m -M --state --exact --chain --window --max-overhead -p -t -a -d --by; do
	says "(^|[ ,])$option([ =,[]|\$)"
done
refused '-e: this verb samples wakeups: fpless profile takes it' wakeup -e cs
for chain in '' x 0 1 5; do
	refused "--chain $chain: expected a number from 2 to 4" wakeup --chain "$chain" -a
done
refused '--chain: not with --timeline' wakeup --chain 2 --timeline -a
refused '--chain: not with --stream' wakeup --chain 2 --stream -a
refused '--state R: not of wakeups' wakeup --state S,R -a
refused '--by x: expected comm' wakeup --by x -a
refused '-M: below -m: no wait is both' wakeup -m 20 -M 10

# locks
expect 0 '' locks --help
for option in -m -M --exact --window --max-overhead -p -t -a -d --by; do
	says "(^|[ ,])$option([ =,[]|\$)"
done
if grep -q -- '--state' "$work/stdout"; then
	echo "fpless locks --help lists --state" >&2
	failed=1
fi
refused '-e: this verb samples waits at locks: fpless profile takes it' locks -e cs
refused '-K: not of locks' locks -K -a
refused '--by x: expected comm' locks --by x -a
refused '-M: below -m: no wait is both' locks -m 20 -M 10
expect 1 '' locks --state S -a
exit $failed
