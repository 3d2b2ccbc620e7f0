# SPDX-License-Identifier: Apache-2.0
"""Servers that profiles are sent to, as far as fpless push knows them: they keep what they take, and can be made to fail."""

import base64
import gzip
import http.server
import json
import os
import subprocess
import tempfile
import threading


class FakeBackend:
    """Listens on loopback from start() to stop(), always at the same port. `answers' are popped, one for each request:
    (status, type, body), a function of the handler, or None: as the real one. `before' and `after' are called with the
    number of the request, before it is looked at and after it was taken."""

    def __init__(self):
        self.taken, self.requests, self.answers = [], [], []
        self.tls = None  # an ssl.SSLContext, before start()
        self.headers = []
        self.lock, self.server, self.port, self.thread = threading.Lock(), None, 0, None

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def start(self):
        backend = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_args):  # pylint: disable=arguments-differ
                pass

            def do_POST(self):  # pylint: disable=invalid-name
                body = self.rfile.read(int(self.headers["Content-Length"]))
                backend.handle(self, body)

            def reply(self, status, kind, body):
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            allow_reuse_address = True

            def handle_error(self, *_args):
                pass

        self.server = Server(("127.0.0.1", self.port), Handler)
        self.port = self.server.server_address[1]
        if self.tls:
            self.server.socket = self.tls.wrap_socket(self.server.socket, server_side=True)
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02})
        self.thread.start()
        return self

    def stop(self):
        if self.server:
            self.server.shutdown()
            self.server.server_close()
            self.thread.join()
            self.server = None

    def handle(self, handler, body):
        with self.lock:
            self.requests.append(handler.path)
            self.headers.append(handler.headers)
            answer = self.answers.pop(0) if self.answers else None
        if callable(answer):
            answer(handler, body)
        elif answer:
            handler.reply(*answer)
        else:
            self.take(handler, body)

    def take(self, handler, body):
        status, kind, answer = self.judge(handler.path, handler.headers, body)
        handler.reply(status, kind, answer)

    def take_and_hang_up(self, handler, body):
        """An answer that is lost: it was taken."""
        self.judge(handler.path, handler.headers, body)
        handler.close_connection = True
        handler.connection.shutdown(2)

    @staticmethod
    def hang_up(handler, _body):
        """The connection ends before anything was taken."""
        handler.close_connection = True
        handler.connection.shutdown(2)

    def judge(self, path, headers, body):
        raise NotImplementedError


class Pyroscope(FakeBackend):
    """push.v1.PusherService/Push; what has the labels and the time of another profile is dropped, and 200 all the same."""

    def __init__(self, fpless):
        super().__init__()
        self.fpless, self.seen = fpless, {}

    def judge(self, path, headers, body):
        if path != "/push.v1.PusherService/Push" or headers["Content-Type"] != "application/json":
            return 404, "text/plain", b"404 page not found"
        for series in json.loads(body)["series"]:
            labels = tuple(sorted((label["name"], label["value"]) for label in series["labels"]))
            for sample in series["samples"]:
                profile = Profile(self.fpless, dict(labels), base64.b64decode(sample["rawProfile"], validate=True))
                with self.lock:
                    if (labels, profile.time) not in self.seen:
                        self.seen[labels, profile.time] = profile
                        self.taken.append(profile)
        return 200, "application/json", b"{}"


class Parca(FakeBackend):
    """WriteRaw; everything that it is sent counts, and every other path has a page."""

    def __init__(self, fpless):
        super().__init__()
        self.fpless = fpless

    def judge(self, path, headers, body):
        if path != "/api/profiles/writeraw":
            return 200, "text/html; charset=utf-8", b"<html></html>"
        for series in json.loads(body)["series"]:
            labels = {label["name"]: label["value"] for label in series["labels"]["labels"]}
            for sample in series["samples"]:
                with self.lock:
                    self.taken.append(Profile(self.fpless, labels, base64.b64decode(sample["rawProfile"], validate=True)))
        return 200, "application/json", b"{}"


class Collector(FakeBackend):
    """OTLP over HTTP, profiles v1development as of the Go module of version 0.3.0."""

    def judge(self, path, headers, body):
        if path != "/v1development/profiles" or headers["Content-Type"] != "application/x-protobuf" or headers["Content-Encoding"] != "gzip":
            return 404, "text/plain", b"404 page not found"
        profiles = otlp_profiles(gzip.decompress(body))
        with self.lock:
            for profile in profiles:
                # what is sent again has the same id
                if profile.id not in {other.id for other in self.taken}:
                    self.taken.append(profile)
        return 200, "application/x-protobuf", b""


