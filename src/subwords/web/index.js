// A tokenizer that subwords exported, with the ids that it has in Python. Needs no other module.
//
// The work is done by kernels in subwords.wasm on the memory image in tokenizer.bin. This file writes texts into that
// memory, provides room where a kernel stops for want of it, and reads results. The image is compressed by gzip.

// Why a kernel stops: `layout.NEED_...` and `NEED_...` of kernels/web.py; the last four are rooms without such a status.
const NEED_OUT = 1, NEED_SLOTS = 2, NEED_ARENA = 3, NEED_SCRATCH = 4, UNKNOWN = 8;
const NEED_TEXT = 16, NEED_PLACES = 17, RUN_ROOM = 18, MEMORY = 19, BUILDING = 20, SPANS = 21;
const DATA = 16, SIZE = 32; // of an array: where the address of its data is, and that of its size
const ITEMS = 24, HIDDEN = 4; // of a tuple: where its items are; of an id: the flag of special tokens
const BLOCK = 1 << 12; // bytes, of kernels/web.py
const PAGE = 1 << 16, SPARE = 192; // bytes after a text that kernels may read
const MOST_AHEAD = 1 << 10; // pages that memory grows by before they are needed: V8 may collect garbage each time
const MOST_AT_ONCE = 1 << 17; // slots, up to which the size of a text says how many there will be
const utf8 = new TextEncoder();

/** Encodes and decodes; see index.d.ts. */
export class Tokenizer {
  #exports; #memory; #facts; #view; #end; #sizes; #words = {}; #input = [0, 0]; #slotsFor = 0; #stream;

