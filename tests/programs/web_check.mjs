// Whether an exported tokenizer gives the ids and texts of lines of JSON, [text, special, ids, decoded or null, spans or
// nothing]: "N same" and what differs. By node: `web_check.mjs FOLDER CASES`. In a page: sends it to the server of the page.
const equal = (a, b) => a.length === b.length && b.every((id, k) => id === a[k]);

function checkSpans(tok, text, special, ids, spans) {
  const given = tok.encodeWithSpans(text, { special });
  if (!equal(given.ids, ids) || !equal(given.spans, spans)) throw new Error(`spans ${given.spans} instead of ${spans}`);
  const size = ids.length >> 1, cut = tok.truncate(text, size, { special });
  const next = text.slice(0, cut.length + String.fromCodePoint(text.codePointAt(cut.length) ?? 0).length);
  const [count, more] = [cut, next].map((each) => tok.count(each, { special }));
  if (!text.startsWith(cut) || count > size || (count < size && more <= size)) throw new Error(`truncated to ${count}`);
}

export function check(tok, lines) {
  const differing = [], texts = [], wanted = [];
  let same = 0;
  for (const line of lines) {
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
      if (spans) checkSpans(tok, text, special, ids, spans);
      same += 1;
      if (special === "text") texts.push(text), wanted.push(ids);
    } catch (error) {
      differing.push(`${shown} (${text.length}): ${error.message}`);
    }
  }
  tok.encodeBatch(texts).forEach((ids, k) => equal(ids, wanted[k]) || differing.push(`in a batch: ${texts[k].slice(0, 40)}`));
  return [`${same} same`, ...differing.slice(0, 20)].join("\n");
}

if (globalThis.document) {
  const { load } = await import("./index.js");
  const found = load().then(async (tok) => check(tok, (await (await fetch("./cases.jsonl")).text()).split("\n")));
  await fetch("./found", { method: "POST", body: await found.catch((error) => String(error)) });
} else {
  const [{ readFileSync }, { pathToFileURL }] = [await import("node:fs"), await import("node:url")];
  const [folder, cases] = process.argv.slice(2);
  const { load } = await import(pathToFileURL(`${folder}/index.js`));
  console.log(check(await load(), readFileSync(cases, "utf8").split("\n")));
}
