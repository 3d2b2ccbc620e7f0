#!/usr/bin/env perl
# SPDX-License-Identifier: Apache-2.0
# usage: callbacks-up.pl <LIST
# Finds callbacks that point up: a header declares a struct of function pointers, or a function that takes a pointer to a
# function, and a file of another folder fills it. As includes point down, that folder lies above. Each has to be on stdin:
#	NAME FOLDER...: REASON
# and no line may name what is not there. Runs in the root of the source.
use strict;
use warnings;

my %listed;
while (my $line = <STDIN>) {
	my ($name, $rooms) = $line =~ /^(\w+) ([^:]+): ./ or die "not NAME ROOM...: REASON: $line";
	$listed{$name}{$_} = 1 foreach split " ", $rooms;
}

my (%text, %room, %includes, %reach);
foreach my $path (split /\n/, `find bpf unwind symbolize src -name "*.[ch]" 2>/dev/null | LC_ALL=C sort`) {
	open(my $file, "<", $path) or die "$path: $!\n";
	my $text = do { local $/; <$file> };
	$includes{$path} = [$text =~ /^\s*#\s*include "([^"]+)"/mg];
	$text =~ s{("(?:\\.|[^"\\\n])*"|\x27(?:\\.|[^\x27\\\n])*\x27)|/\*.*?\*/|//[^\n]*}{defined $1 ? q("") : " "}sge;
	$text{$path} = $text;
	($room{$path}) = $path =~ m{^(src/[^/]+|[^/]+)};
}

# The headers that the file @_ includes, and those that these include.
sub reach {
	my ($path) = @_;
	return $reach{$path} if $reach{$path};
	my $headers = $reach{$path} = {};
	foreach my $header (map { ($_, "src/$_") } @{$includes{$path}}) {
		next unless exists $text{$header};
		$headers->{$header} = 1;
		$headers->{$_} = 1 foreach keys %{reach($header)};
	}
	return $headers;
}

my @headers = grep { /\.h$/ } sort keys %text;
my $parens = qr/(\((?:[^()]++|(?-1))*\))/;
my $braces = qr/(\{(?:[^{}]++|(?-1))*\})/;

# typedefs of functions, and of pointers to them
my %types;
foreach my $path (@headers) {
	$types{$1 // $2} = 1 while $text{$path} =~ /\btypedef\b[^;{}]*?\(\s*\*\s*(\w+)\s*\)\s*\(|\btypedef\b[^;{}()]*?\b(\w+)\s*\(/g;
}
my $type = join("|", sort(keys %types), "no_such_type");

# structs of callbacks, and functions that take one
my (%structs, %takers, %functions, %callbacks);
foreach my $path (@headers) {
	my $text = $text{$path};
	while ($text =~ /\bstruct\s+(\w+)\s*$braces/g) {
		my ($name, $body) = ($1, $2);
		my %members;
		$members{$1} = 1 while $body =~ /\(\s*\*\s*(?:const\s+)?(\w+)\s*\)\s*\(/g;
		$members{$1} = 1 while $body =~ /\b(?:$type)\s*(?:\*\s*)?(?:const\s+)?(\w+)\s*;/g;
		$structs{$name} = { path => $path, members => \%members } if %members;
		$callbacks{$_} = 1 foreach keys %members;
	}
	while ($text =~ /\b(\w+)\s*$parens\s*(?:$parens\s*)?[;{]/g) {
		my ($name, $arguments) = ($1, $2);
		next if $arguments =~ /^\(\s*\*/;
		$takers{$name} = $path if $arguments =~ /\(\s*\*\s*\w*\s*\)\s*\(|\b(?:$type)\b/;
	}
}
foreach my $path (sort keys %text) {
	$functions{$1} = 1 while $text{$path} =~ /^[A-Za-z_][^;={}#()]*?\b(\w+)\s*\(/mg;
}

# The struct in whose initializer position $at of $text is; "": within another initializer; undef: in none.
sub initialized {
	my ($text, $at) = @_;
	my $depth = 0;
	for (my $i = $at - 1; $i >= 0; $i--) {
		my $char = substr($text, $i, 1);
		$depth++ if $char eq "}";
		next unless $char eq "{" && $depth-- == 0;
		my $before = substr($text, $i < 200 ? 0 : $i - 200, $i < 200 ? $i : 200);
		return $1 if $before =~ /\bstruct\s+(\w+)(?:\s*\)|\s+\**\w+\s*(?:\[[^\]]*\]\s*)*=)\s*$/;
		return "" if $before =~ /(?:=|\{|,)\s*$/;
		return undef;
	}
	return undef;
}

my %found;
foreach my $path (sort keys %text) {
	my $text = $text{$path};
	my @reached = grep { reach($path)->{$structs{$_}{path}} || $structs{$_}{path} eq $path } sort keys %structs;
	my %by_member;
	foreach my $name (@reached) {
		push @{$by_member{$_}}, $name foreach keys %{$structs{$name}{members}};
	}
	my $members = join("|", sort(keys %by_member), "no_such_member");
	while ($text =~ /(?:\.|->)\s*($members)\s*=\s*&?([\w.>-]+)(?!\w*\()/g) {
		my ($member, $value, $start) = ($1, $2, $-[0]);
		next if $value eq "NULL" || $value eq "0";
		my $of = substr($text, $start, 1) eq "." && substr($text, 0, $start) =~ /[{,]\s*$/ ? initialized($text, $start) : undef;
		my @candidates = @{$by_member{$member}};
		if ($of) {
			@candidates = grep { $_ eq $of } @candidates;
		} else {
			next unless $functions{$value};
			my @named = grep { $text =~ /\bstruct\s+$_\b/ } @candidates;
			@candidates = @named if @named;
		}
		$found{$_}{$room{$path}}{$path} = 1 foreach grep { $room{$structs{$_}{path}} ne $room{$path} } @candidates;
	}
	foreach my $name (@reached) {
		next if $room{$structs{$name}{path}} eq $room{$path};
		while ($text =~ /\bstruct\s+$name(?:\s*\)|\s+\w+\s*(?:\[[^\]]*\]\s*)*=)\s*$braces/g) {
			foreach my $value ($1 =~ /[{,]\s*&?(?:[\w.>-]*[.>])?(\w+)\s*(?=[,}])/g) {
				$found{$name}{$room{$path}}{$path} = 1 if $functions{$value} || $callbacks{$value};
			}
		}
	}
	while ($text =~ /\b(\w+)\s*\(/g) {
		next unless $takers{$1} && $room{$takers{$1}} ne $room{$path};
		$found{$1}{$room{$path}}{$path} = 1;
	}
}

my $bad = 0;
foreach my $name (sort keys %found) {
	foreach my $room (sort keys %{$found{$name}}) {
		next if $listed{$name}{$room};
		my $where = $structs{$name} ? "struct $name of $structs{$name}{path}" : "$name() of $takers{$name}";
		print STDERR join("\n", sort keys %{$found{$name}{$room}}), "\n  ^ fills callbacks of $where, which lies below: list it in check-layers.sh with a reason\n";
		$bad = 1;
	}
}
foreach my $name (sort keys %listed) {
	next unless $structs{$name} || $takers{$name};
	foreach my $room (grep { !$found{$name}{$_} } sort keys %{$listed{$name}}) {
		print STDERR "callbacks of $name are listed as filled by $room, which does not\n";
		$bad = 1;
	}
}
exit $bad;
