#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: format.sh WRITE_FORMATS FORMAT KIND GOLDEN: the recording reads as the golden text does.
set -eu
"$1" "$2" "$3" | diff -au "$4" -
