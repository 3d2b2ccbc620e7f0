#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: names.sh FPLESS INPUT FOLDED: the folded stacks of INPUT, a file that fpless wrote, are FOLDED.
set -eu
"$1" report -q --origin -f "$2" | diff -a "$3" -
