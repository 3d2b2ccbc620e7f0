# SPDX-License-Identifier: Apache-2.0
"""usage: test_push.py FPLESS

fpless push: what servers are sent adds up to what the store has, with its names, through restarts of the server, lost answers
and ends of the pusher; what is no answer of theirs is not taken for one."""

import os
import re
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import time
import unittest

FPLESS = os.path.realpath(sys.argv[1])
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "browser"))

import dashboard  # noqa: E402
import pushed_store  # noqa: E402
from fake_backend import Collector, Parca, Pyroscope  # noqa: E402
from pushed_store import NAMES, SAMPLES  # noqa: E402
from recordings import Recording  # noqa: E402
from waiting import wait_for  # noqa: E402

TIMEOUT_S = 180  # hung, not slow


def make_store(store, nr, first_s):
    pushed_store.make_store(FPLESS, store, nr, first_s)


class PushCase(unittest.TestCase):
    backends = {"pyroscope": lambda: Pyroscope(FPLESS), "parca": lambda: Parca(FPLESS), "otlp": Collector}
    target = "pyroscope"

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        os.chmod(self.folder, 0o755)
        self.store, self.state = os.path.join(self.folder, "store"), os.path.join(self.folder, "state")
        self.metrics = os.path.join(self.folder, "metrics")
        os.mkdir(self.metrics)
        os.chmod(self.metrics, 0o777)
        # where the user that the pusher becomes may execute them
        bin_folder = os.path.join(self.folder, "bin")
        os.mkdir(bin_folder, 0o755)
        self.program = shutil.copy(FPLESS, bin_folder)
        shutil.copy(os.path.join(os.path.dirname(FPLESS), "fpless-push"), bin_folder)
        self.backend = self.backends[self.target]().start()
        self.addCleanup(self.backend.stop)

    def command(self, *args, url=None):
        return [self.program, "push", self.target, url or self.backend.url, "--store", self.store, "--state", self.state, *args]

    def push(self, *args, status=0, url=None):
        """What it says, once all there is was sent."""
        done = subprocess.run(self.command("--once", "--retry", "0.01", *args, url=url), stderr=subprocess.PIPE, text=True, check=False,
                              timeout=TIMEOUT_S)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr

    def start(self, *args):
        process = subprocess.Popen(self.command("--every", "0.05", "--retry", "0.01", *args),  # pylint: disable=R1732
                                   stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def check_all(self, windows, names=NAMES):  # pylint: disable=dangerous-default-value
        """Each window came whole, once, with its names."""
        self.assertEqual(sum(profile.samples for profile in self.backend.taken), windows * SAMPLES)
        by_name = {}
        for profile in self.backend.taken:
            sums = by_name.setdefault(profile.labels["service_name"], {})
            for stack, count in profile.folded().items():
                sums[stack] = sums.get(stack, 0) + count
        self.assertEqual(by_name, {name: {stack: count * windows for stack, count in stacks.items()}
                                   for name, stacks in names.items()})


class Push(PushCase):
    def test_what_is_sent_is_what_the_store_has(self):
        make_store(self.store, 3, int(time.time()) - 600)
        prom = os.path.join(self.metrics, "x.prom")
        said = self.push("--label", "zone=a b", "--label", "host=vm1", "--metrics", prom)
        self.assertIn(f"3 windows, 9 profiles with {3 * SAMPLES} samples sent", said)
        self.check_all(3)
        for profile in self.backend.taken:
            self.assertEqual((profile.labels["__name__"], profile.labels["host"], profile.labels["zone"]), ("process_cpu", "vm1", "a b"))
            self.assertEqual(profile.weight, profile.samples * 10101010)
            self.assertEqual(profile.time % 10**9, 123456789)
            # what only fpless reads would be series of labels there
            self.assertFalse([stack for stack in profile.stacks if stack.get("comm") or stack.get("cgroup")])
        with open(prom, encoding="ascii") as file:
            text = file.read()
        self.assertIn('fpless_push_profiles_total{target="pyroscope",outcome="sent"} 9\n', text)
        self.assertEqual(dashboard.missing(dashboard.read(), text, "fpless_push_"), [])
        self.assertIn(f'fpless_push_samples_total{{target="pyroscope",outcome="sent"}} {3 * SAMPLES}\n', text)
        self.assertEqual(len(set(re.findall(r"^[^#][^ ]*", text, re.M))), len(re.findall(r"^[^#][^ ]*", text, re.M)))
        # it knows how far it is: there is nothing more, and later only what is new
        self.assertIn("0 windows", self.push())
        make_store(self.store, 2, int(time.time()) - 300)
        self.assertIn("2 windows", self.push())
        self.check_all(5)

    def test_nothing_is_lost_or_doubled_by_restarts_and_lost_answers(self):
        make_store(self.store, 40, int(time.time()) - 900)
        backend = self.backend
        for _ in range(20):
            backend.answers += [backend.take_and_hang_up, None, backend.hang_up, None,
                                (503, "text/plain", b"empty ring"), None, (429, "text/plain", b"slow down"), None,
                                (422, "text/plain", b"resource_exhausted: push rate limit"), None]
        process = self.start()
        for i in range(10):
            wait_for("requests", lambda: len(backend.requests) >= 20 * (i + 1))  # pylint: disable=cell-var-from-loop
            backend.stop()
            backend.start()
        wait_for("all profiles", lambda: len(backend.taken) >= 120)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(TIMEOUT_S), 0)
        self.check_all(40)

    def test_kills_lose_and_double_nothing(self):
        make_store(self.store, 20, int(time.time()) - 900)
        for i in range(8):
            process = self.start()
            wait_for("requests", lambda: len(self.backend.requests) >= 5 * (i + 1))  # pylint: disable=cell-var-from-loop
            process.kill()
            process.wait(TIMEOUT_S)
        self.push()
        self.check_all(20)

    def test_what_is_no_answer_of_the_server_is_not_taken_for_one(self):
        make_store(self.store, 1, int(time.time()) - 600)

        def drip(handler, _body):
            handler.send_response(200)
            handler.end_headers()
            for _ in range(600):
                handler.wfile.write(b"{")
                handler.wfile.flush()
                time.sleep(0.05)

        def huge(handler, _body):
            handler.send_response(200)
            handler.send_header("Content-Type", "application/json")
            handler.end_headers()
            for _ in range(1000):
                handler.wfile.write(b"{" * 65536)

        def many_headers(handler, _body):
            handler.send_response(200)
            for i in range(3000):
                handler.send_header(f"X-{i}", "x" * 60)
            handler.end_headers()

        for what, answer, why in (("a page", (200, "text/html", b"<html></html>"), "the answer is not that of pyroscope"),
                                  ("no JSON", (200, "application/json", b"ok"), "the answer is not that of pyroscope"),
                                  ("nothing", (200, "application/json", b""), "the answer is not that of pyroscope"),
                                  ("an escape", (200, "text/\x1bhtml", b"\x1b[31m"), "?[31m"),
                                  ("not allowed", (401, "text/plain", b"who are you"), "status 401: 'who are you'"),
                                  ("elsewhere", (302, "text/plain", b""), "status 302"),
                                  ("slow", drip, "timed out"), ("huge", huge, "too long"), ("headers", many_headers, "too long")):
            with self.subTest(what=what):
                self.backend.answers[:] = [answer] * 5
                said = self.push("--timeout", "1", status=6)
                self.assertIn(why, said)
                self.assertIn("given up after 5 times", said)
                self.assertEqual(self.backend.taken, [])
        self.backend.answers.clear()
        self.push()
        self.check_all(1)

    def test_what_is_never_taken_is_counted(self):
        now = int(time.time())
        make_store(self.store, 1, now - 7200)
        make_store(self.store, 1, now - 60)
        self.backend.answers[:] = [(400, "application/json", b'{"code":"invalid_argument","message":"no"}')]
        said = self.push("--since", "-1d", status=6)
        self.assertIn("3 with 250 too_old", said)
        self.assertIn("1 with 207 refused", said)
        self.assertIn("refused: status 400", said)
        self.assertEqual(sum(profile.samples for profile in self.backend.taken), 43)
        # a server without that limit
        shutil.rmtree(self.state)
        self.push("--since", "-1d", "--max-age", "7d")
        self.check_all(2)

    def test_large_profiles_are_parted(self):
        recording = Recording(start_unix_ns=(int(time.time()) - 60) * 10**9)
        for i in range(20000):
            recording.add(1, ["main", f"function_{i}"])
        recording.write(self.store + ".jsonl")
        subprocess.run([FPLESS, "query", "import", "--store", self.store, self.store + ".jsonl"], check=True)
        self.push()
        self.assertEqual(sorted(len(profile.stacks) for profile in self.backend.taken), [4000, 16000])
        self.assertEqual(sum(profile.samples for profile in self.backend.taken), 20000)

    def test_credentials_come_from_a_file_of_ours(self):
        make_store(self.store, 1, int(time.time()) - 600)
        path = os.path.join(self.folder, "token")
        for text, mode, why in (("secret\n", 0o644, "expected a file of this user"), ("secret\n", 0o640, "expected a file of this user"),
                                ("", 0o600, "expected a line"), ("a\nb\n", 0o600, "expected a line"), ("x" * 5000, 0o600, "expected a line")):
            with self.subTest(text=text[:9], mode=mode):
                with open(path, "w", encoding="ascii") as file:
                    file.write(text)
                os.chmod(path, mode)
                done = subprocess.run(self.command("--once", "--token-file", path), stderr=subprocess.PIPE, text=True, check=False)
                self.assertIn(done.returncode, (1, 2))
                self.assertIn(why, done.stderr)
        self.assertEqual(self.backend.requests, [])
        for text, want in (("secret\n", "Bearer secret"), ("Basic dTpw", "Basic dTpw")):
            with open(path, "w", encoding="ascii") as file:
                file.write(text)
            os.chmod(path, 0o600)
            shutil.rmtree(self.state, ignore_errors=True)
            self.push("--token-file", path, "--tenant", "team a")
            self.assertEqual((self.backend.headers[-1]["Authorization"], self.backend.headers[-1]["X-Scope-OrgID"]), (want, "team a"))

    def test_certificates_are_checked(self):
        key, certificate = os.path.join(self.folder, "key"), os.path.join(self.folder, "certificate")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "2",
                        "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"], check=True, stderr=subprocess.DEVNULL)
        make_store(self.store, 1, int(time.time()) - 600)
        self.backend.stop()
        self.backend.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.backend.tls.load_cert_chain(certificate, key)
        self.backend.start()
        url = f"https://localhost:{self.backend.port}"
        self.assertIn("certificate", self.push(url=url, status=6))
        # it is of another name than that
        self.assertIn("certificate", self.push("--ca", certificate, url=f"https://127.0.0.1:{self.backend.port}", status=6))
        self.assertEqual(self.backend.requests, [])
        self.assertIn("No such file", self.push("--ca", certificate + "x", url=url, status=2))
        self.push("--ca", certificate, url=url)
        self.check_all(1)

    def test_options_that_make_no_sense_are_refused(self):
        os.mkdir(self.store)
        for args, why in ((("pyroscope",), "expected a target and its URL"), (("graphite", "http://127.0.0.1"), "'graphite': expected pyroscope, otlp or parca"),
                          (("pyroscope", "http://example.org"), "http to another machine"), (("pyroscope", "x"), "expected"),
                          (("pyroscope", "ftp://127.0.0.1"), "expected http://"),
                          (("pyroscope", "https://a:b@example.org"), "has a user in it"),
                          (("pyroscope", "http://127.0.0.1/?a=b"), "without ? and #"), (("pyroscope", "http://127.0.0.1", "x"), "unexpected"),
                          (("pyroscope", "http://127.0.0.1", "--label", "a-b=c"), "expected NAME=VALUE"),
                          (("pyroscope", "http://127.0.0.1", "--label", "a=b,c"), "expected NAME=VALUE"),
                          (("pyroscope", "http://127.0.0.1", "--label", "__name__=c"), "expected NAME=VALUE"),
                          (("pyroscope", "http://127.0.0.1", "--tenant", "a\nb"), "--tenant"),
                          (("pyroscope", "http://127.0.0.1", "--since", "x"), "expected a time"),
                          (("pyroscope", "http://127.0.0.1", "--every", "0"), "expected a time")):
            with self.subTest(args=args):
                done = subprocess.run([self.program, "push", *args, "--store", self.store, "--state", self.state], stderr=subprocess.PIPE,
                                      text=True, check=False, timeout=TIMEOUT_S)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn(why, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_one_pusher_sends_to_a_url(self):
        make_store(self.store, 1, int(time.time()) - 600)
        self.start()
        wait_for("profiles", lambda: len(self.backend.taken) == 3)
        self.assertIn("another fpless push sends there", self.push(status=2))
        # another tenant is another target
        self.push("--tenant", "b")

    def test_a_damaged_cursor_is_said(self):
        make_store(self.store, 1, int(time.time()) - 600)
        self.push()
        name = [name for name in os.listdir(self.state) if not name.endswith(".lock")]
        self.assertEqual(len(name), 1)
        with open(os.path.join(self.state, name[0]), "a", encoding="ascii") as file:
            file.write("x")
        self.assertIn("does not say how far", self.push(status=2))

    def test_who_pushes_has_no_rights(self):
        make_store(self.store, 1, int(time.time()) - 600)
        process = self.start()
        wait_for("profiles", lambda: len(self.backend.taken) == 3)
        with open(f"/proc/{process.pid}/status", encoding="ascii", errors="replace") as file:
            status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
        for kind in ("CapPrm", "CapEff", "CapInh", "CapAmb"):
            self.assertEqual(int(status[kind], 16), 0, kind)
        self.assertEqual(status["NoNewPrivs"], "1")
        if os.geteuid() == 0:
            self.assertNotIn("0", status["Uid"].split("\t"))

    def test_without_its_package_it_says_which(self):
        alone = os.path.join(self.folder, "fpless")
        shutil.copy(FPLESS, alone)
        done = subprocess.run([alone, "push", "pyroscope", "http://127.0.0.1"], stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1))
        self.assertIn("in the package fpless-agent", done.stderr)


