#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: vm.sh [-k 5.10|6.1|6.12|newest] [-w PATH]... [-o DIR] COMMAND...
# Run a command, such as `fpless profile`, in another kernel under qemu. --help says more.
set -eu
PYTHONDONTWRITEBYTECODE=1 exec python3 "$(dirname "$0")/../tests/vm/run.py" "$@"
