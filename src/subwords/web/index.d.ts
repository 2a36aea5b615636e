/** How special tokens in a text are read: as ordinary text, or as the tokens that they spell. */
export type Special = "text" | "allow";

export interface EncodeOptions {
  /** Default: "text". */
  special?: Special;
  /** Whether to add the tokens that the tokenizer's template has around a text. Default: false. */
  template?: boolean;
}

export interface DecodeOptions {
  /** Whether to leave out special tokens. Default: false. */
  skipSpecialTokens?: boolean;
}

export interface DecodeStream {
  /** The characters that are complete after these ids. */
  step(ids: number | ArrayLike<number>): string;
  /** What remains after the last id. */
  finish(): string;
}

export interface Tokenizer {
  /** How many ids there are. */
  readonly vocabularySize: number;
  /** The ids of a text; an Error for a lone surrogate, and for a character that has no id. */
  encode(text: string, options?: EncodeOptions): Uint32Array;
  /** The ids of each text. */
  encodeBatch(texts: readonly string[], options?: EncodeOptions): Uint32Array[];
  /** How many ids a text has. */
  count(text: string, options?: EncodeOptions): number;
  /**
   * The ids of a text, and for each where it begins and ends in the text, in UTF-16 units: two numbers an id. Ids that
   * share a character all have it. An Error for a text that a normalizer changes, and where spans are trimmed.
   */
  encodeWithSpans(text: string, options?: { special?: Special }): { ids: Uint32Array; spans: Uint32Array };
  /** The beginning of a text that has at most `size` ids, those of a template too; no character is cut. */
  truncate(text: string, size: number, options?: EncodeOptions): string;
  /** The text of ids; bytes that are not UTF-8 become U+FFFD. A RangeError for an id that does not exist. */
  decode(ids: ArrayLike<number>, options?: DecodeOptions): string;
  /** The bytes that an id adds to a text, between others. */
  tokenBytes(id: number): Uint8Array;
  /** Whether an id is that of a special token. */
  isSpecial(id: number): boolean;
  /** A decoder of ids that arrive one by one. */
  stream(options?: DecodeOptions): DecodeStream;
}

export interface Files {
  /** subwords.wasm: its bytes, or compiled. */
  module?: BufferSource | WebAssembly.Module;
  /** tokenizer.bin. */
  image?: ArrayBuffer | Uint8Array;
}

/** The tokenizer of this folder. Files that are not given are read from beside index.js. */
export function load(files?: Files): Promise<Tokenizer>;
