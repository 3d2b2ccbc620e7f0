#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: check-plain.sh [ROOT]
# Comments say subject, verb, object: none begins with "Of", "Where", "What", "Who", "So many" or "So often",
# says "is none" or "are none", or speaks of somebody, nobody or strangers in place of a noun.
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

	my $bad = 0;
	while (my $path = <STDIN>) {
		chomp $path;
		open(my $file, "<", $path) or die "$path: $!\n";
		my $text = do { local $/; <$file> };
		while ($text =~ m{("(?:\\.|[^"\\\n])*"|\x27(?:\\.|[^\x27\\\n])*\x27)|/\*(.*?)\*/}sg) {
			next unless defined $2;
			my $start = $-[2];
			(my $words = $2) =~ s/\s*\n\s*\*?\s*|\s+/ /g;
			next unless $words =~ /^ ?(?:Of|Where|What|Who|So many|So often)\b/ ||
				$words =~ /\b(?:is|are) none\b/ ||
				$words =~ /\b(?:somebody|nobody|strangers?)\b/i;
			my $line = 1 + (substr($text, 0, $start) =~ tr/\n//);
			print STDERR "$path:$line:" . substr($words, 0, 80) . "\n";
			$bad = 1;
		}
	}
	print STDERR "  ^ subject, verb, object\n" if $bad;
	exit $bad;
'
