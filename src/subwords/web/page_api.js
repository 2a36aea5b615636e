// What the page of `subwords show` asks its server for, answered in the page itself by exported tokenizers.

import { load } from "./index.js";

const given = JSON.parse(document.getElementById("exported").textContent);
const MOST_CHARACTERS = 200000;
const utf8 = new TextEncoder(), strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const bytesOf = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));

async function loaded() {
  const module = await WebAssembly.compile(bytesOf(given.module));
  return Promise.all(given.tokenizers.map(({ image }) => load({ module, image: bytesOf(image) })));
}

const ready = loaded();

export async function getState() {
  await ready;
  const tokenizers = given.tokenizers.map(({ about }) => about);
  return { tokenizers, text: given.text, left_out: 0, most_characters: MOST_CHARACTERS, panels: {} };
}

export async function ask(path, { text, most, special }) {
  if (path !== "/api/encode") throw new Error("This page has no Python: subwords show tells how a word becomes tokens.");
  const places = placesOf(text), found = [];
  for (const [at, tok] of (await ready).entries()) {
    try {
      found.push(encoded(tok, text, special ? "allow" : "text", places, given.tokenizers[at].about.unk));
    } catch (error) {
      found.push({ version: 0, error: error.message });
    }
  }
  const keys = found.map(({ ids, units }) => units && new Set(ids.map((_, at) => keyOf(text, units, at))));
  const others = (own) => keys.filter((each, at) => each && at !== own);
  const tokenizers = found.map((one, own) => (one.error ? one : shown(one, text, most, others(own))));
  return { characters: places[text.length], bytes: utf8.encode(text).length, left_out: 0, tokenizers };
}

// How many characters are before each UTF-16 unit.
function placesOf(text) {
  const places = new Uint32Array(text.length + 1);
  for (let at = 0; at < text.length; at++) places[at + 1] = places[at] + (text.codePointAt(at) > 0xffff ? 0 : 1);
  return places;
}

function encoded(tok, text, special, places, unk) {
  let ids = tok.encode(text, { special }), units = null;
  try {
    units = tok.encodeWithSpans(text, { special }).spans;
  } catch {
    // A normalizer changed the text: the page shows the ids without their places.
  }
  const place = (which) => Array.from(ids, (_, at) => (units ? places[units[2 * at + which]] : 0));
  const counts = new Map();
  for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1);
  return { tok, ids: [...ids], units, counts, starts: place(0), stops: place(1), unknown: counts.get(unk) ?? 0 };
}

// The range of a token without whitespace at its ends: tokenizers agree on tokens of the same range.
function keyOf(text, units, at) {
  const [begin, stop] = [units[2 * at], units[2 * at + 1]], part = text.slice(begin, stop), bare = part.trim();
  const start = begin + part.indexOf(bare);
  return bare && `${start} ${start + bare.length}`;
}

function shown({ tok, ids, units, counts, starts, stops, unknown }, text, most, others) {
  const first = ids.slice(0, most);
  const lacks = (key) => key && others.some((keys) => !keys.has(key));
  return {
    version: 0, problem: null, tokens: ids.length, framing: 0, distinct: counts.size, unknown,
    ids: first, starts: starts.slice(0, most), stops: stops.slice(0, most), words: [],
    special: first.map((id) => Number(tok.isSpecial(id))),
    differs: first.map((_, at) => Number(Boolean(units && lacks(keyOf(text, units, at))))),
    vocabulary: Object.fromEntries(first.map((id) => [id, entryOf(tok.tokenBytes(id), counts.get(id))])),
  };
}

// A token, its spelling in files, its bytes, and how often the text has it; bytes that are no text as surrogates.
function entryOf(bytes, count) {
  const escaped = () => String.fromCharCode(...Array.from(bytes, (byte) => (byte < 128 ? byte : 0xdc00 + byte)));
  let text;
  try {
    text = strict.decode(bytes);
  } catch {
    text = escaped();
  }
  return [text, text, Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(" "), null, null, count];
}
