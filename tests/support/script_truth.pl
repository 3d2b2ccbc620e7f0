# SPDX-License-Identifier: Apache-2.0
# A program that knows its own stack, as script_truth.py does: calls of many kinds, nested at random, end in a loop. Before the
# loop it writes its chain of caller() under a number and makes that number the name of its thread, so that each sample says
# which chain it must show.
#
#     perl script_truth.pl TRUTH SECONDS SPIN_MS SEED [KIND...]
#
# Times are CPU times. TRUTH: lines of JSON: {"n": 12, "chain": [[function, file, line], ...]}, the innermost first. The block of
# an eval is no function, and the number in "(eval 17)" is left out.
use strict;
use warnings;
use feature 'state';
no warnings qw(once recursion redefine);
use File::Spec;
use List::Util ();
use Sub::Util ();
use Time::HiRes qw(clock_gettime CLOCK_PROCESS_CPUTIME_ID);

my ($truth, $seconds, $spin_ms, $seed, @chosen) = @ARGV;
my $folder = File::Spec->rel2abs($truth) . '.d';
my $number = 0;
our $depth_of_file;
open(my $out, '>', $truth) or die "$truth: $!";
mkdir($folder);
# in a handler its own signal waits until there may be no other handler
$SIG{USR1} = sub { };
srand($seed);

sub cpu_s { return clock_gettime(CLOCK_PROCESS_CPUTIME_ID) }

sub set_name {
    my $name = "$_[0]\0";
    syscall(157, 15, $name);
    return;
}

sub chain {
    my @chain = (['main::spin', __FILE__, 0]);
    my ($file, $line);
    for (my $i = 1; my @frame = caller($i); $i++) {
        ($file, $line) = @frame[1, 2] if !defined $file;
        next if $i == 1;
        next if $frame[3] eq '(eval)' && !defined $frame[6];
        push @chain, [$frame[7] ? '(require)' : $frame[3], $file, $line];
        ($file, $line) = @frame[1, 2];
    }
    push @chain, ['(main)', $file, $line];
    for my $at (@chain) {
        $at->[1] =~ s/\(eval \d+\)/(eval)/;
        $at->[0] = '(require)' if $at->[0] eq '(eval)' && $at->[1] ne '(eval)';
    }
    return join(',', map { qq(["$_->[0]","$_->[1]",$_->[2]]) } @chain);
}

