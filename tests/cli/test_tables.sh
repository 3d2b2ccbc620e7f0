#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: test_tables.sh FPLESS
set -eu
fpless=$1
# shellcheck source=tests/cli/expect.sh
. "$(dirname "$0")/expect.sh"

refused 'expected a FILE' tables
refused 'unexpected: expected one file' tables a b
refused '--pc main: expected an address such as 0x1000' tables --pc main x
expect 2 '/nowhere/x: No such file' tables /nowhere/x
echo text >"$work/text"
expect 2 'text: ' tables "$work/text"
mkfifo "$work/fifo"
expect 2 'fifo: ' tables "$work/fifo"
expect 2 ': ' tables "$work"

# fpless itself is an ELF file with CFI. Lines are in the grammar, ascend, and no two neighbours
# are equal.
expect 0 '' tables "$fpless"
says '^rows +[1-9][0-9]* '
says '^kib_per_mib '
expect 0 '' tables --rows "$fpless"
n='[-+][0-9]+'
reg='r(ax|dx|cx|bx|si|di|bp|sp|8|9|1[0-5])'
cfa="($reg$n|\\*\\($reg$n(\\+8\\*$reg)?\\)$n|plt:[0-9]+|expr)"
r="(c$n|\\*\\($reg$n\\)|v:c$n|v:$reg$n|s|u|expr)"
line="0x[0-9a-f]+ (none|cfa=$cfa ra=($r|end) rbx=$r rbp=$r r12=$r r13=$r r14=$r r15=$r)"
if grep -vxE "$line" "$work/stdout" >&2; then
	echo "  ^ not in the grammar" >&2
	failed=1
fi
if cut -d' ' -f2- "$work/stdout" | uniq -d | grep . >&2; then
	echo "  ^ equal neighbours" >&2
	failed=1
fi
cut -d' ' -f1 "$work/stdout" | while read -r vaddr; do
	printf '%020d\n' "$vaddr"
done | sort -cu || failed=1
tail -n 1 "$work/stdout" | grep -q ' none$' || {
	echo "the last FDE has no end" >&2
	failed=1
}

# --pc answers with the row that --rows prints there.
row=$(sed -n 20p "$work/stdout")
expect 0 '' tables --pc "${row%% *}" "$fpless"
[ "$(head -n 1 "$work/stdout")" = "$row" ] || {
	echo "--pc says: $(cat "$work/stdout"); --rows: $row" >&2
	failed=1
}
expect 0 '' tables --pc 0 "$fpless"
says '^0x0 none$'

# Rows made from code, one behind the other; and code held against its CFI.
expect 0 '' tables --synth "$fpless"
says '^# [0-9]+ bytes of code without CFI, [0-9]+ \([0-9.]+ %\) with a row, [0-9]+ of them by a guess$'
if grep -vxE "0x[0-9a-f]+ 0x[0-9a-f]+ (none [a-z_]+|cfa=.* r15=.*)|# .*" "$work/stdout" >&2; then
	echo "  ^ not in the grammar" >&2
	failed=1
fi
for audit in --audit --blind; do
	expect 0 '' tables $audit "$fpless"
	says '^# agree [0-9]+, contradict 0 \(0\.0000 %\), not comparable [0-9]+$'
	# what got a row agrees, contradicts, or is said to be beyond judgement
	tr -dc '0-9 \n' <"$work/stdout" | tail -n 2 | tr -s ' \n' ' ' | {
		read -r _ rows without agree contradict _ beyond
		[ "$rows" = $((without + agree + contradict + beyond)) ]
	} || {
		echo "tables $audit does not add up: $(cat "$work/stdout")" >&2
		failed=1
	}
done
exit $failed
