// The page: reads its state from the address, sends the text to the server, and shows the answers.

import { ask, getState } from "./api.js";
import { listenToChat, renderChat } from "./chat.js";
import { Column, hideDetail } from "./columns.js";
import { byId, number } from "./dom.js";
import { clearEvaluation, clearFindings, listenToPanels, showFigures } from "./panels.js";
import { showSteps } from "./steps.js";

const AT_FIRST = 2000; // tokens that a column shows
const IN_ADDRESS = 10000; // characters of a text that the address keeps
const LONG = 20000; // characters of a text that is not sent on every keystroke
const POLL = 1000, ADDRESS = 300, PAUSE = 200; // milliseconds

const text = byId("text");
let limit = 200000, columns = [], shown = AT_FIRST, answer = null, selected = null, leftOut = null;

const view = () => document.querySelector('input[name="view"]:checked').value;
const special = () => byId("special").checked;
const names = () => columns.map((column) => column.name);
const complain = (message) => { byId("status").textContent = message; };
let told = 0; // until when an answer to what was just done stays

function tell(message) {
  complain(message);
  told = Date.now() + 4000;
}

// ------------------------------------------------------------------ the text, and the part of it that is left out

function cutAt(value, most) {
  const inPair = /[\ud800-\udbff]/.test(value[most - 1] ?? "");
  return value.slice(0, inPair ? most - 1 : most);
}

function notice() {
  const parts = [];
  if (leftOut) parts.push(`The text is cut: ${leftOut} left out.`);
  if (text.value.length > IN_ADDRESS) parts.push(`The address keeps texts of up to ${number(IN_ADDRESS)} characters; a reload loses this one.`);
  byId("notice").textContent = parts.join(" ");
  byId("notice").hidden = parts.length === 0;
}

function setText(value) {
  leftOut = value.length > limit ? `${number(value.length - cutAt(value, limit).length)} characters are` : null;
  text.value = cutAt(value, limit);
}

// A large paste is cut before the browser lays it out.
text.addEventListener("beforeinput", (event) => {
  const room = limit - text.value.length + (text.selectionEnd - text.selectionStart);
  if (!event.data || event.data.length <= room) return;
  event.preventDefault();
  const kept = cutAt(event.data, Math.max(0, room));
  text.setRangeText(kept, text.selectionStart, text.selectionEnd, "end");
  leftOut = `${number(event.data.length - kept.length)} characters are`;
  changed();
});

// ------------------------------------------------------------------ the address

let writing = 0;

function writeAddress(wait = ADDRESS) {
  clearTimeout(writing);
  writing = setTimeout(() => {
    const parts = new URLSearchParams();
    if (text.value.length <= IN_ADDRESS) parts.set("text", text.value);
    if (view() !== "tokens") parts.set("view", view());
    if (!byId("outline").checked) parts.set("outline", "no");
    if (special()) parts.set("special", "yes");
    history.replaceState(null, "", `#${parts}`);
  }, wait);
}

async function copyLink() {
  if (text.value.length > IN_ADDRESS) return tell(`A link holds a text of up to ${number(IN_ADDRESS)} characters; this one has ${number(text.value.length)}.`);
  writeAddress(0);
  await new Promise((resolve) => setTimeout(resolve));
  try {
    await navigator.clipboard.writeText(location.href);
    return tell("The link is copied.");
  } catch {
    return tell("The browser does not let this page copy: take the link from the address bar.");
  }
}

function readAddress() {
  const parts = new URLSearchParams(location.hash.slice(1));
  if (parts.has("text")) setText(parts.get("text"));
  const wanted = parts.get("view") === "ids" ? "ids" : "tokens";
  document.querySelector(`input[name="view"][value="${wanted}"]`).checked = true;
  byId("outline").checked = parts.get("outline") !== "no";
  byId("special").checked = parts.get("special") === "yes";
}

// ------------------------------------------------------------------ requests: one at a time, the newest text next

let busy = false, again = false, pause = 0;

function changed() {
  if (text.value.length > limit) setText(text.value);
  shown = AT_FIRST;
  notice();
  writeAddress();
  clearTimeout(pause);
  if (text.value.length > LONG) pause = setTimeout(encode, PAUSE);
  else encode();
}

async function encode() {
  if (busy) { again = true; return; }
  busy = true;
  try {
    const sent = text.value;
    const found = await ask("/api/encode", { text: sent, most: shown, special: special() });
    // What was found for another text is gone with it: metrics, and the token at the bottom.
    if (answer?.text !== sent) clearEvaluation();
    if (answer?.text !== sent || answer?.special !== special()) hideDetail();
    answer = { ...found, text: sent, special: special() };
    render();
    for (const column of columns) column.pointAtFocus();
    if (Date.now() > told) complain("");
  } catch (error) {
    complain(error.message);
  }
  busy = false;
  if (again) { again = false; encode(); }
}

