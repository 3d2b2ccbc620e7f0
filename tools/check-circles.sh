#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: check-circles.sh [ROOT]
# No two modules include each other's headers: one uses the other. A module is X.c with X.h; a
# header alone is not one, but what several .c files share.
set -eu
cd "${1:-$(dirname "$0")/..}"

folders=
for folder in bpf unwind symbolize src; do
	[ -d "$folder" ] && folders="$folders $folder"
done
[ -n "$folders" ] || exit 0

# shellcheck disable=SC2086
find $folders -name '*.[ch]' | LC_ALL=C sort | perl -e '
	use strict;
	use warnings;

	# these still do
	my %known = map { $_ => 1 } ("event_options sampling_options", "read reading");
	my @paths = <STDIN>;
	chomp @paths;
	my %is_file = map { $_ => 1 } @paths;
	my %includes; # of a module, by the module whose header it is: "path:line"
	foreach my $path (@paths) {
		(my $module = $path) =~ s/\.[ch]$//;
		open(my $file, "<", $path) or die "$path: $!\n";
		while (my $line = <$file>) {
			next unless $line =~ m{^\s*#\s*include\s+"([^"]*/[^"]*)\.h"};
			my ($used) = grep { $is_file{"$_.h"} } "src/$1", $1;
			next unless $used && $used ne $module;
			$includes{$module}{$used} //= "$path:$.";
		}
	}
	my $bad = 0;
	foreach my $module (sort keys %includes) {
		next unless $is_file{"$module.c"};
		foreach my $used (sort keys %{$includes{$module}}) {
			next unless $module lt $used && $is_file{"$used.c"} && $includes{$used}{$module};
			my ($one, $other) = map { s{.*/}{}r } $module, $used;
			next if $known{"$one $other"};
			print STDERR "$includes{$module}{$used}: includes $used.h\n";
			print STDERR "$includes{$used}{$module}: includes $module.h\n";
			print STDERR "  ^ each includes the other: let one use the other\n";
			$bad = 1;
		}
	}
	exit $bad;
'
