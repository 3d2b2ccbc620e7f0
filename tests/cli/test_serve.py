#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: test_serve.py FPLESS

fpless serve: its answers are those of fpless query; whoever may not ask, or asks for too much, is refused, and the server
lives."""

import http.client
import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
import unittest

FPLESS = os.path.realpath(sys.argv[1])
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "browser"))

import dashboard  # noqa: E402
from recordings import write_store  # noqa: E402
from waiting import wait_for  # noqa: E402

ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)/#token=([0-9a-f]{64})")
TIMEOUT_S = 180  # hung, not slow
NOW = int(time.time())


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=TIMEOUT_S)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(TIMEOUT_S)
        self.sock.connect(self.path)


class Serve(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """A store of ten windows, a minute each; `hot' comes with the sixth."""
        cls.folder = tempfile.mkdtemp()
        os.chmod(cls.folder, 0o755)
        cls.store, cls.token = os.path.join(cls.folder, "store"), os.path.join(cls.folder, "token")
        write_store(cls.store, FPLESS, NOW)
        # where the user that the server becomes may execute them: the build may lie in a home that is closed to it
        bin_folder = os.path.join(cls.folder, "bin")
        os.mkdir(bin_folder, 0o755)
        cls.program = shutil.copy(FPLESS, bin_folder)
        shutil.copy(os.path.join(os.path.dirname(FPLESS), "fpless-serve"), bin_folder)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def start(self, *args, store=None, cwd=None):
        """(process, the first line that it says)."""
        process = subprocess.Popen([self.program, "serve", "--store", store or self.store, *args],  # pylint: disable=R1732
                                   stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=cwd,
                                   env={key: value for key, value in os.environ.items() if key != "JOURNAL_STREAM"})
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process, process.stderr.readline()

    def start_port(self, *args):
        process, said = self.start("--listen", "127.0.0.1:0", "--token", self.token, *args)
        found = ADDRESS.search(said)
        self.assertTrue(found, said)
        self.port, self.secret = int(found[1]), found[2]
        return process

    def get(self, path, *, method="GET", token=True, unix=None, **headers):
        """(status, headers, body)."""
        connection = UnixConnection(unix) if unix else http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_S)
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if token and not unix:
            headers.setdefault("Authorization", f"Bearer {self.secret if token is True else token}")
        try:
            connection.request(method, path, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def send(self, data):
        """What comes back for these bytes, until the server ends the connection."""
        answer = b""
        with socket.create_connection(("127.0.0.1", self.port), timeout=TIMEOUT_S) as connection:
            try:
                connection.sendall(data)
                while part := connection.recv(65536):
                    answer += part
            except (BrokenPipeError, ConnectionResetError):
                pass
        return answer

    def query(self, *args):
        done = subprocess.run([FPLESS, "query", *args, "--store", self.store], stdout=subprocess.PIPE, check=True)
        return done.stdout

    def test_answers_are_those_of_query(self):
        self.start_port()
        to, middle = f"@{NOW}", f"@{NOW - 300}"
        whole = ("--from=-1h", f"--to={to}")
        late = (f"--from={middle}", f"--to={to}")
        for path, args in (
                (f"/api/windows?from=-1h&to={to}&limit=3", ("list", "--json", *whole, "--limit=3")),
                (f"/api/top?from=-1h&to={to}&comm=app", ("top", "--json", *whole, "--comm=app")),
                (f"/api/top?from={middle}&to={to}&limit=1", ("top", "--json", *late, "--limit=1")),
                (f"/api/diff?from={middle}&to={to}&before=@{NOW - 600}..{middle}",
                 ("diff", "-q", "--json", *late, f"--before=@{NOW - 600}..{middle}")),
                (f"/api/export?format=folded&from=-1h&to={to}", ("export", "-q", *whole, "--format=folded")),
                (f"/api/export?format=pprof&from=-1h&to={to}", ("export", "-q", *whole, "--format=pprof")),
                (f"/api/export?format=speedscope&from=-1h&to={to}", ("export", "-q", *whole, "--format=speedscope")),
                (f"/api/flame?from=-1h&to={to}", ("export", "-q", *whole, "--format=html-data"))):
            with self.subTest(path=path):
                status, headers, body = self.get(path)
                self.assertEqual(status, 200, body)
                self.assertEqual(body, self.query(*args))
                self.assertEqual(headers["Cache-Control"], "no-store")
                self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
                self.assertIsNone(headers["Access-Control-Allow-Origin"])
        windows = json.loads(self.get("/api/windows?from=-1h")[2])["windows"]
        self.assertEqual(len(windows), 10)
        changes = json.loads(self.get(f"/api/diff?from={middle}&to={to}")[2])
        self.assertIn("hot", changes["headline"])

    def test_what_is_wrong_is_said(self):
        self.start_port()
        for path, status, why in (
                ("/api/top?from=x", 400, b"--from x: expected a time"),
                ("/api/top?from=now&to=-1h", 400, b"the second is not behind the first"),
                ("/api/top?from=-7d&to=-6d", 404, b"no samples"),
                ("/api/top?comm=%5B", 400, b"regular expression"),
                ("/api/export?format=folded&unit=%5B", 400, b"regular expression"),
                ("/api/top?limit=99999999999999999999", 400, b"--limit"),
                ("/api/diff?before=-1h", 400, b"expected FROM..TO"),
                ("/metrics?from=-1h", 400, b"a parameter that /metrics does not take"),
                ("/api/nothing", 404, b"nothing is here")):
            with self.subTest(path=path):
                answer = self.get(path)
                self.assertEqual(answer[0], status, answer[2])
                self.assertIn(why, answer[2])
                self.assertEqual(answer[2].count(b"\n"), 1)

    def test_hostile_requests_are_refused(self):
        server = self.start_port()
        host = f"Host: 127.0.0.1:{self.port}\r\n"
        bearer = f"Authorization: Bearer {self.secret}\r\n"
        whole = f"{host}{bearer}\r\n"
        for what, data, statuses in (
                ("rebinding", f"GET /api/top HTTP/1.1\r\nHost: evil.example:{self.port}\r\n{bearer}\r\n", (421,)),
                ("rebinding by the page", f"GET / HTTP/1.1\r\nHost: evil.example:{self.port}\r\n\r\n", (421,)),
                ("another port", f"GET /api/top HTTP/1.1\r\nHost: 127.0.0.1:1\r\n{bearer}\r\n", (421,)),
                ("two names", f"GET /api/top HTTP/1.1\r\n{host}Host: evil.example\r\n{bearer}\r\n", (421, 400)),
                ("no name", f"GET /api/top HTTP/1.1\r\n{bearer}\r\n", (421, 400)),
                ("an old request", f"GET /api/top HTTP/1.0\r\n{bearer}\r\n", (421, 400)),
                ("no token", f"GET /api/top HTTP/1.1\r\n{host}\r\n", (401,)),
                ("another token", f"GET /api/top HTTP/1.1\r\n{host}Authorization: Bearer {'0' * 64}\r\n\r\n", (401,)),
                ("a token in the address", f"GET /api/top?token={self.secret} HTTP/1.1\r\n{host}\r\n", (401,)),
                ("the token as a cookie", f"GET /api/top HTTP/1.1\r\n{host}Cookie: fpless-{self.port}={self.secret}\r\n\r\n",
                 (401,)),
                ("another site", f"GET /api/top HTTP/1.1\r\nSec-Fetch-Site: cross-site\r\n{whole}", (403,)),
                ("another origin", f"GET /api/top HTTP/1.1\r\nOrigin: http://evil.example\r\n{whole}", (403,)),
                ("asking for another origin", "OPTIONS /api/top HTTP/1.1\r\nOrigin: http://evil.example\r\n"
                 f"Access-Control-Request-Method: GET\r\n{whole}", (405,)),
                ("another method", f"POST /api/top HTTP/1.1\r\nContent-Length: 3\r\n{whole}abc", (405,)),
                ("a method of no kind", f"BREW /api/top HTTP/1.1\r\n{whole}", (405, 400)),
                ("a body", f"GET /api/top HTTP/1.1\r\nContent-Length: 3\r\n{whole}abc", (413,)),
                ("a body in chunks", f"GET /api/top HTTP/1.1\r\nTransfer-Encoding: chunked\r\n{whole}3\r\nabc\r\n0\r\n\r\n",
                 (413,)),
                ("traversal", f"GET /../../../etc/passwd HTTP/1.1\r\n{whole}", (404,)),
                ("traversal, encoded", f"GET /api/..%2f..%2fetc%2fpasswd HTTP/1.1\r\n{whole}", (404,)),
                ("another store", f"GET /api/top?store=/etc HTTP/1.1\r\n{whole}", (400,)),
                ("an option", f"GET /api/export?format=folded&-o=/tmp/x HTTP/1.1\r\n{whole}", (400,)),
                ("a format that writes", f"GET /api/export?format=html%20-o%20/tmp/x HTTP/1.1\r\n{whole}", (400,)),
                ("a byte 0", f"GET /api/top?comm=a%00b HTTP/1.1\r\n{whole}", (400,)),
                ("a line's end", f"GET /api/top?comm=a%0d%0aSet-Cookie:x HTTP/1.1\r\n{whole}", (400,)),
                ("a backwards range", f"GET /api/top?from=now&to=-1h HTTP/1.1\r\n{whole}", (400,)),
                ("a long value", f"GET /api/top?comm={'x' * 600} HTTP/1.1\r\n{whole}", (400,)),
                ("a long address", f"GET /api/top?{'&' * 5000} HTTP/1.1\r\n{whole}", (None, 414, 431)),
                ("a huge address", f"GET /{'x' * 100000} HTTP/1.1\r\n{whole}", (None, 414, 431)),
                ("a huge header", f"GET /api/top HTTP/1.1\r\nX: {'x' * 100000}\r\n{whole}", (None, 431, 413)),
                ("many headers", "GET /api/top HTTP/1.1\r\n" + "X: y\r\n" * 20000 + whole, (None, 431, 413)),
                ("no HTTP", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", (None, 400, 405, 505)),
                ("nothing", "\r\n\r\n\r\n", (None, 400, 408))):
            with self.subTest(what=what):
                answer = self.send(data.encode("latin-1"))
                found = re.match(rb"HTTP/1\.[01] (\d+)", answer)
                self.assertIn(int(found[1]) if found else None, statuses, answer[:300])
                self.assertNotIn(b"Access-Control", answer)
                self.assertNotIn(b"root:", answer)
        self.assertEqual(self.get("/api/top")[0], 200)
        self.assertIsNone(server.poll())

    def test_who_is_slow_does_not_keep_others_out(self):
        self.start_port()
        slow = [socket.create_connection(("127.0.0.1", self.port), timeout=TIMEOUT_S) for _ in range(12)]
        for connection in slow:
            self.addCleanup(connection.close)
        # a byte at a time, for ever: each is cut off
        for connection in slow[:4]:
            connection.sendall(b"GET /api/top HT")

        def drip():
            ended = 0
            for connection in slow[:4]:
                try:
                    connection.sendall(b"x")
                except (BrokenPipeError, ConnectionResetError):
                    ended += 1
            time.sleep(0.2)
            return ended == 4

        wait_for("the ends of slow requests", drip)
        # and those who say nothing
        self.assertEqual(self.get("/healthz", token=False)[0], 200)

    def test_a_browser_exchanges_the_token_for_a_cookie(self):
        self.start_port()
        status, headers, body = self.get("/", token=False)
        self.assertEqual(status, 200)
        nonce = re.search(r"script-src 'nonce-([0-9a-f]{32})'", headers["Content-Security-Policy"])[1]
        self.assertIn(f'<script nonce="{nonce}">'.encode(), body)
        self.assertNotIn(b"@NONCE@", body)
        self.assertNotEqual(self.get("/", token=False)[1]["Content-Security-Policy"], headers["Content-Security-Policy"])
        self.assertEqual(self.get("/login", token=False)[0], 401)
        status, headers, _ = self.get("/login")
        self.assertEqual(status, 204)
        cookie, *attributes = headers["Set-Cookie"].split("; ")
        self.assertEqual(sorted(attributes), ["HttpOnly", "Path=/", "SameSite=Strict"])
        self.assertNotIn(self.secret, cookie)
        self.assertEqual(self.get("/api/top", token=False, Cookie=cookie)[0], 200)
        self.assertEqual(self.get("/api/top", token=False, Cookie=cookie[:-1] + "x")[0], 401)
        # it is not worth a login
        self.assertEqual(self.get("/login", token=False, Cookie=cookie)[0], 401)
        # and none of another server, with the same token
        first = self.port
        self.start_port()
        self.assertEqual(self.get("/api/top", token=False, Cookie=cookie.replace(str(first), str(self.port)))[0], 401)
        self.assertEqual(self.get("/api/top")[0], 200)

    def test_the_token_is_its_users_alone(self):
        path = os.path.join(self.folder, "given")
        server, said = self.start("--listen", "[::1]:0", "--token", path)
        self.assertIn("http://[::1]:", said)
        with open(path, encoding="ascii") as file:
            token = file.read()
        self.assertIn(f"#token={token}", said)
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        server.terminate()
        self.assertEqual(server.wait(TIMEOUT_S), 0)
        for text, mode, why in ((token, 0o644, "others may not read"), ("abc\n", 0o600, "expected a token of 64")):
            with open(path, "w", encoding="ascii") as file:
                file.write(text)
            os.chmod(path, mode)
            server, said = self.start("--listen", "127.0.0.1:0", "--token", path)
            self.assertIn(why, said)
            self.assertEqual(server.wait(TIMEOUT_S), 2)
        os.remove(path)
        os.symlink("/etc/passwd", path)
        server, said = self.start("--listen", "127.0.0.1:0", "--token", path)
        self.assertEqual(server.wait(TIMEOUT_S), 2, said)

    def test_a_unix_socket_is_guarded_by_its_mode(self):
        path, metrics = os.path.join(self.folder, "sock"), os.path.join(self.folder, "x.prom")
        with open(metrics, "w", encoding="ascii") as file:
            file.write("fpless_windows_total 3\n")
        server, said = self.start("--socket", path, "--metrics", metrics)
        self.assertIn(path, said)
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o660)
        self.assertEqual(self.get("/api/top", unix=path)[0], 200)
        self.assertEqual(self.get("/api/top", unix=path, Sec_Fetch_Site="cross-site")[0], 403)
        status, headers, body = self.get("/metrics", unix=path)
        self.assertEqual((status, headers["Content-Type"]), (200, "text/plain; version=0.0.4; charset=utf-8"))
        self.assertIn(b"fpless_windows_total 3\n", body)
        self.assertIn(b'fpless_serve_requests_total{outcome="refused"} 1\n', body)
        self.assertEqual(dashboard.missing(dashboard.read(), body.decode(), "fpless_serve_"), [])
        # where no agent runs, the store has numbers
        os.remove(metrics)
        status, headers, body = self.get("/metrics", unix=path)
        self.assertEqual((status, headers["Content-Type"]), (200, "text/plain; version=0.0.4; charset=utf-8"))
        self.assertTrue(body.startswith(self.query("metrics").partition(b"fpless_store_bytes")[0]))
        for line in (b"fpless_store_windows 10\n", b"fpless_last_window_samples 450\n",
                     b'fpless_serve_requests_total{outcome="answered"} 3\n'):
            self.assertIn(line, body)
        names = re.findall(rb"^# TYPE (\w+)", body, re.M)
        self.assertEqual(len(names), len(set(names)))
        # there is one server, and its place is free after it, however it ends
        second, said = self.start("--socket", path)
        self.assertIn("another server listens there", said)
        self.assertEqual(second.wait(TIMEOUT_S), 2)
        server.kill()
        server.wait(TIMEOUT_S)
        third, _ = self.start("--socket", path)
        self.assertEqual(self.get("/healthz", unix=path)[2], b"ok\n")
        third.send_signal(signal.SIGINT)
        self.assertEqual(third.wait(TIMEOUT_S), 0)

    def test_a_store_below_a_closed_folder_is_served(self):
        with tempfile.TemporaryDirectory() as closed:
            inner, path = os.path.join(closed, "inner"), os.path.join(closed, "serve.sock")
            os.mkdir(inner, 0o755)
            shutil.copytree(self.store, os.path.join(inner, "store"))
            # the working directory itself may be entered: a path from there says nothing of what is above
            process, said = self.start("--socket", path, store="store", cwd=inner)
            if os.geteuid() == 0:
                self.assertIn("goes on as root, without capabilities", said)
                process.stderr.readline()
            status, _, body = self.get("/api/top?from=-1h&limit=1", unix=path)
            self.assertEqual(status, 200, body)

    def test_who_serves_has_no_rights(self):
        server = self.start_port()
        with open(f"/proc/{server.pid}/status", encoding="ascii", errors="replace") as file:
            status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
        for kind in ("CapPrm", "CapEff", "CapInh", "CapAmb"):
            self.assertEqual(int(status[kind], 16), 0, kind)
        self.assertEqual(status["NoNewPrivs"], "1")
        if os.geteuid() == 0:
            self.assertNotIn("0", status["Uid"].split("\t"))
        self.assertEqual(status["Threads"], "1")

    def test_the_dashboard_would_load(self):
        board = dashboard.read()
        self.assertEqual(dashboard.faults(board), [])
        self.assertGreater(len(board["panels"]), 10)
        # every metric in it is one that some test holds against what is exported
        for metric in dashboard.metrics_of(board):
            self.assertRegex(metric, "^fpless_(serve|push|build|windows|last|samples|lost|incomplete|store|bpf|top)_")

    def test_options_that_make_no_sense_are_refused(self):
        for args, why in ((("--listen", "0.0.0.0:80"), "not of this machine alone"), (("--listen", "[::]:80"), "not of this machine"),
                          (("--listen", "example.org:80"), "not of this machine"), (("--listen", "127.0.0.1"), "expected 127.0.0.1:PORT"),
                          (("--listen", "127.0.0.1:x"), "expected 127.0.0.1:PORT"), (("--token", "x", "--socket", "y"), "--token: of --listen"),
                          (("--socket", "x", "--listen", "127.0.0.1:0"), "excludes"), (("x",), "unexpected")):
            with self.subTest(args=args):
                done = subprocess.run([FPLESS, "serve", *args], stderr=subprocess.PIPE, text=True, check=False, timeout=TIMEOUT_S)
                self.assertEqual(done.returncode, 1)
                self.assertIn(why, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1)

    def test_without_its_package_it_says_which(self):
        alone = os.path.join(self.folder, "fpless")
        shutil.copy(FPLESS, alone)
        done = subprocess.run([alone, "serve", "--socket", "x"], stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1))
        self.assertIn("in the package fpless-agent", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
