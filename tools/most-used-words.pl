#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
# usage: most-used-words.pl FOLDER...
# Work for a profiler to look at: a few seconds of it.
use strict;
use warnings;

sub lines_of {
	my ($file) = @_;
	open my $in, '<', $file or die "$file: $!\n";
	return <$in>;
}

sub words_of {
	return grep { length } map { split /\W+/ } @_;
}

my @files = map { glob "$_/*.c $_/*/*.c" } @ARGV;
my %used;
for my $round (1 .. 3) {
	%used = ();
	$used{ lc $_ }++ for map { words_of(lines_of($_)) } @files;
}
my @most = sort { $used{$b} <=> $used{$a} || $a cmp $b } keys %used;
print join(' ', 'most used:', @most[0 .. 9]), "\n";
