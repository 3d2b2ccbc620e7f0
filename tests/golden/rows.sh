#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: rows.sh FPLESS FILE.elf FILE.rows: the rows of the file are those of the golden text.
set -eu
"$1" tables --rows "$2" | diff -u "$3" -
