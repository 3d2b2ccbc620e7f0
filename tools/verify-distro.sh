#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: tools/verify-distro.sh [FPLESS [FOLDER...]]: judge the tables of every ELF file of the distribution
# (/usr/bin and /usr/lib/x86_64-linux-gnu) by libdw. Exit status as `fpless verify`.
set -eu
fpless=${1:-build/release/fpless}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- /usr/bin /usr/lib/x86_64-linux-gnu
exec "$fpless" verify -t 120 "$@"
