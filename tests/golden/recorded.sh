#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: FPLESS=PROGRAM recorded.sh FORMAT counts|events: what report makes of the golden .jsonl; of a page its data.
set -eu
jsonl=$(dirname "$0")/$2.jsonl
case $1 in
chart) "$FPLESS" report -q --origin --chart --format svg -o - "$jsonl" ;;
html) "$FPLESS" report -q --origin --format html -o - "$jsonl" |
	sed -n '/id="data"/,/<\/script>/p' | sed 's/.*id="data"[^>]*>//; s/<\/script>.*//' ;;
*) "$FPLESS" report -q --origin --format "$1" -o - "$jsonl" ;;
esac
