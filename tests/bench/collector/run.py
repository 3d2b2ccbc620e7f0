#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fpless push otlp against a collector of OpenTelemetry: what it hands on adds up to the store, with its names, through ten
restarts of the collector and a hundred lost answers.

usage: run.py FPLESS [--collector OTELCOL]

Without --collector the collector's own builder makes one in $XDG_CACHE_HOME, with the receiver and the exporter of OTLP alone:
it needs Go 1.25 or newer and takes two minutes of CPU. fpless sends to a proxy that loses answers, the proxy to the collector, and the
collector to a server that keeps what it is sent and knows a profile that comes twice by its id. Exit status 1: a sum or a name differs.
"""

import argparse
import http.client
import os
import signal
import subprocess
import sys
import tempfile
import time

for place in ("support", "browser"):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", place))

from fake_backend import Collector, FakeBackend  # noqa: E402
from pushed_store import NAMES, make_store  # noqa: E402
from waiting import wait_for  # noqa: E402

RELEASE = "v0.165.0"
BUILDER = "go.opentelemetry.io/collector/cmd/builder@" + RELEASE
PARTS = f"""
dist: {{name: otelcol, output_path: %s}}
exporters: [{{gomod: go.opentelemetry.io/collector/exporter/otlphttpexporter {RELEASE}}}]
receivers: [{{gomod: go.opentelemetry.io/collector/receiver/otlpreceiver {RELEASE}}}]
"""
CONFIG = """
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:%d"}}}}
exporters: {otlp_http: {profiles_endpoint: "%s/v1development/profiles", tls: {insecure: true}}}
service:
  pipelines: {profiles: {receivers: [otlp], exporters: [otlp_http]}}
  telemetry: {metrics: {level: none}}
"""
PATH = "/v1development/profiles"
WINDOWS, RESTARTS, LOST = 40, 10, 100
PERIOD_NS = 10101010  # of recordings that tests make
TIMEOUT_S = 60  # hung, not slow


def build_collector():
    folder = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "fpless-otelcol-" + RELEASE)
    program = os.path.join(folder, "made", "otelcol")
    if not os.path.exists(program):
        os.makedirs(folder, exist_ok=True)
        parts = os.path.join(folder, "parts.yaml")
        with open(parts, "w", encoding="ascii") as file:
            file.write(PARTS % os.path.dirname(program))
        subprocess.run(["go", "install", BUILDER], check=True, env=dict(os.environ, GOBIN=folder))
        subprocess.run([os.path.join(folder, "builder"), "--config", parts], check=True, stdout=sys.stderr)
    return program


class RealCollector:
    """The collector as a process, which is started anew again and again at one port."""

    def __init__(self, program, folder, sink):
        self.config, self.log = os.path.join(folder, "otelcol.yaml"), os.path.join(folder, "otelcol.log")
        self.program, self.process, self.sink, self.nr_starts = program, None, sink, 0
        self.port = free_port()
        with open(self.config, "w", encoding="ascii") as file:
            file.write(CONFIG % (self.port, sink.url))

    def start(self):
        with open(self.log, "ab") as log:
            # pylint: disable-next=consider-using-with
            self.process = subprocess.Popen([self.program, "--config", self.config, "--feature-gates=service.profilesSupport"],
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.nr_starts += 1
        wait_for("the collector", self.answers)

    def stop(self):
        """It hands on what it has taken before it ends."""
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(TIMEOUT_S)
        finally:
            self.process.kill()

    def answers(self):
        if self.process.poll() is not None:
            sys.exit(open(self.log, encoding="utf-8").read())
        try:
            return self.ask("GET", {}, b"")[0] == 405
        except OSError:
            return False

    def ask(self, method, headers, body):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_S)
        try:
            connection.request(method, PATH, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.headers["Content-Type"], answer.read()
        finally:
            connection.close()


def free_port():
    server = FakeBackend().start()
    server.stop()
    return server.port


class Proxy(FakeBackend):
    """Hands requests on to the collector; 503 where it is away."""

    def __init__(self, collector):
        super().__init__()
        self.collector = collector

    def judge(self, path, headers, body):
        handed = {name: headers[name] for name in ("Content-Type", "Content-Encoding") if headers[name]}
        try:
            return self.collector.ask("POST", handed, body) if path == PATH else (404, "text/plain", b"")
        except OSError:
            return 503, "text/plain", b"away"


def sums_of(sink):
    """{(service, stack): samples} of what the collector has handed on."""
    found = {}
    for profile in sink.taken:
        for stack, weight in profile.weights.items():
            key = profile.labels["service.name"], stack
            found[key] = found.get(key, 0) + weight / PERIOD_NS
    return found


def send(fpless, folder, collector, proxy):
    """All of the store through the proxy, while the collector is restarted."""
    nr_profiles = WINDOWS * len(NAMES)
    proxy.answers += [proxy.take_and_hang_up, None] * LOST
    words = [fpless, "push", "otlp", proxy.url, "--store", os.path.join(folder, "store"), "--state", os.path.join(folder, "state"),
             "--every", "0.05", "--retry", "0.05"]
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        for i in range(RESTARTS):
            wait_for("requests", lambda: len(proxy.requests) >= 15 * (i + 1))  # pylint: disable=cell-var-from-loop
            collector.stop()
            collector.start()
        wait_for("all requests", lambda: len(proxy.requests) >= nr_profiles + LOST and not proxy.answers)
        wait_for("all profiles", lambda: len(collector.sink.taken) >= nr_profiles)
        process.send_signal(signal.SIGTERM)
        process.wait(TIMEOUT_S)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fpless")
    parser.add_argument("--collector", metavar="OTELCOL", help="a collector with the receiver and the exporter of OTLP over HTTP")
    args = parser.parse_args()
    fpless = os.path.realpath(args.fpless)
    program = args.collector or build_collector()
    with tempfile.TemporaryDirectory(prefix="fpless-collector-") as folder:
        sink = Collector().start()
        collector = RealCollector(program, folder, sink)
        proxy = Proxy(collector).start()
        # fpless push gives up its rights, and is in the group of the store
        for name in ("store", "state"):
            os.mkdir(os.path.join(folder, name))
            os.chmod(os.path.join(folder, name), 0o777)
        os.chmod(folder, 0o755)
        make_store(fpless, os.path.join(folder, "store"), WINDOWS, int(time.time()) - 10 * WINDOWS - 300)
        collector.start()
        try:
            send(fpless, folder, collector, proxy)
        finally:
            collector.stop()
            proxy.stop()
            sink.stop()
    found, wanted = sums_of(sink), {(service, stack): nr * WINDOWS for service, stacks in NAMES.items()
                                      for stack, nr in stacks.items()}
    print(f"{collector.nr_starts - 1} restarts, {LOST} lost answers, {len(proxy.requests)} requests, {len(sink.requests)} from the collector")
    for key in sorted(set(found) | set(wanted)):
        print(*key, f"{found.get(key, 0):g} samples of {wanted.get(key, 0)}", sep="\t")
    return found != wanted


if __name__ == "__main__":
    sys.exit(main())
