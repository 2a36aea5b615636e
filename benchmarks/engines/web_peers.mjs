// One job for one library of JavaScript: `node web_peers.mjs PEER FOLDER`, the job as JSON on standard input, one line of
// JSON as the answer. FOLDER has the node_modules of the peers. Tasks: "prepare" gives versions; "ids" writes a digest of
// the ids of each string of a file, and gives what a page has to load; "times" is a new process that loads and encodes.
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";

const [name, folder] = process.argv.slice(2);
const job = JSON.parse(readFileSync(0, "utf8")), base = job.vocabulary;
const require = createRequire(`${folder}/peers.js`);
const modules = `${folder}/node_modules`;
const imported = (module) => import(pathToFileURL(require.resolve(module)));

// Of each peer, in the way its documentation names for speed and size: `load` gives a function from a text to its ids,
// and texts spell no special token; `page` is what a page imports, and the files that it fetches besides.
const peers = {
  subwords: {
    load: async () => {
      const tok = await (await import(pathToFileURL(`${job.folder}/index.js`))).load();
      return (text) => tok.encode(text);
    },
    page: () => [`export { load } from ${JSON.stringify(`${job.folder}/index.js`)}`, `${job.folder}/subwords.wasm`, `${job.folder}/tokenizer.bin`],
  },
  hypertok: {
    load: async () => {
      const [{ fromBytes }, { loadVocab }] = [await imported("hypertok"), await imported("hypertok/vocab-resolve")];
      const { vocabulary } = await imported(`@hypertok/vocab-${base.replace("_base", "")}`); // without it, it is fetched
      const tok = await fromBytes(readFileSync(fileURLToPath(vocabulary)), { tier: "single" });
      return (text) => tok.encodeSync(text);
    },
    page: () => [
      `export { fromBytes } from "hypertok"; export { vocabulary } from "@hypertok/vocab-${base.replace("_base", "")}"`,
      `${modules}/hypertok/wasm/single/hypertok_wasm_core_bg.wasm`,
      `${modules}/@hypertok/vocab-${base.replace("_base", "")}/vocab.htk`,
    ],
  },
  tiktoken: {
    load: () => {
      const { Tiktoken } = require("tiktoken/lite"), ranks = require(`tiktoken/encoders/${base}.json`);
      const tok = new Tiktoken(ranks.bpe_ranks, ranks.special_tokens, ranks.pat_str);
      return (text) => tok.encode_ordinary(text);
    },
    page: () => [`export { Tiktoken } from "tiktoken/lite"; export { default as ranks } from "tiktoken/encoders/${base}.json"`],
  },
  "gpt-tokenizer": {
    load: async () => {
      const { encode, clearMergeCache } = await import(pathToFileURL(`${modules}/gpt-tokenizer/esm/encoding/${base}.js`));
      const options = { disallowedSpecial: new Set() };
      clearMergeCache(); // the module has one object
      return (text) => encode(text, options);
    },
    page: () => [`export { encode } from "gpt-tokenizer/encoding/${base}"`],
  },
  "js-tiktoken": {
    load: () => {
      const { Tiktoken } = require("js-tiktoken/lite"), ranks = require(`js-tiktoken/ranks/${base}`);
      const tok = new Tiktoken(ranks.default ?? ranks);
      return (text) => tok.encode(text, [], []);
    },
    page: () => [`export { Tiktoken } from "js-tiktoken/lite"; export { default as ranks } from "js-tiktoken/ranks/${base}"`],
  },
  "ai-tokenizer": {
    load: () => {
      const encoding = require(`ai-tokenizer/encoding/${base}`), tok = new (require("ai-tokenizer").Tokenizer)(encoding);
      return (text) => tok.encode(text, [], []);
    },
    page: () => [`export { Tokenizer } from "ai-tokenizer"; export * from "ai-tokenizer/encoding/${base}"`],
  },
  "@huggingface/tokenizers": {
    load: () => {
      const tok = new (require("@huggingface/tokenizers").Tokenizer)(JSON.parse(readFileSync(job.tokenizer, "utf8")), {});
      return (text) => tok.encode(text, { add_special_tokens: false }).ids;
    },
    page: () => [`export { Tokenizer } from "@huggingface/tokenizers"`, job.tokenizer],
  },
  kitoken: {
    prepare: () => writeFileSync(`${job.folder}/kit`, new (require("kitoken/node").Kitoken)(readFileSync(job.tokenizer)).to_bytes()),
    load: () => {
      const tok = new (require("kitoken/node").Kitoken)(readFileSync(`${job.folder}/kit`)); // its own compact format
      return (text) => tok.encode(text, false);
    },
    page: () => [`export * from "kitoken/web"`, `${modules}/kitoken/dist/web_bg.wasm`, `${job.folder}/kit`],
  },
};
const peer = peers[name];

