// Elements are built node by node: text is never read as HTML.

export function element(tag, attributes = {}, ...children) {
  const found = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) found.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) found.setAttribute(name, value);
  }
  found.append(...children);
  return found;
}

export function svg(tag, attributes = {}, ...children) {
  const found = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) found.setAttribute(name, value);
  found.append(...children);
  return found;
}

export const byId = (id) => document.getElementById(id);

export const number = (value, digits = 0) =>
  value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });

// Control, format and other invisible characters, and bytes that are not characters (lone surrogates DC80 to DCFF).
const INVISIBLE = /[\p{C}\p{Z}]/gu;
const NAMES = { " ": "␣", "\n": "↵", "\t": "⇥" };

function nameOf(character) {
  if (character in NAMES) return NAMES[character];
  const code = character.codePointAt(0);
  if (code >= 0xdc80 && code <= 0xdcff) return `\\x${(code - 0xdc00).toString(16)}`;
  const digits = code.toString(16);
  return code < 0x80 ? `\\x${digits.padStart(2, "0")}` : `\\u${code > 0xffff ? `{${digits}}` : digits.padStart(4, "0")}`;
}

// A mark at the start would combine with what stands before it.
const circled = (text) => (/^\p{M}/u.test(text) ? "◌" + text : text);

export const visible = (text) => circled(text).replace(INVISIBLE, nameOf);

const MOST = 200; // characters of one chip

export function showText(target, text) {
  const cut = text.length > MOST ? text.slice(0, MOST) : text;
  const parts = [];
  let done = 0;
  const whole = circled(cut);
  for (const match of whole.matchAll(INVISIBLE)) {
    if (match.index > done) parts.push(whole.slice(done, match.index));
    parts.push(element("i", { class: "mark" }, nameOf(match[0])));
    done = match.index + match[0].length;
  }
  if (done < whole.length) parts.push(whole.slice(done));
  if (text.length > MOST) parts.push(element("i", { class: "mark" }, `… (${number(text.length - MOST)} more)`));
  target.replaceChildren(...parts);
  return target;
}

// A token has the same color everywhere, with or without the mark of a space or of a continued word: the next one where
// the neighbour before it has this color.
export function colorOf(text, before = null) {
  const bare = text.replace(/^(?: |▁|##)(?=.)/su, "");
  let hash = 7;
  for (let at = 0; at < Math.min(bare.length, 64); at++) hash = (Math.imul(hash, 31) + bare.charCodeAt(at)) >>> 0;
  const found = ((hash ^ (hash >>> 7)) >>> 0) % 8;
  return `c${`c${found}` === before ? (found + 1) % 8 : found}`;
}

export function chip(text, more = "") {
  return showText(element("span", { class: `chip ${colorOf(text)} ${more}`.trim() }), text);
}
