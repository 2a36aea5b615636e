// node web_check.mjs FOLDER CASES: whether an exported tokenizer gives the ids and texts of lines of JSON,
// [text, special, ids, decoded or null, spans or nothing]; prints "N same" and what differs.
import fs from "node:fs";
import { pathToFileURL } from "node:url";

const [folder, cases] = process.argv.slice(2);
const { load } = await import(pathToFileURL(`${folder}/index.js`));
const tok = await load();
const equal = (a, b) => a.length === b.length && b.every((id, k) => id === a[k]);
const differing = [];
let same = 0, texts = [], wanted = [];

for (const line of fs.readFileSync(cases, "utf8").split("\n")) {
  if (!line) continue;
  const [text, special, ids, decoded, spans] = JSON.parse(line), shown = JSON.stringify(text.slice(0, 40));
  try {
    const found = tok.encode(text, { special });
    if (!equal(found, ids)) throw new Error(`ids ${found.slice(0, 8)} instead of ${ids.slice(0, 8)}`);
    if (tok.count(text, { special }) !== ids.length) throw new Error("count");
    if (decoded !== null && tok.decode(found) !== decoded) throw new Error(`text ${JSON.stringify(tok.decode(found).slice(0, 60))}, ${JSON.stringify(decoded.slice(0, 60))}`);
    if (decoded !== null && found.length < 3000) {
      const stream = tok.stream();
      const parts = Array.from(found, (id) => stream.step(id));
      if (parts.join("") + stream.finish() !== decoded) throw new Error("streamed text");
    }
    if (spans) {
      const given = tok.encodeWithSpans(text, { special });
      if (!equal(given.ids, ids) || !equal(given.spans, spans)) throw new Error(`spans ${given.spans} instead of ${spans}`);
      const size = ids.length >> 1, cut = tok.truncate(text, size, { special });
      const next = text.slice(0, cut.length + String.fromCodePoint(text.codePointAt(cut.length) ?? 0).length);
      const [count, more] = [cut, next].map((each) => tok.count(each, { special }));
      if (!text.startsWith(cut) || count > size || (count < size && more <= size)) throw new Error(`truncated to ${count}`);
    }
    same += 1;
    if (special === "text") texts.push(text), wanted.push(ids);
  } catch (error) {
    differing.push(`${shown} (${text.length}): ${error.message}`);
  }
}
tok.encodeBatch(texts).forEach((ids, k) => equal(ids, wanted[k]) || differing.push(`in a batch: ${texts[k].slice(0, 40)}`));
console.log(`${same} same`);
for (const each of differing.slice(0, 20)) console.log(each);