/** The bytes that a page loads, compressed: modules bundled by esbuild, other files as they are; null without esbuild. */
async function pageBytes() {
  const [contents, ...files] = peer.page();
  if (!existsSync(`${modules}/esbuild`)) return null;
  const { outputFiles } = await require("esbuild").build({
    stdin: { contents, resolveDir: folder }, outdir: "page", bundle: true, minify: true, write: false, logLevel: "silent",
    format: "esm", target: "es2022", platform: "browser", external: ["node:*", "fs", "path"], loader: { ".wasm": "file" },
  });
  const parts = [...outputFiles.map((file) => file.contents), ...files.map((file) => readFileSync(file))];
  return parts.reduce((sum, part) => sum + gzipSync(part, { level: 9 }).length, 0);
}

function digest(encode, text) {
  try {
    return createHash("sha256").update(new Uint8Array(Uint32Array.from(encode(text)).buffer)).digest("hex").slice(0, 16);
  } catch (error) {
    return `refused: ${error.message ?? error}`;
  }
}

function seconds(run) {
  const begin = performance.now();
  run();
  return (performance.now() - begin) / 1e3;
}

/** Seconds of a first pass and of later ones: at least one, and as many as fit. */
function passes(run) {
  const found = [];
  for (let sum = 0; found.length < 2 || (sum < job.enough && found.length < 100); sum += found.at(-1)) found.push(seconds(run));
  return found;
}

const tasks = {
  prepare() {
    const version = name === "subwords" ? {} : { [`npm ${name}`]: JSON.parse(readFileSync(`${modules}/${name}/package.json`, "utf8")).version };
    return { versions: { node: process.versions.node, ...version } };
  },
  async ids() {
    await peer.prepare?.();
    const encode = await peer.load();
    writeFileSync(job.output, JSON.stringify(JSON.parse(readFileSync(job.strings, "utf8")).map((text) => digest(encode, text))));
    return { bytes: await pageBytes() };
  },
  async times() {
    const begin = performance.now(); // node itself has started
    const made = [await peer.load()];
    made[0]("Rays of Light, of which each is 1/60 of an Inch.");
    const ready = (performance.now() - begin) / 1e3, found = {};
    for (const [key, file] of Object.entries(job.texts)) {
      const text = readFileSync(file, "utf8"), parts = key === "lines" ? JSON.parse(text) : [text];
      const cold = seconds(() => parts.forEach((part) => made[0](part))); // until then, code is not compiled to its end
      const encode = await peer.load(); // a new object, which has met no word of the text
      made.push(encode); // compiled code lives as long as an object that uses it
      found[key] = [cold, ...passes(() => parts.forEach((part) => encode(part)))];
    }
    return { ready, passes: found };
  },
};

let answer;
try {
  answer = { status: "ok", seconds: {}, ...(await tasks[job.task]()) };
} catch (error) {
  const absent = error.code === "MODULE_NOT_FOUND" || error.code === "ENOENT";
  const missing = error.code === "ERR_PACKAGE_PATH_NOT_EXPORTED" || error.code === "ERR_MODULE_NOT_FOUND";
  const status = absent && job.task === "prepare" ? "not installed" : missing ? "no such call" : "refused";
  answer = { status, message: String(error.message ?? error).split("\n")[0].slice(0, 200) };
}
console.log(`\n${JSON.stringify(answer)}`);
process.exit(0);