function render() {
  byId("columns").classList.toggle("outlined", byId("outline").checked);
  for (const column of columns) column.link(null);
  answer.tokenizers.forEach((one, at) => columns[at].show(one, answer, view()));
  showFigures(answer, names());
  if (selected && selected.text === answer.text) columns[selected.place].mark(selected.first, selected.stop);
  else closeSteps();
}

function closeSteps() {
  selected = null;
  for (const column of columns) column.mark(0, 0);
  byId("steps").hidden = true;
}

async function select(place, token) {
  try {
    const sent = answer.text;
    const found = await ask("/api/word", { text: sent, tokenizer: place, token, special: special() });
    columns.forEach((column) => column.mark(0, 0));
    columns[place].mark(found.first, found.stop);
    selected = { text: sent, place, first: found.first, stop: found.stop };
    showSteps(found, columns[place].name);
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    byId("steps").scrollIntoView({ block: "nearest", behavior: calm ? "auto" : "smooth" });
  } catch (error) {
    complain(error.message);
  }
}

const actions = {
  select,
  text: () => answer.text,
  link: (place, span) => columns.forEach((column) => column.link(column.place === place ? null : span)),
  more: () => { shown = Math.min(20000, shown * 3); encode(); },
};

// ------------------------------------------------------------------ a file that is dropped on the page, and keys

const hasFile = (event) => event.dataTransfer?.types.includes("Files");

function isUtf8(bytes, cut) {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: cut });
    return true;
  } catch {
    return false;
  }
}

// No more is read than the page takes: 4 bytes are a character at most.
async function dropped(file) {
  const bytes = await file.slice(0, 4 * limit).arrayBuffer(), cut = file.size > 4 * limit;
  const value = new TextDecoder().decode(bytes, { stream: cut });
  if (value.includes("\0")) return tell(`${file.name} is not a text: it has NUL characters.`);
  complain("");
  setText(value);
  if (cut) leftOut = "the rest of the file is";
  if (!isUtf8(bytes, cut)) tell(`${file.name} is not UTF-8: what cannot be read is shown as \ufffd.`);
  return changed();
}

addEventListener("dragover", (event) => {
  if (!hasFile(event)) return;
  event.preventDefault();
  event.dataTransfer.dropEffect = "copy";
});
addEventListener("drop", (event) => {
  if (!hasFile(event)) return;
  event.preventDefault();
  dropped(event.dataTransfer.files[0]).catch((error) => tell(`The file cannot be read: ${error.message}`));
});
addEventListener("keydown", (event) => {
  if (event.key === "?" && event.target !== text && !byId("help").open) byId("help").showModal();
});

// ------------------------------------------------------------------ files that change

let versions = "";

async function poll() {
  if (document.hidden) return;
  try {
    const state = await getState();
    describe(state);
    if (Date.now() > told) complain("");
  } catch (error) {
    complain(error.message);
  }
}

function describe(state) {
  const now = state.tokenizers.map((one) => one.version).join();
  if (now === versions) return;
  const first = versions === "";
  versions = now;
  state.tokenizers.forEach((about, at) => columns[at].describe(about));
  if (!first) { closeSteps(); hideDetail(); clearEvaluation(); clearFindings(); encode(); renderChat(); }
}

// ------------------------------------------------------------------ the start

async function start() {
  const state = await getState();
  text.maxLength = limit = state.most_characters;
  columns = state.tokenizers.map((_, place) => new Column(place, actions));
  byId("columns").replaceChildren(...columns.map((column) => column.element));
  byId("outline-option").hidden = columns.length < 2;
  describe(state);
  setText(state.text);
  if (state.left_out) leftOut = "the rest of the file is";
  readAddress();
  listenToPanels(state.panels, names, () => text.value, special);
  listenToChat(state, view, names);
  byId("copy").addEventListener("click", copyLink);
  byId("keys").addEventListener("click", () => byId("help").showModal());
  text.addEventListener("input", () => { leftOut = null; changed(); });
  byId("special").addEventListener("change", () => { closeSteps(); writeAddress(); encode(); });
  for (const option of [byId("outline"), ...document.querySelectorAll('input[name="view"]')]) {
    option.addEventListener("change", () => { writeAddress(); render(); renderChat(); });
  }
  addEventListener("hashchange", () => { readAddress(); notice(); encode(); });
  setInterval(poll, POLL);
  notice();
  await encode();
  document.documentElement.dataset.ready = "yes";
}

start().catch((error) => complain(error.message));
