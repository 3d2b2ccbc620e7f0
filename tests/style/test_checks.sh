#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: test_checks.sh TOOLS_FOLDER
# Each check passes on a clean tree and fails on a tree with one offence.
set -eu
tools=$1
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failed=0

spdx='/* SPDX-License-Identifier: Apache-2.0 */'

# expect WHAT STATUS CHECK: run the check on the tree.
expect() {
	status=0
	sh "$tools/check-$3.sh" "$tree" >"$tree/log" 2>&1 || status=1
	if [ "$status" != "$2" ]; then
		echo "check-$3: $1: expected status $2, got $status:" >&2
		cat "$tree/log" >&2
		failed=1
	fi
}

# source_file PATH: put a C file made of stdin behind the licence line.
source_file() {
	mkdir -p "$tree/$(dirname "$1")"
	{ echo "$spdx"; cat; } >"$tree/$1"
}

body() { # N: a function with N lines
	echo 'void body(void)'
	echo '{'
	yes '	call();' | head -n "$1"
	echo '}'
}

for check in layers circles banned size format debt plain where; do
	expect "an empty tree" 0 $check
done

echo '#include "unwind/table.h"' | source_file src/profile/a.c
expect "profile may include unwind" 0 layers
echo '#include "profile/engine.h"' | source_file unwind/a.c
expect "unwind may not include profile" 1 layers
rm -r "$tree/unwind" "$tree/src"
echo '#include "symbolize/symtab.h"' | source_file unwind/a.c
expect "unwind may not include symbolize" 1 layers
rm -r "$tree/unwind"
for file in src/parse/client.c src/naming/namer.c; do
	echo '#include "symbolize/symbol_place.h"' | source_file $file
	expect "whoever asks workers knows what an answer holds" 0 layers
	echo '#include "symbolize/symtab.h"' | source_file $file
	expect "only workers read symbols" 1 layers
	rm -r "$tree/src"
done
echo '#include "symbolize/symtab.h"' | source_file src/parse/worker_names.c
expect "workers do" 0 layers
rm -r "$tree/src"
echo '#include "unwind/table.h"' | source_file bpf/a.h
expect "bpf may include bpf only" 1 layers
rm -r "$tree/bpf"

hooks() { # STRUCT FOLDER: a header of src/profile with a struct of callbacks, and a file of FOLDER that fills it
	printf 'typedef int (*told_fn)(void *ctx);\nstruct %s {\n\tvoid (*said)(void *ctx);\n\ttold_fn told;\n};\n' "$1" |
		source_file src/profile/hooks.h
	printf '#include "profile/hooks.h"\nstatic int told(void *ctx)\n{\n}\nstruct %s hooks = { .told = told };\n' "$1" |
		source_file "$2/a.c"
}
hooks hooks src/profile
expect "a folder may fill its own callbacks" 0 layers
hooks hooks src/naming
expect "a callback that points up" 1 layers
printf '#include "profile/hooks.h"\nstatic void fill(struct hooks *hooks)\n{\n\thooks->said = fill;\n}\n' |
	source_file src/naming/a.c
expect "one that is assigned" 1 layers
printf '#include "profile/hooks.h"\nstatic void said(void *ctx)\n{\n}\nstruct hooks hooks = { said, NULL };\n' |
	source_file src/naming/a.c
expect "one without its name" 1 layers
printf '#include "profile/hooks.h"\nstruct hooks hooks = { .told = NULL };\nint told(struct other *other)\n{\n\tother->told = 1;\n}\n' |
	source_file src/naming/a.c
expect "none that is filled" 0 layers
hooks engine_listener src/naming
expect "a callback listed for two folders, of which one does not fill it" 1 layers
cp "$tree/src/naming/a.c" "$tree/src/cli.c"
mkdir "$tree/src/cli"
mv "$tree/src/cli.c" "$tree/src/cli/a.c"
expect "callbacks that are listed" 0 layers
rm -r "$tree/src"
printf 'void each(int (*visit)(int id, void *ctx), void *ctx);\n' | source_file src/proc/a.h
printf '#include "proc/a.h"\nvoid all(void)\n{\n\teach(visit_one, NULL);\n}\n' | source_file src/proc/a.c
expect "a folder may call its own functions with callbacks" 0 layers
mkdir "$tree/src/profile"
cp "$tree/src/proc/a.c" "$tree/src/profile/a.c"
expect "a function that calls back into a folder above" 1 layers
rm -r "$tree/src"

