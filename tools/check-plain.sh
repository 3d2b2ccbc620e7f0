#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: check-plain.sh [ROOT]
# Comments say subject, verb, object: none begins with "Of", "Where", "What", "So many" or "So often",
# says "is none" or "are none", or speaks of somebody, nobody or strangers in place of a noun. Folders
# that still do have a ceiling below, which only sinks.
set -eu
cd "${1:-$(dirname "$0")/..}"

folders=
for folder in bpf unwind symbolize src tests fixtures; do
	[ -d "$folder" ] && folders="$folders $folder"
done
[ -n "$folders" ] || exit 0

# shellcheck disable=SC2086
find $folders -name '*.[ch]' | LC_ALL=C sort | perl -e '
	use strict;
	use warnings;

	my %ceiling = (
	);
	my %count;
	my %lines;
	while (my $path = <STDIN>) {
		chomp $path;
		my ($folder) = $path =~ m{^(src/[^/]+|[^/]+)};
		open(my $file, "<", $path) or die "$path: $!\n";
		my $text = do { local $/; <$file> };
		while ($text =~ m{("(?:\\.|[^"\\\n])*"|\x27(?:\\.|[^\x27\\\n])*\x27)|/\*(.*?)\*/}sg) {
			next unless defined $2;
			my $start = $-[2];
			(my $words = $2) =~ s/\s*\n\s*\*?\s*|\s+/ /g;
			my $hits = 0;
			$hits++ if $words =~ /^ ?(?:Of|Where|What|So many|So often)\b/;
			$hits += () = $words =~ /\b(?:is|are) none\b/g;
			$hits += () = $words =~ /\b(?:somebody|nobody|strangers?)\b/gi;
			next unless $hits;
			$count{$folder} += $hits;
			my $line = 1 + (substr($text, 0, $start) =~ tr/\n//);
			push @{$lines{$folder}}, "$path:$line:" . substr($words, 0, 80);
		}
	}
	my $bad = 0;
	foreach my $folder (sort keys %count) {
		my $most = $ceiling{$folder} // 0;
		next if $count{$folder} <= $most;
		print STDERR "$_\n" foreach @{$lines{$folder}};
		print STDERR "  ^ $folder: $count{$folder} of these, $most allowed: subject, verb, object\n";
		$bad = 1;
	}
	exit $bad;
'
