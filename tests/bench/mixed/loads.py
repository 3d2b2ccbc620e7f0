# SPDX-License-Identifier: Apache-2.0
"""A busy server of many kinds: a web server in Python, PostgreSQL, a C++ build, node, Java, Go.

Each load is a class with `name`, what its code is made of, and start(); inputs are made on the spot.
"""

import glob
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../machine"))
import build  # noqa: E402  the C++ project

SERVER = """
import json, re, sys, urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
ROWS = [{"id": i, "name": "item %d" % i, "tags": ["t%d" % (i * j % 17) for j in range(5)]} for i in range(400)]
class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        query = urllib.parse.parse_qs(urllib.parse.urlparse(self.path).query)
        tag = query.get("tag", ["t3"])[0]
        rows = sorted((row for row in ROWS if tag in row["tags"]), key=lambda row: row["name"])
        body = json.dumps({"rows": rows, "n": len(re.findall(r"item (\\d+)7", json.dumps(ROWS)))}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args):
        pass
server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""

CLIENT = """
import http.client, sys
connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
i = 0
while True:
    i += 1
    connection.request("GET", "/?tag=t%d" % (i % 17))
    connection.getresponse().read()
"""

NODE = """
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
class Row { constructor(i) { this.id = i * 7919 % 10007; this.text = "row " + i; } }
function work() {
  const rows = []; for (let i = 0; i < 5000; i++) rows.push(new Row(i));
  rows.sort((a, b) => a.id - b.id);
  const text = JSON.stringify(rows);
  const back = JSON.parse(text).filter(row => /7$/.test(row.text));
  return fib(20) + back.length + text.replace(/row (\\d)/g, "$1").length;
}
setInterval(() => { for (let i = 0; i < 5; i++) work(); }, 1);
"""

JAVA = """
import java.util.*;
import java.util.stream.*;
public class Mixed {
    record Row(int id, String text) {}
    static long fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
    static long work(int round) {
        List<Row> rows = IntStream.range(0, 5000).mapToObj(i -> new Row(i * 7919 % 10007, "row " + i))
            .sorted(Comparator.comparingInt(Row::id)).collect(Collectors.toList());
        Map<Integer, List<String>> by = rows.stream().collect(Collectors.groupingBy(r -> r.id() % 97,
            Collectors.mapping(Row::text, Collectors.toList())));
        String text = by.entrySet().stream().map(e -> e.getKey() + "=" + String.join(",", e.getValue()))
            .collect(Collectors.joining(";"));
        return fib(22) + text.replaceAll("row ([0-9])", "$1").length() + round;
    }
    public static void main(String[] args) throws Exception {
        Thread[] threads = new Thread[2];
        for (int t = 0; t < threads.length; t++) {
            threads[t] = new Thread(() -> { long sum = 0; for (int i = 0; ; i++) { sum += work(i); if (sum == 42) return; } });
            threads[t].start();
        }
        for (Thread thread : threads) thread.join();
    }
}
"""

GO = """
package main
import ("encoding/json"; "fmt"; "regexp"; "sort"; "strings")
type row struct { ID int; Text string; Tags []string }
func fib(n int) int { if n < 2 { return n }; return fib(n-1) + fib(n-2) }
var seven = regexp.MustCompile(`row (\\d+)7`)
func work() int {
	rows := make([]row, 0, 3000)
	for i := 0; i < 3000; i++ { rows = append(rows, row{i * 7919 % 10007, fmt.Sprintf("row %d", i), []string{"a", "b"}}) }
	sort.Slice(rows, func(i, j int) bool { return rows[i].ID < rows[j].ID })
	text, _ := json.Marshal(rows)
	var back []row
	_ = json.Unmarshal(text, &back)
	return fib(20) + len(back) + len(seven.FindAllString(string(text), -1)) + strings.Count(string(text), "1")
}
func main() {
	sums := make(chan int)
	for g := 0; g < 4; g++ { go func() { for { sums <- work() } }() }
	total := 0
	for sum := range sums { total += sum }
}
"""


def find_postgres():
    """Debian keeps its programs out of the PATH."""
    os.environ["PATH"] += "".join(os.pathsep + folder for folder in sorted(glob.glob("/usr/lib/postgresql/*/bin")))


def missing(*programs):
    return [program for program in programs if not shutil.which(program)]


class Load:
    """One kind of work: made in `folder`, started by spawn(), which puts it where its samples are told by."""

    def __init__(self, folder):
        self.folder = os.path.join(folder, self.name)
        os.mkdir(self.folder)
        os.chmod(self.folder, 0o755)

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def stop(self):
        """What killing its processes does not end."""


class Web(Load):
    name, language, needs = "web", "CPython, an HTTP server and its clients", ("python3",)

    def start(self, spawn):
        server = spawn(["python3", self.write("server.py", SERVER)], stdout=subprocess.PIPE)
        port = server.stdout.readline().decode().strip()
        client = self.write("client.py", CLIENT)
        for _ in range(2):
            spawn(["python3", client, port])


class Postgres(Load):
    name, language = "postgres", "C, pgbench beside it"
    needs = ("pgbench", "setpriv", "pg_ctl")

    def serve(self, spawn):
        """Start a server with a database of pgbench's. Returns what a client needs to find it."""
        shutil.chown(self.folder, "postgres")
        data = os.path.join(self.folder, "data")
        as_user = ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--clear-groups"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": self.folder}
        subprocess.run([*as_user, "initdb", "-D", data, "-A", "trust", "--no-sync"], check=True, **quiet)
        spawn([*as_user, "postgres", "-D", data, "-k", self.folder, "-c", "listen_addresses="], **quiet)
        where = ["-h", self.folder, "-U", "postgres"]
        subprocess.run(["sh", "-c", "until pg_isready -q -h \"$0\"; do sleep 0.1; done", self.folder], check=True, timeout=60)
        subprocess.run(["pgbench", *where, "-i", "-s", "5", "-q", "postgres"], check=True, **quiet)
        return [*where, "postgres"]

    def start(self, spawn):
        spawn(["pgbench", "-c", "4", "-T", "100000", *self.serve(spawn)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Build(Load):
    name, language, needs = "g++", "C++, make -j2 of a project again and again", ("g++", "make")

    def start(self, spawn):
        build.generate(self.folder, 8, 30)
        spawn(["sh", "-c", "while :; do rm -f *.o program; make -s -j2; done"], cwd=self.folder)


class Node(Load):
    name, language, needs = "node", "JavaScript, interpreted and compiled at run time", ("node",)

    def start(self, spawn):
        spawn(["node", self.write("work.js", NODE)])


class Java(Load):
    name, language, needs = "java", "Java, -XX:+PreserveFramePointer", ("java", "javac")

    def start(self, spawn):
        subprocess.run(["javac", "-d", self.folder, self.write("Mixed.java", JAVA)], check=True)
        spawn(["java", "-XX:+PreserveFramePointer", "-Xmx256m", "-cp", self.folder, "Mixed"])


class Go(Load):
    name, language, needs = "go", "Go", ("go",)

    def start(self, spawn):
        program = os.path.join(self.folder, "mixed")
        environment = dict(os.environ, GOCACHE=os.path.join(self.folder, "cache"), GOFLAGS="-mod=mod", GO111MODULE="off")
        subprocess.run(["go", "build", "-o", program, self.write("main.go", GO)], check=True, env=environment)
        spawn([program])


LOADS = [Web, Postgres, Build, Node, Java, Go]