  constructor(module, image) {
    const length = new DataView(image.buffer, image.byteOffset).getUint32(0, true);
    const facts = (this.#facts = JSON.parse(new TextDecoder().decode(image.subarray(4, 4 + length))));
    const [mark] = WebAssembly.Module.customSections(module, "subwords");
    if (new TextDecoder().decode(mark ?? new Uint8Array()) !== facts.module)
      throw new Error("tokenizer.bin was not made for this subwords.wasm: export both again");
    const memory = (this.#memory = new WebAssembly.Memory({ initial: Math.ceil((facts.end + image.length) / PAGE) + 1 }));
    this.#exports = new WebAssembly.Instance(module, { env: { memory } }).exports;
    this.#view = new DataView(memory.buffer);
    this.#end = facts.end;
    this.#restore(image.subarray(4 + length));
    this.#sizes = { ...facts.sizes };
    const places = this.#exports.subwords_kernels.value;
    for (const at of facts.kernels) this.#set(at, this.#view.getUint32(places + 4 * this.#get(at), true));
    for (const [name, [array, place]] of Object.entries(facts.words)) this.#words[name] = this.#data(array) + 8 * place;
    // A text that was made to collide must not know the seeds.
    const seeds = crypto.getRandomValues(new Uint32Array(2 * facts.seeds)).map((value, k) => (k % 2 ? value : value | 1));
    new Uint32Array(memory.buffer, this.#data(facts.at.seeds), seeds.length).set(seeds);
    for (const [kind, size] of Object.entries(facts.sizes)) this.#grow(Number(kind), size);
    this.#fill(facts.slots[0]);
    this.#build();
    this.#stream = new BigInt64Array(memory.buffer, this.#data(facts.at.stream), facts.streamSize).slice();
  }

  /** How many ids there are. */
  get vocabularySize() {
    return this.#facts.vocabulary;
  }

  /** The ids of a text. */
  encode(text, { special = "text", template = false } = {}) {
    const count = this.#encoded([text], special), [before, after] = template ? this.#around() : [[], []];
    const ids = new Uint32Array(before.length + count + after.length);
    ids.set(before);
    ids.set(new Uint32Array(this.#memory.buffer, this.#data(this.#facts.at.out), count), before.length);
    ids.set(after, before.length + count);
    return ids;
  }

  /** The ids of each text. */
  encodeBatch(texts, { special = "text", template = false } = {}) {
    if (!Array.isArray(texts)) throw new TypeError("expected an array of texts");
    const count = this.#encoded(texts, special), [before, after] = template ? this.#around() : [[], []];
    const ids = new Uint32Array(this.#memory.buffer, this.#data(this.#facts.at.out), count);
    const upto = this.#data(this.#facts.at.upto), offsets = this.#data(this.#facts.at.offsets);
    let start = 0;
    return Array.from(texts, (_, k) => {
      const parts = this.#get(upto + 8 * k), stop = parts ? this.#get(offsets + 8 * (parts - 1)) : 0;
      const found = new Uint32Array(before.length + stop - start + after.length);
      found.set(before);
      found.set(ids.subarray(start, stop), before.length);
      found.set(after, found.length - after.length);
      start = stop;
      return found;
    });
  }

  /** How many ids a text has. */
  count(text, { special = "text", template = false } = {}) {
    const [before, after] = template ? this.#around() : [[], []];
    return before.length + this.#encoded([text], special) + after.length;
  }

  /** The ids of a text, and where each begins and ends in it. */
  encodeWithSpans(text, { special = "text" } = {}) {
    if (this.#facts.trims) throw new Error("spans are not available: this tokenizer removes whitespace from them");
    const count = this.#encoded([text], special), { out, tokens, spans } = this.#facts.at;
    if (count > (this.#sizes[SPANS] ?? 0)) this.#grow(SPANS, 2 * count);
    const args = [out, count, tokens, this.#input[0], this.#get(this.#data(this.#facts.at.lengths)), spans];
    if (!this.#exports.subwords_web_spans(...args.map(BigInt)))
      throw new Error("spans are not available: the ids of this text do not have its bytes: a normalizer, an unknown token or one that takes whitespace changed them");
    const [ids, ranges] = [[out, count], [spans, 2 * count]].map(([at, size]) =>
      new Uint32Array(this.#memory.buffer, this.#data(at), size).slice(),
    );
    return { ids, spans: ranges };
  }

  /** The beginning of a text, as long as it has at most `size` ids. */
  truncate(text, size, options) {
    if (!Number.isInteger(size) || size < 0) throw new RangeError(`expected size to be an integer from 0 on, not ${size}`);
    const fits = (stop) => this.count(text.slice(0, stop), options) <= size;
    if (!fits(0)) throw new RangeError(`expected size to be at least ${this.count("", options)}, not ${size}: the template has as many ids`);
    let [most, over] = [0, text.length + 1]; // a place that fits, and one that does not, or is none
    for (let guess = 4 * size; over - most > 1; guess = over > text.length ? 2 * most + 1 : (most + over) >> 1) {
      let stop = Math.max(most + 1, Math.min(guess, over - 1));
      if (inPair(text, stop)) stop += stop + 1 < over ? 1 : -1;
      if (stop <= most) break;
      if (fits(stop)) most = stop;
      else over = stop;
    }
    // More characters may have fewer ids, mostly within a word: its end is tried, and taken if it is as full as `most`.
    const end = most + /^[\p{L}\p{M}\p{N}]*/u.exec(text.slice(most, most + 64))[0].length;
    const next = end + (text.codePointAt(end) > 0xffff ? 2 : 1), count = this.count(text.slice(0, end), options);
    if (count === size || (count < size && (end === text.length || !fits(next)))) most = end;
    return text.slice(0, most);
  }

  /** The text of ids. Bytes that are not UTF-8 become U+FFFD. */
  decode(ids, options) {
    const stream = this.stream(options);
    return stream.step(ids) + stream.finish();
  }

  /** The bytes that an id adds to a text, between others. */
  tokenBytes(id) {
    const [data, offsets, trims, flags] = this.#columns();
    if (!(id in flags)) throw new RangeError(`expected an id from 0 to ${this.#facts.vocabulary - 1}, not ${id}`);
    const [begin, stop] = new Uint32Array(this.#memory.buffer, offsets, flags.length + 1).subarray(id, id + 2);
    const [before, after] = new Uint16Array(this.#memory.buffer, trims, 4 * flags.length).subarray(4 * id);
    return new Uint8Array(this.#memory.buffer, data + begin + before, stop - after - begin - before).slice();
  }

  /** Whether an id is that of a special token. */
  isSpecial(id) {
    return (this.#columns()[3][id] & HIDDEN) !== 0;
  }

  /** A decoder of ids that arrive one by one. */
  stream({ skipSpecialTokens = false } = {}) {
    const state = this.#stream.slice(), [array, place] = this.#facts.words.skips;
    state[place] = BigInt(skipSpecialTokens);
    return new DecodeStream((...args) => this.#decoded(...args), state);
  }

  // ------------------------------------------------------------------ memory

  #get(at) {
    return this.#view.getUint32(at, true); // addresses and sizes have 64 bits, of which the upper half is 0
  }

  #set(at, value) {
    this.#view.setBigUint64(at, BigInt(value), true);
  }

  #word(name) {
    return this.#get(this.#words[name]);
  }

  #data(array) {
    return this.#get(array + DATA);
  }

  #size(array) {
    return this.#get(this.#get(array + SIZE));
  }

  /** The address of new memory, which is 0, for arrays of so many bytes, one after another; an Error leaves all as it is. */
  #allocate(...sizes) {
    const at = this.#end, end = sizes.reduce((place, bytes) => place + padded(bytes), at), { byteLength } = this.#memory.buffer;
    const missing = Math.ceil((end - byteLength) / PAGE);
    if (missing > 0) {
      const ahead = Math.max(missing, Math.min(byteLength / PAGE / 4, MOST_AHEAD) | 0);
      if (![ahead, missing].some((pages) => this.#has(pages)))
        throw new RangeError(`expected a text for which there is memory: ${end} bytes are needed, ${byteLength} are there`);
      this.#view = new DataView(this.#memory.buffer);
    }
    this.#end = end;
    this.#set(this.#get(this.#facts.rooms[MEMORY][0][0] + SIZE), this.#end);
    return at;
  }

  #has(pages) {
    try {
      return this.#memory.grow(pages) >= 0;
    } catch {
      return false;
    }
  }

  /** Give the arrays of a kind room for a size, and keep what is in them if `keeps`. */
  #grow(kind, size, keeps = true) {
    size = Math.ceil(size);
    const rooms = this.#facts.rooms[kind] ?? [], bytes = rooms.map(([, width, base, per]) => width * (base + per * size));
    let at = this.#allocate(...bytes); // for all of them or none
    rooms.forEach(([array, width], k) => {
      const data = this.#data(array), before = keeps ? width * this.#size(array) : 0;
      new Uint8Array(this.#memory.buffer).copyWithin(at, data, data + before);
      this.#set(array + DATA, at);
      this.#set(this.#get(array + SIZE), bytes[k] / width);
      at += padded(bytes[k]);
    });
    this.#sizes[kind] = size;
    if (kind === NEED_TEXT) for (const name of ["room", "generalRoom"]) this.#set(this.#words[name], size);
    if (kind === NEED_PLACES) this.#set(this.#words.places, size);
  }

  /** Let the table of words have a number of slots, and only the words that it has at first. */
  #fill(count) {
    const { slots } = this.#facts.at;
    if (count > (this.#sizes[NEED_SLOTS] ?? 0)) this.#grow(NEED_SLOTS, count);
    new Uint8Array(this.#memory.buffer, this.#data(slots), 8 * this.#size(slots)).fill(0);
    for (const name of ["slotsUsed", "idsUsed", "bytesUsed"]) this.#set(this.#words[name], 0);
    this.#exports.subwords_add_tokens(...this.#facts.first.map(BigInt));
  }

  /** Write an image into the memory; its blocks are behind it meanwhile. */
  #restore(image) {
    const { base, blocks, data, end, rooms } = this.#facts, bytes = new Uint8Array(this.#memory.buffer);
    const filters = end + BLOCK; // the last block may be longer than the image
    bytes.set(image.subarray(0, data - base), base);
    bytes.set(image.subarray(data - base), filters);
    this.#exports.subwords_web_restore(...[rooms[MEMORY][0][0], data, filters, blocks].map(BigInt));
    bytes.fill(0, end);
  }

  /** Make tables, and give back the memory that this took. */
  #build() {
    const { minusOnes, steps } = this.#facts, end = this.#end;
    this.#grow(BUILDING, 0);
    for (const [array, width] of minusOnes)
      new Uint8Array(this.#memory.buffer, this.#data(array), width * this.#size(array)).fill(-1);
    for (const [name, ...args] of steps) this.#exports[`subwords_${name}`](...args.map(BigInt));
    new Uint8Array(this.#memory.buffer, end).fill(0);
    this.#end = end;
  }

  /** Double the table of words, or more for a long text. */
  #double() {
    let count = 2 * this.#sizes[NEED_SLOTS];
    while (count < this.#slotsFor) count *= 2;
    const { slots, spare, seeds } = this.#facts.at, [data, size] = [this.#data(slots), this.#size(slots)];
    this.#grow(NEED_SLOTS, count, false);
    this.#set(spare + DATA, data);
    this.#set(this.#get(spare + SIZE), size);
    this.#exports.subwords_rehash(BigInt(spare), BigInt(slots), BigInt(seeds));
  }

  /** Provide what a kernel stopped for. */
  #provide(kind) {
    const wanted = this.#word("wanted"), needed = this.#word("needed"), size = this.#sizes[kind];
    if (kind === NEED_SLOTS) {
      if (2 * size > this.#facts.slots[1]) this.#fill(0);
      else this.#double();
    } else if (kind === NEED_ARENA) {
      if (size >= this.#facts.mostArena) this.#fill(0);
      else this.#grow(kind, 2 * (size + wanted));
    } else if (kind === NEED_SCRATCH || kind === NEED_OUT) {
      this.#grow(kind, Math.max(1.5 * wanted, kind === NEED_OUT ? 1.5 * size : 0));
    } else if (kind === NEED_PLACES) {
      this.#grow(kind, 4 * size);
    } else if (kind === NEED_TEXT && size < 64 * needed + (1 << 22)) {
      this.#grow(kind, Math.max(2 * size, 1.25 * needed));
    } else {
      throw new Error(kind === UNKNOWN ? this.#unknown() : `expected a text that this tokenizer can normalize (${kind})`);
    }
  }

  #unknown() {
    const at = this.#word("textAt") + this.#word("unknownAt"), bytes = new Uint8Array(this.#memory.buffer, at, 4);
    const [character] = new TextDecoder().decode(bytes);
    return `'${character}' is not in the vocabulary and the model has no unk token`;
  }

  // ------------------------------------------------------------------ texts to ids

  #around() {
    if (!this.#facts.around) throw new Error("expected a tokenizer with a template of one text; this one has none");
    return this.#facts.around;
  }

  /** Write the ids of texts into the memory: how many. */
  #encoded(texts, special) {
    const finders = Object.hasOwn(this.#facts.finders, special) && this.#facts.finders[special];
    if (!finders) {
      const why = Object.hasOwn(this.#facts.refused, special) && this.#facts.refused[special];
      throw new Error(why ? `special: "${special}" is not available: ${why}` : `expected special to be "text" or "allow", not ${special}`);
    }
    this.#write(texts);
    this.#set(this.#words.state, 0);
    this.#set(this.#words.texts, texts.length);
    this.#set(this.#words.first, finders[0]);
    this.#set(this.#words.last, finders[1]);
    for (;;) {
      const found = Number(this.#exports.subwords_web_encode(BigInt(this.#facts.at.job)));
      if (found >= 0) return found;
      this.#provide(-found);
    }
  }

  #write(texts) {
    let units = 0;
    for (const text of texts) {
      if (typeof text !== "string") throw new TypeError(`expected text as a string, not ${typeof text}`);
      units += text.length;
    }
    if (3 * units > this.#input[1]) this.#input = [this.#allocate(4 * units), 4 * units];
    if (texts.length >= this.#sizes[NEED_PLACES]) this.#grow(NEED_PLACES, 2 * texts.length);
    const { begins, lengths } = this.#facts.at, [atBegins, atLengths] = [this.#data(begins), this.#data(lengths)];
    let [at, left] = this.#input;
    texts.forEach((text, k) => {
      const { written } = utf8.encodeInto(text, new Uint8Array(this.#memory.buffer, at, left));
      this.#set(atBegins + 8 * k, at);
      this.#set(atLengths + 8 * k, written);
      at += written;
      left -= written;
    });
    // Lone surrogates became U+FFFD; to look for it takes a tenth of the time that `isWellFormed` does.
    const size = at - this.#input[0], [[memory]] = this.#facts.rooms[MEMORY];
    if (size > units && this.#exports.subwords_web_replaced(...[memory, this.#input[0], size].map(BigInt)) && !texts.every(isWellFormed))
      throw new Error("expected text without lone surrogates");
    // One step for a long text: room that is given up has been paid for, since pages of memory take time at first.
    if (size > 3 * this.#sizes[NEED_OUT]) this.#grow(NEED_OUT, Math.max(size / 3, 1.5 * this.#sizes[NEED_OUT]));
    this.#slotsFor = Math.min(size >> 5, MOST_AT_ONCE);
  }

  // ------------------------------------------------------------------ ids to text

  /** Where the columns of `WebTokens` are, and the last one, flags. */
  #columns() {
    const places = Array.from({ length: 4 }, (_, k) => this.#get(this.#facts.at.tokens + ITEMS + 8 * k));
    const flags = places.pop();
    return [...places.map((array) => this.#data(array)), new Uint8Array(this.#memory.buffer, this.#data(flags), this.#size(flags))];
  }

  /** The text of ids after a state, which changes; `run`: the bytes that waited; returns the text and those. */
  #decoded(state, run, ids, final, reader) {
    const at = this.#facts.at, [skips, waiting, read] = ["skips", "waiting", "read"].map((name) => this.#facts.words[name][1]);
    if (typeof ids === "string") throw new TypeError("expected ids as an array of numbers, not a string");
    if (!ids.slice) ids = Array.from(ids);
    const bad = ids.findIndex((id) => !(Number.isInteger(id) && id >= 0 && id < this.#facts.vocabulary));
    if (bad >= 0) throw new RangeError(`expected ids from 0 to ${this.#facts.vocabulary - 1}; ids[${bad}] is ${ids[bad]}`);
    let text = "", done = 0, found;
    while (this.#sizes[RUN_ROOM] <= run.length) this.#grow(RUN_ROOM, 2 * this.#sizes[RUN_ROOM]);
    do {
      const part = ids.slice(done, done + this.#sizes[RUN_ROOM]), last = final && done + part.length === ids.length;
      new Uint32Array(this.#memory.buffer, this.#data(at.ids), part.length).set(part);
      new BigInt64Array(this.#memory.buffer, this.#data(at.stream), state.length).set(state);
      new Uint8Array(this.#memory.buffer, this.#data(at.run), run.length).set(run);
      const args = [at.ids, part.length, at.tokens, at.stream, at.run, at.text, last ? 1 : 0].map(BigInt);
      found = this.#exports.subwords_web_decode(...args);
      state.set(new BigInt64Array(this.#memory.buffer, this.#data(at.stream), state.length));
      run = new Uint8Array(this.#memory.buffer, this.#data(at.run), Number(state[waiting])).slice();
      if (found >= 0n) {
        const [begin, stop] = [Number(found >> 32n), Number(found & 0xffffffffn)].map((place) => this.#data(at.text) + place);
        text += reader.decode(new Uint8Array(this.#memory.buffer, begin, stop - begin), { stream: true });
      }
      const taken = found >= 0n ? Number(state[read]) : 0;
      done += taken;
      if (found < 0n || (taken === 0 && part.length > 0)) this.#grow(RUN_ROOM, 2 * this.#sizes[RUN_ROOM]);
    } while (done < ids.length || found < 0n);
    return [text, run];
  }
}

/** Decodes ids that arrive one by one; see index.d.ts. */
class DecodeStream {
  #decoded; #state; #run = new Uint8Array(0); #reader = new TextDecoder("utf-8", { ignoreBOM: true });

  constructor(decoded, state) {
    this.#decoded = decoded;
    this.#state = state;
  }

  /** The characters that are complete after these ids. */
  step(ids) {
    return this.#next(typeof ids === "number" ? [ids] : ids, false);
  }

  /** What remains. */
  finish() {
    return this.#next([], true) + this.#reader.decode();
  }

  #next(ids, final) {
    const [text, run] = this.#decoded(this.#state, this.#run, ids, final, this.#reader);
    this.#run = run;
    return text;
  }
}

/** The bytes of an array with what kernels may read after it. */
const padded = (bytes) => Math.ceil((bytes + SPARE) / 64) * 64;
/** Whether a place is within a character. */
const inPair = (text, place) => text.codePointAt(place - 1) > 0xffff;
const isWellFormed = (text) => text.isWellFormed?.() ?? !/\p{Surrogate}/u.test(text);

async function read(url) {
  if (url.protocol === "file:" && globalThis.process?.versions?.node) {
    const { readFile } = await import("node:fs/promises");
    return readFile(url);
  }
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: ${response.status} ${response.statusText}`);
  return new Uint8Array(await response.arrayBuffer());
}

/** The tokenizer of this folder; options: its files, where they cannot be read from beside this module. */
export async function load({ module, image } = {}) {
  module ??= await read(new URL("./subwords.wasm", import.meta.url));
  image ??= await read(new URL("./tokenizer.bin", import.meta.url));
  if (!(module instanceof WebAssembly.Module)) module = await WebAssembly.compile(module);
  const content = new Response(image).body.pipeThrough(new DecompressionStream("gzip"));
  return new Tokenizer(module, new Uint8Array(await new Response(content).arrayBuffer()));
}