class PushToCollector(PushCase):
    """OpenTelemetry over HTTP."""
    target = "otlp"

    def check_weights(self, windows):
        by_name = {}
        for profile in self.backend.taken:
            self.assertEqual(profile.type, ("cpu", "nanoseconds"))
            sums = by_name.setdefault(profile.labels["service.name"], {})
            for stack, weight in profile.weights.items():
                sums[stack] = sums.get(stack, 0) + weight
        self.assertEqual(by_name, {name: {stack: count * windows * 10101010 for stack, count in stacks.items()}
                                   for name, stacks in NAMES.items()})

    def test_what_is_sent_is_what_the_store_has(self):
        make_store(self.store, 3, int(time.time()) - 7200)
        self.push("--since", "-1d", "--label", "zone=a b", "--label", "host=vm1")
        self.check_weights(3)
        for profile in self.backend.taken:
            self.assertEqual({name: value for name, value in profile.labels.items() if name != "service.name"},
                             {"zone": "a b", "host.name": "vm1"})
            self.assertEqual(profile.time % 10**9, 123456789)
            self.assertIn("/usr/bin/app", profile.mappings)

    def test_failures_lose_and_double_nothing(self):
        make_store(self.store, 10, int(time.time()) - 900)
        backend = self.backend
        for _ in range(6):
            backend.answers += [backend.take_and_hang_up, None, (503, "text/plain", b"busy"), backend.hang_up,
                                (200, "application/json", b"{}"), (200, "application/x-protobuf", b"\x0a\xff"), None]
        self.push("--since", "-1d")
        self.check_weights(10)

    def test_what_a_collector_rejects_is_counted(self):
        make_store(self.store, 1, int(time.time()) - 600)
        # partial_success: one rejected, and why; then a full success that says so
        self.backend.answers[:] = [(200, "application/x-protobuf", b"\x0a\x06\x08\x01\x12\x02no"),
                                   (200, "application/x-protobuf", b"\x0a\x02\x12\x00")]
        said = self.push(status=6)
        self.assertIn("2 profiles with 43 samples sent, 1 with 207 refused", said)

    def test_large_profiles_are_parted(self):
        recording = Recording(start_unix_ns=(int(time.time()) - 60) * 10**9)
        for i in range(20000):
            recording.add(1, ["main", f"function_{i}"])
        recording.write(self.store + ".jsonl")
        subprocess.run([FPLESS, "query", "import", "--store", self.store, self.store + ".jsonl"], check=True)
        self.push()
        self.assertEqual(sorted(len(profile.weights) for profile in self.backend.taken), [4000, 16000])