sub spin {
    local $_;
    my $mine = ++$number;
    syswrite($out, qq({"n":$mine,"chain":[) . chain() . "]}\n");
    set_name("n$mine");
    my $stop = cpu_s() + $spin_ms / 1000;
    while (cpu_s() < $stop) {
        my ($i, $sum) = (0, 0);
        while ($i < 200) { $sum += $i; $i++; }
    }
    set_name('between');
    return;
}

my @kinds;

sub go {
    my ($depth) = @_;
    if ($depth <= 0) {
        spin();
        return 0;
    }
    my $kind = $kinds[int(rand(@kinds))];
    no strict 'refs';
    &{"main::$kind"}($depth - 1);
    return 0;
}

sub write_file {
    my ($name, $text) = @_;
    open(my $file, '>', "$folder/$name") or die "$folder/$name: $!";
    print $file $text;
    close($file);
    return "$folder/$name";
}

sub kind_call { return go($_[0]) }

sub kind_ampersand {
    &go;
    return;
}

sub kind_goto { goto &go }

sub kind_method {
    my $has = Has->new($_[0]);
    $has->work;
}

sub kind_class_method { Has->of($_[0]) }

sub kind_inherited { Derived->new($_[0])->work }

sub kind_named_method {
    my $name = 'work';
    Has->new($_[0])->$name;
}

sub kind_can { Has->can('work')->(Has->new($_[0])) }

sub kind_autoload { Has->new($_[0])->is_missing }

sub kind_closure {
    my ($depth) = @_;
    my $work = sub {
        go($depth);
    };
    $work->();
}

sub kind_named_closure {
    my ($depth) = @_;
    Sub::Util::set_subname('Made::up', sub { go($depth) })->();
}

sub kind_alias {
    no strict 'refs';
    *{'Other::alias'} = \&go;
    Other::alias($_[0]);
}

sub Elsewhere::deep { go($_[0]) }

sub kind_other_package { Elsewhere::deep($_[0]) }

sub kind_lexical {
    my ($depth) = @_;
    my $self = sub {
        my ($n, $again) = @_;
        $n ? $again->($n - 1, $again) : go($depth);
    };
    $self->(3, $self);
}

sub kind_recursion { recur($_[0], 20) }

sub recur {
    my ($depth, $n) = @_;
    return recur($depth, $n - 1) if $n;
    for my $once (1) {
        go($depth);
    }
}

sub kind_eval_block {
    my ($depth) = @_;
    eval {
        go($depth);
        1;
    } or die $@;
}

sub kind_after_eval {
    my ($depth) = @_;
    eval { die "wanted\n" };
    go($depth);
}

sub kind_eval_string {
    my ($depth) = @_;
    eval "\n\ngo(\$depth); 1" or die $@;
}

sub kind_eval_sub {
    my ($depth) = @_;
    my $name = 'made_' . $number % 50;
    eval "sub $name {\n    go(\$_[0]);\n}\n$name(\$depth); 1" or die $@;
}

sub kind_eval_begin {
    our $begin = $_[0];
    eval "1;\nBEGIN { main::go(\$main::begin) }\n1" or die $@;
}

sub kind_sort_block {
    my @once = ($_[0]);
    my @sorted = sort {
        go(pop @once) if @once;
        $a <=> $b
    } 3, 1, 2;
}

sub kind_sort_sub {
    our @once = ($_[0]);
    my @sorted = sort compare 2, 1;
}

sub compare {
    our @once;
    go(pop @once) if @once;
    return $a <=> $b;
}

sub kind_sort_closure {
    my @once = ($_[0]);
    my $by = sub { go(pop @once) if @once; $a <=> $b };
    my @sorted = sort $by 2, 1;
}

sub kind_map {
    my @all = map { go($_) } $_[0];
}

sub kind_grep {
    my @all = grep { go($_) } $_[0];
}

sub kind_first {
    my $found = List::Util::first { go($_); 1 } $_[0];
}

sub kind_reduce {
    my $sum = List::Util::reduce { go($b); $a } 1, $_[0];
}

sub kind_tie_scalar {
    tie my $tied, 'Tied', $_[0];
    my $value = $tied;
}

sub kind_tie_store {
    tie my $tied, 'Tied', $_[0];
    $tied = 1;
}

sub kind_tie_array {
    tie my @tied, 'Tied', $_[0];
    my $value = $tied[3];
}

sub kind_tie_hash {
    tie my %tied, 'Tied', $_[0];
    my $value = $tied{x};
}

sub kind_tie_handle {
    tie *TIED, 'Tied', $_[0];
    print TIED 'x';
    untie *TIED;
}

sub kind_overload_plus { my $sum = Has->new($_[0]) + 1 }

sub kind_overload_string { my $text = 'x' . Has->new($_[0]) }

sub kind_overload_bool { return 1 if Has->new($_[0]) }

sub kind_overload_compare {
    my @sorted = sort { $a <=> $b } Has->new($_[0]), Has->new(undef);
}

sub kind_overload_code { Has->new($_[0])->(1) }

sub kind_destroy {
    my $gone = Gone->new($_[0]);
    undef $gone;
}

sub kind_destroy_of_scope {
    { my $gone = Gone->new($_[0]); }
    return;
}

sub kind_die_hook {
    my ($depth) = @_;
    local $SIG{__DIE__} = sub { go($depth) };
    eval { die "wanted\n" };
}

sub kind_warn_hook {
    my ($depth) = @_;
    local $SIG{__WARN__} = sub {
        go($depth);
    };
    warn "wanted\n";
}

sub kind_signal {
    my ($depth) = @_;
    local $SIG{USR1} = sub { go($depth) };
    kill 'USR1', $$;
    my $wait = 1;
    $wait++ while $wait < 10;
}

sub kind_require {
    $depth_of_file = $_[0];
    my $path = write_file('required' . ++$main::files % 20 . '.pm', "package Required;\n\nmain::go(\$main::depth_of_file);\n1;\n");
    delete $INC{$path};
    require $path;
}

sub kind_do_file {
    $depth_of_file = $_[0];
    do(write_file('done.pl', "# a comment\nmain::go(\$main::depth_of_file);\n"));
}

sub kind_substitute {
    my ($depth) = @_;
    (my $text = 'x') =~ s/x/go($depth)/e;
}

sub with_block(&@) { return $_[0]->(@_) }

sub kind_block_argument {
    my ($depth) = @_;
    with_block { go($depth) } 1;
}

sub kind_local {
    local $main::depth_of_file = 1;
    go($_[0]);
}

sub kind_loops {
    my ($depth) = @_;
    for my $i (1 .. 2) {
        next if $i == 1;
        while (1) {
            {
                go($depth);
            }
            last;
        }
    }
}

sub kind_argument { with_list(go($_[0]), 1) }

sub with_list { return scalar @_ }

sub kind_wantarray { my @list = go($_[0]) }

sub kind_state {
    state $count = 0;
    $count++;
    go($_[0]);
}

package Has;
use overload
    '+'   => sub { main::go($_[0]{depth}); 1 },
    '""'  => sub { main::go($_[0]{depth}); 'text' },
    'bool' => \&truth,
    '<=>' => sub { main::go($_[0]{depth} // $_[1]{depth}); 0 },
    '&{}' => sub { my ($self) = @_; sub { main::go($self->{depth}) } };
our $AUTOLOAD;

sub new { my ($class, $depth) = @_; return bless { depth => $depth }, $class }
sub of { my ($class, $depth) = @_; $class->new($depth)->work }
sub work { my ($self) = @_; main::go($self->{depth}) }
sub truth { main::go($_[0]{depth}); return 1 }

sub AUTOLOAD {
    my ($self) = @_;
    main::go($self->{depth});
}
sub DESTROY { }

package Derived;
our @ISA = ('Has');
sub work { my $self = shift; $self->SUPER::work(@_) }

package Gone;
sub new { my ($class, $depth) = @_; return bless [$depth], $class }

sub DESTROY {
    local $@;
    main::go($_[0][0]);
}

package Tied;
sub TIESCALAR { my ($class, $depth) = @_; return bless [$depth], $class }
sub TIEARRAY  { my ($class, $depth) = @_; return bless [$depth], $class }
sub TIEHASH   { my ($class, $depth) = @_; return bless [$depth], $class }
sub TIEHANDLE { my ($class, $depth) = @_; return bless [$depth], $class }
sub FETCHSIZE { return 4 }
sub FETCH { main::go($_[0][0]); return 1 }
sub STORE { main::go($_[0][0]); return }
sub PRINT { main::go($_[0][0]); return 1 }

package main;

@kinds = @chosen ? @chosen : sort grep { /^kind_/ && defined &{"main::$_"} } keys %main::;
go(1 + int(rand(13))) while cpu_s() < $seconds;
