#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: test_mcp.py FPLESS

fpless serve --mcp: a client's conversation; its tools answer what fpless query answers; messages that are wrong are refused
with one error each, and the server goes on."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

FPLESS = os.path.realpath(sys.argv[1])
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "browser"))

from recordings import write_store  # noqa: E402

TIMEOUT_S = 180  # hung, not slow
NOW = int(time.time())
VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18")
PARSE_ERROR, INVALID_REQUEST, UNKNOWN_METHOD, INVALID_PARAMS = -32700, -32600, -32601, -32602


class Client:
    """One that begins the server, as clients do."""

    def __init__(self, store, *args):
        self.process = subprocess.Popen([FPLESS, "serve", "--mcp", "--store", store, *args], stdin=subprocess.PIPE,  # pylint: disable=R1732
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.nr = 0

    def send(self, line):
        self.process.stdin.write(line if isinstance(line, bytes) else json.dumps(line).encode())
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()

    def receive(self):
        line = self.process.stdout.readline()
        if not line.endswith(b"\n"):
            raise EOFError(line)
        return json.loads(line)

    def request(self, method, **params):
        """The result, or {"code", "message"}."""
        self.nr += 1
        self.send({"jsonrpc": "2.0", "id": self.nr, "method": method, "params": params})
        answer = self.receive()
        assert answer["jsonrpc"] == "2.0" and answer["id"] == self.nr, answer
        return answer["result"] if "result" in answer else answer["error"]

    def begin(self, version=VERSIONS[-1]):
        result = self.request("initialize", protocolVersion=version, capabilities={"roots": {"listChanged": True}},
                              clientInfo={"name": "test", "version": "1"})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return result

    def call(self, tool, **arguments):
        return self.request("tools/call", name=tool, arguments=arguments)

    def end(self):
        """(exit status, what is left on stdout)."""
        self.process.stdin.close()
        rest = self.process.stdout.read()
        return self.process.wait(TIMEOUT_S), rest


class Mcp(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """A store of ten windows, a minute each; `hot' comes with the sixth."""
        cls.temporary = tempfile.TemporaryDirectory()  # pylint: disable=R1732
        cls.store = os.path.join(cls.temporary.name, "store")
        write_store(cls.store, FPLESS, NOW)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def client(self, *args, store=None):
        client = Client(store or self.store, *args)
        process = client.process
        for close in (process.stderr.close, process.stdout.close, process.wait, process.kill):
            self.addCleanup(close)
        return client

    def query(self, *args):
        done = subprocess.run([FPLESS, "query", f"--store={self.store}", *args], stdout=subprocess.PIPE, check=True)
        return json.loads(done.stdout)

    def test_a_conversation(self):
        client = self.client()
        begun = client.begin()
        self.assertEqual(begun["protocolVersion"], "2025-06-18")
        self.assertEqual(begun["capabilities"], {"tools": {}})
        self.assertEqual(begun["serverInfo"]["name"], "fpless")
        self.assertEqual(client.request("ping"), {})
        tools = {tool["name"]: tool for tool in client.request("tools/list")["tools"]}
        self.assertEqual(sorted(tools), ["advice", "diff", "function", "top", "windows"])
        for tool in tools.values():
            self.assertEqual(tool["inputSchema"]["type"], "object")
            self.assertTrue(tool["annotations"]["readOnlyHint"])
            self.assertTrue(tool["description"])
        self.assertEqual(tools["function"]["inputSchema"]["required"], ["function"])
        to, middle = f"@{NOW}", f"@{NOW - 300}"
        late = {"from": middle, "to": to}
        whole = {"from": "-1h", "to": to}
        words = ("--from=-1h", f"--to={to}", "--json")
        for tool, arguments, args in (
                ("windows", whole | {"limit": 3}, ("list", *words, "--limit=3")),
                ("top", whole, ("top", *words, "--limit=20")),
                ("top", whole | {"comm": "other"}, ("top", *words, "--comm=other", "--limit=20")),
                ("windows", whole | {"comm": "other", "source": "cpu"}, ("list", *words, "--comm=other", "--source=cpu", "--limit=60")),
                ("top", whole | {"limit": 1}, ("top", *words, "--limit=1")),
                ("diff", late, ("diff", "-q", f"--from={middle}", f"--to={to}", "--json", "--limit=20")),
                ("function", whole | {"function": "^work$"}, ("function", *words, "--limit=10", "^work$")),
                ("function", whole | {"function": "-x|hot"}, ("function", *words, "--limit=10", "--", "-x|hot")),
                ("advice", whole, ("advice", *words, "--limit=10"))):
            with self.subTest(tool=tool, arguments=arguments):
                result = client.call(tool, **arguments)
                self.assertFalse(result["isError"], result)
                expected = self.query(*args)
                self.assertEqual(result["structuredContent"], expected)
                self.assertEqual([part["type"] for part in result["content"]], ["text"])
                self.assertEqual(json.loads(result["content"][0]["text"]), expected)
        self.assertEqual(len(client.call("windows", **whole)["structuredContent"]["windows"]), 10)
        self.assertEqual(client.call("function", function="^work$")["structuredContent"]["functions"][0]["callers"][0]["function"], "main")
        self.assertEqual(client.end(), (0, b""))
        for line in client.process.stderr.read().splitlines():
            self.assertIn(b"goes on as root, without capabilities", line)  # a build or a store below a home

    def test_versions_are_agreed_upon(self):
        for wanted, agreed in (*((version, version) for version in VERSIONS), ("2999-01-01", VERSIONS[-1]), ("x", VERSIONS[-1])):
            with self.subTest(wanted=wanted):
                client = self.client()
                self.assertEqual(client.begin(wanted)["protocolVersion"], agreed)
                self.assertEqual(client.end(), (0, b""))

    def test_errors_of_tools_are_said(self):
        client = self.client()
        client.begin()
        for tool, arguments, why in (
                ("top", {"from": "x"}, "--from x: expected a time"),
                ("top", {"from": "now", "to": "-1h"}, "the second is not behind the first"),
                ("top", {"from": "-7d", "to": "-6d"}, "no samples in this time"),
                ("top", {"comm": "["}, "--comm"),
                ("function", {"function": "("}, "find ("),
                ("function", {"function": "nothing_has_this"}, "no samples"),
                ("diff", {"before": "-1h"}, "expected FROM..TO")):
            with self.subTest(tool=tool, arguments=arguments):
                result = client.call(tool, **arguments)
                self.assertTrue(result["isError"], result)
                self.assertNotIn("structuredContent", result)
                self.assertIn(why, result["content"][0]["text"])
                self.assertNotIn("\n", result["content"][0]["text"])
        other = self.client(store=os.path.join(self.temporary.name, "nothing"))
        other.begin()
        result = other.call("windows")
        self.assertTrue(result["isError"])
        self.assertIn("No such file", result["content"][0]["text"])
        self.assertEqual(other.end(), (0, b""))

    def test_wrong_arguments_are_errors_of_the_protocol(self):
        client = self.client()
        client.begin()
        for params, why in (
                ({}, "name: expected a string"),
                ({"name": 5}, "name: expected a string"),
                ({"name": "delete"}, "unknown tool"),
                ({"name": "top", "arguments": []}, "arguments: expected an object"),
                ({"name": "top", "arguments": {"store": "/etc"}}, "an argument that top does not take"),
                ({"name": "top", "arguments": {"function": "x"}}, "an argument that top does not take"),
                ({"name": "top", "arguments": {"-o": "/tmp/x"}}, "an argument that top does not take"),
                ({"name": "top", "arguments": {"from": 5}}, "from: expected a string"),
                ({"name": "top", "arguments": {"from": None}}, "from: expected a string"),
                ({"name": "top", "arguments": {"comm": "a\0b"}}, "comm: expected a string"),
                ({"name": "top", "arguments": {"comm": "a\nb"}}, "comm: expected at most 512 bytes of text"),
                ({"name": "top", "arguments": {"comm": "x" * 513}}, "comm: expected at most 512 bytes of text"),
                ({"name": "top", "arguments": {"limit": 0}}, "limit: expected 1 to 200"),
                ({"name": "top", "arguments": {"limit": 2**70}}, "limit: expected"),
                ({"name": "top", "arguments": {"limit": "3"}}, "limit: expected an integer"),
                ({"name": "top", "arguments": {"limit": 2.5}}, "limit: expected an integer"),
                ({"name": "function"}, "function: expected")):
            with self.subTest(params=params):
                error = client.request("tools/call", **params)
                self.assertEqual(error["code"], INVALID_PARAMS)
                self.assertIn(why, error["message"])
        self.assertEqual(client.request("tools/list", cursor="x")["code"], INVALID_PARAMS)
        self.assertEqual(client.request("initialize")["code"], INVALID_PARAMS)
        self.assertEqual(client.end(), (0, b""))

    def test_hostile_messages_are_refused_and_the_server_goes_on(self):
        client = self.client()
        client.begin()
        deep = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":' + b"[" * 500 + b"]" * 500 + b"}}"
        long = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"' + b"x" * 65536 + b'"}}'
        for what, line, code in (
                ("no JSON", b"hello", PARSE_ERROR),
                ("half of an object", b'{"jsonrpc":"2.0","id":1,', PARSE_ERROR),
                ("two on a line", b'{"jsonrpc":"2.0","id":1,"method":"ping"}{"jsonrpc":"2.0","id":2,"method":"ping"}', PARSE_ERROR),
                ("a NUL", b'{"jsonrpc":"2.0","id":1,"method":"ping"\0}', PARSE_ERROR),
                ("no UTF-8", b'{"jsonrpc":"2.0","id":1,"method":"p\xffing"}', PARSE_ERROR),
                ("half of a character", b'{"jsonrpc":"2.0","id":1,"method":"ping\xc3"}', PARSE_ERROR),
                ("deep", deep, PARSE_ERROR),
                ("long", long, INVALID_REQUEST),
                ("very long", b"x" * 5000000, INVALID_REQUEST),
                ("a number", b"5", INVALID_REQUEST),
                ("null", b"null", PARSE_ERROR),
                ("a batch", b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', INVALID_REQUEST),
                ("no version", b'{"id":1,"method":"ping"}', INVALID_REQUEST),
                ("another version", b'{"jsonrpc":"1.0","id":1,"method":"ping"}', INVALID_REQUEST),
                ("no method", b'{"jsonrpc":"2.0","id":1}', INVALID_REQUEST),
                ("a method of no text", b'{"jsonrpc":"2.0","id":1,"method":["ping"]}', INVALID_REQUEST),
                ("an id of null", b'{"jsonrpc":"2.0","id":null,"method":"ping"}', INVALID_REQUEST),
                ("an id of an object", b'{"jsonrpc":"2.0","id":{},"method":"ping"}', INVALID_REQUEST),
                ("an id of a fraction", b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', INVALID_REQUEST),
                ("params of no object", b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}', INVALID_PARAMS),
                ("an unknown method", b'{"jsonrpc":"2.0","id":1,"method":"resources/list"}', UNKNOWN_METHOD),
                ("a method with a NUL", b'{"jsonrpc":"2.0","id":1,"method":"ping\\u0000"}', INVALID_REQUEST)):
            with self.subTest(what=what):
                client.send(line)
                answer = client.receive()
                self.assertEqual(answer["error"]["code"], code, answer)
                self.assertNotIn("\n", answer["error"]["message"])
                self.assertEqual(client.request("ping"), {})
        # no answer is due to these
        for line in (b"", b"   \r", b'{"jsonrpc":"2.0","method":"tools/call","params":{"name":"top"}}',
                     b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}',
                     b'{"jsonrpc":"2.0","id":7,"result":{}}', b'{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":""}}'):
            client.send(line)
        self.assertEqual(client.request("ping"), {})
        # ids come back as they were
        for given in ('"a"', '"\\u00e4\\n"', "9007199254740993", "-1"):
            client.send(f'{{"jsonrpc":"2.0","id":{given},"method":"ping"}}'.encode())
            self.assertEqual(client.receive()["id"], json.loads(given))
        self.assertEqual(client.end(), (0, b""))

    def test_the_client_begins_with_initialize(self):
        client = self.client()
        self.assertEqual(client.request("ping"), {})
        self.assertEqual(client.call("top")["code"], INVALID_REQUEST)
        self.assertEqual(client.request("tools/list")["code"], INVALID_REQUEST)
        client.begin()
        self.assertFalse(client.call("top")["isError"])
        self.assertEqual(client.end(), (0, b""))

    def test_batches_are_of_one_version(self):
        client = self.client()
        client.begin("2025-03-26")
        one = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        client.send([one, {"jsonrpc": "2.0", "method": "notifications/cancelled"}, 5, dict(one, id="b", method="tools/list")])
        answers = client.receive()
        self.assertEqual([answer["id"] for answer in answers], [1, None, "b"])
        self.assertEqual(answers[1]["error"]["code"], INVALID_REQUEST)
        for batch in ([], [one] * 17):
            client.send(batch)
            self.assertEqual(client.receive()["error"]["code"], INVALID_REQUEST)
        client.send([{"jsonrpc": "2.0", "method": "notifications/cancelled"}])
        self.assertEqual(client.request("ping"), {})
        self.assertEqual(client.end(), (0, b""))

    def test_answers_are_bounded(self):
        store = os.path.join(self.temporary.name, "long")
        path = os.path.join(self.temporary.name, "long.folded.jsonl")
        meta = {"type": "meta", "format": 1, "event": "cpu-clock", "period_ns": 10**7, "hz": 100, "start_unix_ns": (NOW - 60) * 10**9,
                "duration_ns": 10**10, "cpus": 1}
        with open(path, "w", encoding="ascii") as file:
            file.write(json.dumps(meta) + "\n")
            for nr in range(150):
                frame = {"object": "/bin/x", "build_id": "", "vaddr": hex(16 * nr + 16), "symbol": f"{nr}" + "x" * 3000, "offset": 0, "origin": "cfi"}
                file.write(json.dumps({"type": "stack", "count": 1, "weight_ns": 10**7, "comm": "a", "pid": 1, "stop": "outermost",
                                       "user": [frame], "kernel": []}) + "\n")
            file.write('{"type":"books","fired":150,"shown":150,"lost":{}}\n')
        subprocess.run([FPLESS, "query", "import", "--store", store, path], check=True)
        client = self.client(store=store)
        client.begin()
        result = client.call("top", limit=200)
        self.assertTrue(result["isError"])
        self.assertIn("more than 256 KiB: ask for fewer rows", result["content"][0]["text"])
        self.assertFalse(client.call("top", limit=10)["isError"])
        self.assertEqual(client.end(), (0, b""))

    def test_the_server_ends_with_its_client(self):
        # a last line without an end
        client = self.client()
        client.process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
        self.assertEqual(client.end(), (0, b'{"jsonrpc":"2.0","id":1,"result":{}}\n'))
        # a client that reads no more
        client = self.client()
        client.begin()
        client.process.stdout.close()
        client.send({"jsonrpc": "2.0", "id": 1, "method": "ping"})
        self.assertEqual(client.process.wait(TIMEOUT_S), 0)
        client.process.stdin.close()
        # one that stops to read, and sends a signal
        client = self.client()
        client.begin()
        os.set_blocking(client.process.stdin.fileno(), False)
        many = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n' * 1000
        try:
            while os.write(client.process.stdin.fileno(), many):
                pass
        except BlockingIOError:
            pass
        client.process.send_signal(signal.SIGTERM)
        self.assertEqual(client.process.wait(TIMEOUT_S), 0)
        client.process.stdin.close()

    def test_the_server_has_no_rights(self):
        client = self.client()
        client.begin()
        with open(f"/proc/{client.process.pid}/status", encoding="ascii", errors="replace") as file:
            status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
        for kind in ("CapPrm", "CapEff", "CapInh", "CapAmb"):
            self.assertEqual(int(status[kind], 16), 0, kind)
        self.assertEqual(status["NoNewPrivs"], "1")
        self.assertEqual(client.end(), (0, b""))

    def test_options_that_make_no_sense_are_refused(self):
        for option, value in (("listen", "127.0.0.1:0"), ("socket", "x"), ("token", "x"), ("metrics", "x")):
            done = subprocess.run([FPLESS, "serve", "--mcp", f"--{option}", value], stderr=subprocess.PIPE, text=True, check=False,
                                  timeout=TIMEOUT_S)
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, re.escape(f"--mcp excludes --{option}"))
            self.assertEqual(done.stderr.count("\n"), 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