class OtlpProfile:
    def __init__(self, labels, data, dictionary):
        tables = {number: [] for number in range(1, 8)}
        for number, value in fields_of(dictionary):
            tables[number].append(value)
        self.texts = [text.decode("utf-8") for text in tables.pop(5)]
        # a collector writes fields that are empty, too
        assert not self.texts[0] and not any(value for table in tables.values() for _, value in fields_of(table[0])), "entry 0 of each table is empty"
        self.labels, self.weights = labels, {}
        self.time = self.id = None
        names = [self.texts[dict(fields_of(function)).get(1, 0)] for function in tables[3]]
        lines = [[names[dict(fields_of(value))[1]] for number, value in fields_of(location) if number == 3] for location in tables[2]]
        self.mappings = [self.texts[dict(fields_of(mapping)).get(4, 0)] for mapping in tables[1]]
        stacks = [[name for index in packed(dict(fields_of(stack)).get(1, b"")) for name in lines[index]] for stack in tables[7]]
        for number, value in fields_of(data):
            if number == 1:
                self.type = tuple(self.texts[dict(fields_of(value))[field]] for field in (1, 2))
            elif number == 2:
                sample = dict(fields_of(value))
                stack = ";".join(reversed(stacks[sample[1]]))
                self.weights[stack] = self.weights.get(stack, 0) + sum(packed(sample[4]))
            elif number == 3:
                self.time = value
            elif number == 7:
                self.id = value
        assert len(self.id) == 16 and any(self.id)


def packed(data):
    values, at = [], 0
    while at < len(data):
        value, at = varint(data, at)
        values.append(value)
    return values


def otlp_profiles(request):
    """[OtlpProfile] of a request."""
    fields = list(fields_of(request))
    dictionary = next(value for number, value in fields if number == 2)
    texts = [value.decode() for number, value in fields_of(dictionary) if number == 5]
    found = []
    for resource_profiles in (value for number, value in fields if number == 1):
        labels, scoped = {}, []
        for number, value in fields_of(resource_profiles):
            if number == 1:
                labels = dict(label_of(attribute, texts) for _, attribute in fields_of(value))
            elif number == 2:
                scoped += [data for field, data in fields_of(value) if field == 2]
        found += [OtlpProfile(labels, data, dictionary) for data in scoped]
    return found


def label_of(attribute, texts):
    """(name, value) of an attribute: each is a text, or the number of one in the dictionary, as a collector hands it on."""
    pair = dict(fields_of(attribute))
    value = dict(fields_of(pair[2]))
    return (pair[1].decode() if 1 in pair else texts[pair[3]]), (value[1].decode() if 1 in value else texts[value[8]])


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7f) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 0x80:
            return value, at


def fields_of(data):
    """(number, value) of a message of protocol buffers: integers, and bytes of what has a length."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        elif tag & 7 == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            size = {1: 8, 5: 4}[tag & 7]
            value, at = int.from_bytes(data[at:at + size], "little"), at + size
        yield tag >> 3, value


def time_of(pprof):
    """When a profile began, ns since 1970."""
    return next(value for number, value in fields_of(pprof) if number == 9)


class Profile:
    """A pprof, read by fpless."""

    def __init__(self, fpless, labels, data):
        self.labels = labels
        self.time, self.fpless, self.data, self.read = time_of(gzip.decompress(data)), fpless, data, None

    @property
    def stacks(self):
        """As .jsonl has them."""
        if self.read is None:
            self.read = self.lines()
        return self.read

    def lines(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.pb.gz")
            with open(path, "wb") as file:
                file.write(self.data)
            done = subprocess.run([self.fpless, "report", "-q", path, "--format", "jsonl", "-o", "-"], stdout=subprocess.PIPE, check=True)
        return [line for line in map(json.loads, done.stdout.splitlines()) if line["type"] == "stack"]

    @property
    def samples(self):
        return sum(stack["count"] for stack in self.stacks)

    @property
    def weight(self):
        return sum(stack.get("weight_ns", stack.get("weight")) for stack in self.stacks)

    def folded(self):
        """{stack, root first: count}"""
        found = {}
        for stack in self.stacks:
            frames = [frame["symbol"] for frame in stack["kernel"] + stack["user"]]
            key = ";".join(reversed(frames))
            found[key] = found.get(key, 0) + stack["count"]
        return found
