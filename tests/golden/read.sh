#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: read.sh FPLESS INPUT JSONL: what report reads of INPUT, a file of another tool, is JSONL.
set -eu
"$1" report -q "$2" --format jsonl -o - | diff "$3" -