class PushToParca(PushCase):
    """Parca adds up what it is sent twice."""
    target = "parca"

    def test_what_is_sent_is_what_the_store_has(self):
        make_store(self.store, 3, int(time.time()) - 600)
        self.push()
        self.check_all(3)
        self.assertEqual({profile.labels["__name__"] for profile in self.backend.taken}, {"fpless_cpu"})

    def counted(self, path):
        """{outcome: samples} of its metrics."""
        with open(path, encoding="ascii") as file:
            return {name: int(nr) for name, nr in re.findall(r'push_samples_total{.*outcome="(.*)"} (\d+)', file.read())}

    def test_nothing_is_ever_sent_twice(self):
        make_store(self.store, 20, int(time.time()) - 900)
        prom = os.path.join(self.metrics, "x.prom")
        backend, failed, lost = self.backend, [], []

        def fail(handler, body):
            failed.append(len(body))
            handler.reply(500, "text/plain", b"oh")

        def lose(handler, body):
            lost.append(len(body))
            backend.take_and_hang_up(handler, body)

        for _ in range(20):
            backend.answers += [lose, None, (429, "text/plain", b"slow down"), fail]
        self.push("--metrics", prom, status=6)
        counted = self.counted(prom)
        self.assertEqual(counted["sent"] + counted["uncertain"], 20 * SAMPLES)
        self.assertGreaterEqual((len(lost), len(failed)), (20, 20))
        self.assertEqual(len(backend.taken), 60 - len(failed))
        self.assertEqual(len({(profile.labels["service_name"], profile.time) for profile in backend.taken}), len(backend.taken))
        self.assertIn("0 windows", self.push())

    def test_a_server_that_is_away_gets_all_later(self):
        make_store(self.store, 5, int(time.time()) - 900)
        self.backend.stop()
        self.assertIn("given up", self.push(status=6))
        self.backend.start()
        self.push()
        self.check_all(5)

    def test_kills_double_nothing(self):
        make_store(self.store, 20, int(time.time()) - 900)
        for i in range(8):
            process = self.start()
            wait_for("requests", lambda: len(self.backend.requests) >= 5 * (i + 1))  # pylint: disable=cell-var-from-loop
            process.kill()
            process.wait(TIMEOUT_S)
        self.push()
        sent = {(profile.labels["service_name"], profile.time) for profile in self.backend.taken}
        self.assertEqual(len(sent), len(self.backend.taken))
        # at most the one under way was lost
        self.assertGreaterEqual(len(sent), 60 - 8)

    def test_its_page_is_not_taken_for_an_answer(self):
        make_store(self.store, 1, int(time.time()) - 600)
        self.assertIn("the answer is not that of parca: status 200, 'text/html", self.push(url=self.backend.url + "/ui", status=6))
        self.push()
        self.check_all(1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
