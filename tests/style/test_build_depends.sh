#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: test_build_depends.sh ROOT
# debian/control builds with what tools/setup.sh installs to build with, but for what every build of
# a package has (build-essential, file) and what only fetches the source.
set -eu
cd "$1"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

sed -n '/^Build-Depends:/,/^[A-Z]/p' debian/control | sed -n 's/^ \([a-z0-9.+-]*\).*/\1/p' |
	sed 's/^pkgconf$/pkg-config/' | grep -v '^debhelper-compat$' | sort >"$work/control"
sed -n "/^build='/,/^'/p" tools/setup.sh | sed "s/^build='//; s/'\$//" | tr -s ' \t' '\n' | sed '/^$/d' |
	grep -vxE 'dpkg-dev|file|gcc|g\+\+|libc6-dev|git' | sort >"$work/setup"
if ! [ -s "$work/setup" ] || ! diff -u "$work/setup" "$work/control" >&2; then
	echo "  ^ tools/setup.sh (-) and the Build-Depends of debian/control (+)" >&2
	exit 1
fi