echo '#include "obj/b.h"' | source_file src/obj/a.c
source_file src/obj/a.h </dev/null
echo '#include "obj/a.h"' | source_file src/obj/b.h
expect "a header that several files share" 0 circles
source_file src/obj/b.c </dev/null
expect "two modules that include each other" 1 circles
source_file src/obj/b.h </dev/null
expect "one that includes the other" 0 circles
rm -r "$tree/src"

echo 'int n = snprintf(buf, size, "x") + parse_signal(1);' | source_file src/a.c
expect "names that only end like a banned one" 0 banned
echo 'int n = sprintf(buf, "x");' | source_file src/a.c
expect "sprintf" 1 banned
echo ' * unlike sprintf() it is bounded' | source_file src/a.c
expect "a comment may name it" 0 banned
echo 'const char *made = __DATE__ " " __TIME__;' | source_file src/a.c
expect "the time of the build" 1 banned
rm -r "$tree/src"
echo 'char *text = must_strdup("x");' | source_file src/picture/a.c
expect "a picture may end the process without memory" 0 banned
echo 'char *text = must_strdup("x");' | source_file src/profile/a.c
expect "the engine may not" 1 banned
rm -r "$tree/src"
echo 'char *text = must_strdup("x");' | source_file src/naming/a.c
expect "who names frames during a run may not either" 1 banned
rm -r "$tree/src"
echo 'skip_test("not root");' | source_file tests/unit/a.c
expect "a skip that says its reason" 0 banned
echo 'skip();' | source_file tests/unit/a.c
expect "a skip without a reason" 1 banned
rm -r "$tree/tests"

body 60 | source_file src/a.c
expect "60 lines" 0 size
body 61 | source_file src/a.c
expect "61 lines" 1 size
yes '' | head -n 800 | source_file src/a.c
expect "801 lines in a file" 1 size
rm -r "$tree/src"

printf 'int a;\n' | source_file src/a.c
expect "formatted" 0 format
printf 'int a ;\n' | source_file src/a.c
expect "a blank too many" 1 format
echo 'int a;' >"$tree/src/a.c"
expect "no licence line" 1 format
rm -r "$tree/src"

printf '/* %s%s: later */\n' TO DO | source_file src/a.c
expect "a marker of unfinished work" 1 debt
rm -r "$tree/src"

echo '/* The size of a page. */' | source_file bpf/a.h
expect "subject, verb, object" 0 plain
for words in 'Of a page: its size.' 'Where a page is.' 'What a page holds.' 'Who reads it.' 'The size; 0: there is none.' \
	"Nobody's page."; do
	echo "/* $words */" | source_file bpf/a.h
	expect "$words" 1 plain
done
printf 'static const char text[] = "where there is none";\n' | source_file bpf/a.h
expect "a string is no comment" 0 plain
rm -r "$tree/bpf"

printf '## Where things happen\n\n- a row is looked up: `bpf/a.h` `lookup`\n' >"$tree/CONTRIBUTING.md"
expect "a path that does not exist" 1 where
echo 'int lookups(void);' | source_file bpf/a.h
expect "a name that is not in the file" 1 where
echo 'int lookup(void);' | source_file bpf/a.h
expect "a path with its name" 0 where
mkdir -p "$tree/tests" "$tree/cmake"
echo 'set_tests_properties(x PROPERTIES LABELS "unit;slow")' >"$tree/tests/CMakeLists.txt"
printf '\n## Labels\n\n| `unit` | x |\n' >>"$tree/CONTRIBUTING.md"
expect "a label that is not documented" 1 where
printf '| `slow` | x |\n' >>"$tree/CONTRIBUTING.md"
expect "all labels" 0 where

# quarantine STATUS TEXT: the list of tests that may fail, beside a build with one test.
mkdir "$tree/build"
echo 'add_test(unit.there true)' >"$tree/build/CTestTestfile.cmake"
quarantine() {
	printf '%b' "$2" >"$tree/tests/quarantine.txt"
	status=0
	sh "$tools/check-quarantine.sh" "$tree" "$tree/build" >"$tree/log" 2>&1 || status=1
	if [ "$status" != "$1" ]; then
		echo "check-quarantine: $2: expected status $1, got $status:" >&2
		cat "$tree/log" >&2
		failed=1
	fi
}
quarantine 0 '# a comment\n\n'
quarantine 0 'unit.there a timer of the machine fires late\n'
quarantine 1 'unit.there fails sometimes\n'
quarantine 1 'unit.gone a timer of the machine fires late\n'
quarantine 1 'unit.there a timer of the machine fires late\nunit.there a second cause of the same\n'
exit $failed
