#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: make-pictures.sh [BUILD]
# Make the pictures of the README and the cookbook anew, with the fpless of BUILD (build/release):
# a Python program that formats JSON, as its stacks are in C and in Python, and 10 s of two compilers
# as a chart, as Chromium shows it. Needs root, BPF and what tests need.
set -eu
cd "$(dirname "$0")/.."
fpless=$(realpath "${1:-build/release}/fpless")
run=$(mktemp -d)
trap 'rm -rf "$run"' EXIT

python3=/usr/bin/python3
"$python3" -c 'import json
print(json.dumps([{"n": i, "text": "x" * 50, "list": list(range(i % 20))} for i in range(60000)]))' >"$run/in.json"
(cd "$run" && "$fpless" profile -q -F 997 -U -o flame.jsonl -- "$python3" -m json.tool --sort-keys in.json out.json)
mkdir -p docs/pictures
"$fpless" report -q --no-lines --no-inline --min-width 10 --width 1000 --title 'python3 -m json.tool, sampled by fpless profile' \
	-o docs/pictures/flame.svg "$run/flame.jsonl"
for i in 1 2 3 4 5 6 7 8; do
	cat >"$run/part$i.cc" <<-END
		#include <functional>
		#include <map>
		#include <regex>
		#include <string>
		int part$i(const std::string &text)
		{
			std::map<std::string, std::function<int(int)>> table;
			table[text] = [](int number) { return number + $i; };
			return std::regex_search(text, std::regex("a(b|c)*$i")) + table[text]($i);
		}
	END
done
printf '%s\n' 'all: $(patsubst %.cc,%.o,$(wildcard *.cc))' '%.o: %.cc' '	g++ -O2 -g -c $< -o $@' >"$run/Makefile"
(cd "$run" && "$fpless" profile -q -d 10 -F 499 --timeline -o chart.jsonl -- make -s -j2 2>/dev/null) || :
"$fpless" report -q --chart --min-width 1 -o "$run/chart.svg" "$run/chart.jsonl"
python3 - "$run/chart.svg" <<'END'
import sys
sys.path.insert(0, "tests/browser")
from browser import Browser
with Browser() as browser, browser.open(sys.argv[1], width=1000, height=480) as page:
    page.screenshot("docs/pictures/chart.png")
    page.click(".boxes > g", "c_parse_final_cleanups")
    page.hover(".boxes > g", "instantiate_pending_templates")
    page.screenshot("docs/pictures/chart-zoomed.png")
END
if grep -nF "${fpless%/*}" docs/pictures/*; then
	echo 'make-pictures.sh: a picture says where it was made' >&2
	exit 1
fi
ls -l docs/pictures
