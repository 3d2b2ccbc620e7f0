#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: setup.sh [build|test|bench] [--list]
# Install what is missing on Debian 12: `build` (default) is enough to build, run and pack fpless; `test`
# adds the test libraries and the tools that make the fixtures; `bench` adds the programs that the
# benchmarks sample. --list only prints the packages.
set -eu

build='
	bpftool clang-16 cmake dpkg-dev file g++ gcc git libbpf-dev libc6-dev libcap-dev libdw-dev libelf-dev libiberty-dev
	libcurl4-gnutls-dev libdeflate-dev libjson-c-dev liblzma-dev libmicrohttpd-dev libncurses-dev libprotobuf-c-dev libsqlite3-dev libzstd-dev libzydis-dev llvm-16 ninja-build
	pkg-config protobuf-c-compiler scdoc zlib1g-dev
'
test='
	bash-completion binutils ccache chromium clang-format-16 clang-tidy-16 curl debhelper elfutils erlang-base esbuild fish fuse3 groff-base
	libclang-rt-16-dev libcmocka-dev libdebuginfod1 libfuse3-dev libjemalloc2 libxml2-utils lintian linux-perf lld-16 lua5.4 luajit lz4 man-db mandoc menhir mmdebstrap
	openssl perl php8.2-cli python3 qemu-system-x86 ruby3.1 sbcl shellcheck systemd util-linux xz-utils zsh zstd
'
bench='
	coreutils dav1d ffmpeg gawk gdb golang-go
	libc6-dbg libopenblas0-pthread libstdc++6-12-dbg make nodejs openjdk-17-jdk-headless
	pari-gp postgresql python3-numpy python3.11-dbg sqlite3 valgrind-dbg
'

group=build
list=
for arg in "$@"; do
	case $arg in
	build | test | bench) group=$arg ;;
	--list) list=1 ;;
	*)
		echo "usage: setup.sh [build|test|bench] [--list]" >&2
		exit 1
		;;
	esac
done
wanted=$build
[ "$group" = build ] || wanted="$wanted $test"
[ "$group" != bench ] || wanted="$wanted $bench"
# What the HTML report is drawn with is fetched by npm, which comes with any node but Debian's.
[ "$group" = build ] || command -v npm >/dev/null || wanted="$wanted npm"
# shellcheck disable=SC2086
wanted=$(printf '%s\n' $wanted | sort -u)

if [ -n "$list" ]; then
	printf '%s\n' "$wanted"
	exit 0
fi
if ! command -v dpkg-query >/dev/null; then
	echo "setup.sh: no Debian here: please install what these packages hold:" >&2
	printf '%s\n' "$wanted" >&2
	exit 1
fi

missing=
for package in $wanted; do
	state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || :)
	[ "$state" = installed ] || missing="$missing $package"
done
if [ -z "$missing" ]; then
	echo "setup.sh: nothing to install"
	exit 0
fi
echo "setup.sh: installing:$missing"

as_root=
if [ "$(id -u)" != 0 ]; then
	if ! command -v sudo >/dev/null; then
		echo "setup.sh: run as root: apt-get install$missing" >&2
		exit 1
	fi
	as_root=sudo
fi
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get update -q
# shellcheck disable=SC2086
$as_root apt-get install -q -y --no-install-recommends $missing </dev/null
