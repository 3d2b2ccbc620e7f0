# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# To be sourced. make_loads DIR: inputs that keep programs of the distribution busy.

make_loads() {
	cat >"$1/load.py" <<'PY'
import json, re, time
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
end = time.monotonic() + 60
while time.monotonic() < end:
    fib(16)
    json.loads(json.dumps({str(i): [i] * 10 for i in range(200)}))
    re.sub(r"(a|b)+c", "x", "ababab" * 50 + "c")
    sorted(range(5000), key=lambda x: -x)
PY
	{
		for header in algorithm functional future iostream map random regex string \
			unordered_map vector; do
			echo "#include <$header>"
		done
		cat <<'CC'
template<int N> struct Deep {
	static int run(std::map<std::string, std::vector<int>> &m)
	{
		std::regex r("a+b" + std::to_string(N));
		std::sort(m["x"].begin(), m["x"].end(), [](int a, int b) { return a % N < b % N; });
		return std::regex_match("aab", r) + Deep<N - 1>::run(m);
	}
};
template<> struct Deep<0> {
	static int run(std::map<std::string, std::vector<int>> &) { return 0; }
};
int main() { std::map<std::string, std::vector<int>> m; return Deep<200>::run(m); }
CC
	} >"$1/deep.cc"
	cat >"$1/load.sql" <<'SQL'
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000000),
t(i, k, s) AS (SELECT i, (i * 7919) % 10007, printf('x%d', i) FROM n)
SELECT count(*), sum(k), max(s)
FROM (SELECT k, s FROM t WHERE s LIKE '%7%' GROUP BY k, substr(s, 1, 6) ORDER BY k);
SQL
	# Compiled at run time in the main thread, where there is no CFI; C++ alone in the others.
	cat >"$1/load.js" <<'JS'
const zlib = require('zlib'), crypto = require('crypto');
const end = Date.now() + 60000;
const text = Buffer.from('a day at the zoo; '.repeat(20000));
function turn() {
  if (Date.now() > end) return;
  const list = [];
  for (let i = 0; i < 5000; i++) list.push({ key: (i * 7919) % 10007, text: 'x' + i });
  JSON.parse(JSON.stringify(list.sort((a, b) => a.key - b.key)));
  zlib.deflate(text, () => crypto.pbkdf2('word', 'salt', 500, 64, 'sha512', turn));
}
turn();
turn();
JS
}
