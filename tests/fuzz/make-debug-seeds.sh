#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: tests/fuzz/make-debug-seeds.sh: write the seeds of fuzz_debug_index: the smallest libraries with an inlined
# function and lines, as gcc and clang write DWARF 3, 4 and 5.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/seed.cc" <<'END'
namespace n {
inline __attribute__((always_inline)) int leaf(int x) { asm volatile("nop"); return x + 1; }
}
__attribute__((cold)) int far(int x) { return n::leaf(x) * 3; }
int near(int x) { return x > 9 ? far(x) : n::leaf(n::leaf(x)); }
END
cd "$work"
common='-O2 -g -nostdlib -shared -fPIC -fno-asynchronous-unwind-tables -Wl,-z,noseparate-code -Wl,--build-id=none'
# shellcheck disable=SC2086
{
	for version in 3 4 5; do
		g++ $common -gdwarf-$version -o gcc$version seed.cc
		clang-16 $common -gdwarf-$version -fuse-ld=bfd -o clang$version seed.cc
	done
	g++ $common -gdwarf64 -o gcc64 seed.cc
	g++ $common -flto -o lto seed.cc
	g++ $common -gsplit-dwarf -o dwo seed.cc
	clang-16 $common -gdwarf-aranges -ffunction-sections -fuse-ld=bfd -o sections seed.cc
}
for seed in gcc3 gcc4 gcc5 gcc64 lto dwo clang3 clang4 clang5 sections; do
	strip --remove-section=.comment --keep-symbol=near --only-keep-debug -o "$seed.debug" "$seed"
	install -D -m 644 "$seed.debug" "$top/fixtures/fuzz/fuzz_debug_index/$seed"
done
