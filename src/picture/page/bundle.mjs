// SPDX-License-Identifier: Apache-2.0
// usage: bundle.mjs MODULES OUT.h [--digest]
// Puts the page of the HTML report together: style, d3-flame-graph with what it needs of d3, and the code of the page, in
// one script. Writes it as a header of two arrays, what stands before the data and what behind. The content security
// policy names the one script and the one style by their hashes: nothing else of the page can run or load anything.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const [modules, out] = process.argv.slice(2);
const here = dirname(fileURLToPath(import.meta.url));
const read = (path) => readFileSync(path, "utf8");
const hash = (text, form) => createHash("sha256").update(text).digest(form);

// What d3-flame-graph imports, each behind what it imports itself. Scales of time are not used, nor what makes them.
const D3 = ["array", "color", "dispatch", "ease", "format", "hierarchy", "interpolate", "scale", "selection", "timer", "transition"];
const OWN = ["base.js", "model.js", "colors.js", "flame.js", "views.js", "time.js", "threads.js", "chart.js", "compare.js", "diff.js", "code.js", "tabs.js", "app.js"];
// Of all that comes from elsewhere: another text is not what was looked at.
const DIGEST = "f13687ba5c7858d7ca0ce4b75c506050ce2dd537bd48e075c948957436cd12a0";

function third() {
	const licenses = new Map();
	for (const name of [...D3.map((part) => "d3-" + part), "internmap"]) {
		const text = read(join(modules, name, "LICENSE")).trim();
		licenses.set(text, [...(licenses.get(text) || []), name]);
	}
	const notices = [...licenses].map(([text, names]) => `${names.join(", ")}:\n\n${text}`).join("\n\n");
	const flame = read(join(modules, "d3-flame-graph/dist/d3-flamegraph.es.min.js"))
		.replace(/^import\s*\{([^}]*)\}\s*from\s*"d3-[a-z]+";/gm, (_, names) => `const {${names.replace(/\bas\b/g, ":")}} = d3;`)
		.replace(/^import\s*["'][^"']*["'];/gm, "")
		.replace(/export\s*\{([^}]*)\};?\s*$/, (_, names) => {
			const main = names.split(",").map((part) => part.trim().split(/\s+as\s+/)).find(([, as]) => as === "default");
			return `return ${main[0]};`;
		});
	if (/^\s*(import|export)\b/m.test(flame))
		throw new Error("d3-flame-graph is not as it was: what it imports was not understood");
	return `/*! d3-flame-graph 5.0.0, Copyright Martin Spier and contributors, Apache License 2.0. ${notices} */\n` +
		D3.map((part) => read(join(modules, `d3-${part}/dist/d3-${part}.min.js`)).trim()).join("\n") +
		`\nconst flamegraph = (function (d3) {\n${flame}\n})(globalThis.d3);\n`;
}

const vendor = third();
if (process.argv.includes("--digest")) {
	console.log(hash(vendor, "hex"));
	process.exit(0);
}
if (hash(vendor, "hex") !== DIGEST)
	throw new Error(`what npm fetched has another digest: ${hash(vendor, "hex")}`);

const own = OWN.map((name) => read(join(here, name))).join("\n");
// d3 finds its global object by `this`, which modules and strict functions lack: it stands outside of ours.
const script = `${vendor}(function (d3) {\n"use strict";\n${own}})(globalThis.d3);\n`;
const style = read(join(here, "page.css"));
if (/<\/(script|style)|<!--/i.test(script + style))
	throw new Error("the page would end inside of its own code");

const policy = [`default-src 'none'`, `script-src 'sha256-${hash(script, "base64")}'`, `style-src 'sha256-${hash(style, "base64")}'`,
	`base-uri 'none'`, `form-action 'none'`].join("; ");
const parts = { POLICY: policy, STYLE: style, SCRIPT: script };
const [before, after] = read(join(here, "page.html")).split("@DATA@")
	.map((part) => part.replace(/@([A-Z]+)@/g, (_, name) => parts[name]));

const array = (name, text) => `static const unsigned char ${name}[] = {\n` +
	[...Buffer.from(text)].map((byte, i) => byte + (i % 32 === 31 ? ",\n" : ",")).join("") + "\n};\n";
writeFileSync(out, "/* made by src/picture/page/bundle.mjs */\n" + array("html_page_before", before) + array("html_page_after", after));
