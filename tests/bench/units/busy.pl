# Half a CPU at most, beside others.
while (1) {
	$n += $_ % 7 for 1 .. 2e3;
	select(undef, undef, undef, 0.01);
}
