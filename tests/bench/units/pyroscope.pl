# A server that takes what fpless push sends to Pyroscope, and says of each request its first line and its token.
use IO::Socket::INET;
$| = 1;
my $server = IO::Socket::INET->new(LocalAddr => "127.0.0.1:4040", Listen => 4, ReuseAddr => 1) or die "no socket: $!";
while (my $client = $server->accept) {
	while (my $first = <$client>) {
		my ($length, $token) = (0, "none");
		while (defined(my $line = <$client>)) {
			last if $line =~ /^\r?$/;
			$length = $1 if $line =~ /^content-length: *(\d+)/i;
			$token = $1 if $line =~ /^authorization: *(.*?)\r/i;
			print $client "HTTP/1.1 100 Continue\r\n\r\n" if $line =~ /^expect:/i;
		}
		read $client, my $body, $length;
		print "$first$token\n";
		print $client "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
	}
}
