// A conversation as tokens: who owns them, which are control tokens, which are trained; and what another template changes.

import { ask } from "./api.js";
import { byId, element, number, showText, visible } from "./dom.js";

const PAUSE = 200; // milliseconds after a key
const ID = 0, TEXT = 1, CONTROL = 2, TYPED = 3; // of a token
const ROLES = { system: "c4", developer: "c4", user: "c0", assistant: "c1", model: "c1", tool: "c2" };
const OTHERS = -2, TEMPLATE = -1; // owners that are no message
const SOURCES = { marks: "by the generation blocks of the template", turns: "by the turns of the assistant", owners: "by what the assistant's messages own" };

let view = () => "tokens", names = [], own = null, busy = false, again = false, pause = 0;

export function listenToChat(state, viewOf, namesOf) {
  byId("chat").hidden = !state.panels.chat;
  if (!state.panels.chat) return;
  view = viewOf;
  names = namesOf();
  byId("chat-of").replaceChildren(...names.map((name, at) => element("option", { value: at }, visible(name))));
  byId("chat-of-option").hidden = names.length < 2;
  byId("conversation").value = state.tokenizers[0].conversation;
  byId("chat-open").addEventListener("click", () => {
    const open = byId("chat-body").hidden;
    byId("chat-body").hidden = !open;
    byId("chat-open").setAttribute("aria-expanded", open);
    byId("chat-open").textContent = open ? "Hide the conversation" : "Show a conversation";
    if (open) renderChat();
  });
  const later = () => { clearTimeout(pause); pause = setTimeout(renderChat, PAUSE); };
  byId("conversation").addEventListener("input", later);
  byId("answer").addEventListener("input", later);
  byId("template").addEventListener("input", () => { byId("chat-own").disabled = false; later(); });
  byId("chat-prompt").addEventListener("change", renderChat);
  byId("chat-of").addEventListener("change", renderChat);
  byId("chat-own").addEventListener("click", () => { own = null; byId("chat-own").disabled = true; renderChat(); });
}

const isEdited = () => !byId("chat-own").disabled;

// One request at a time, the newest next.
export async function renderChat() {
  if (byId("chat").hidden || byId("chat-body").hidden) return;
  if (busy) { again = true; return; }
  busy = true;
  const edited = isEdited();
  const request = {
    tokenizer: Number(byId("chat-of").value), conversation: byId("conversation").value,
    template: edited ? byId("template").value : null, prompt: byId("chat-prompt").checked, answer: byId("answer").value,
  };
  try {
    show(await ask("/api/chat", request), edited);
  } catch (error) {
    complain(error.message);
  }
  busy = false;
  if (again) { again = false; renderChat(); }
}

function complain(message, line = null) {
  const source = line === null ? undefined : byId("template").value.split("\n")[line - 1];
  const shown = source === undefined ? [] : [element("br"), element("code", {}, `${line}: ${visible(source).replaceAll("␣", " ").slice(0, 300)}`)];
  byId("chat-error").replaceChildren(message, ...shown);
  byId("chat-error").hidden = false;
  byId("template").setAttribute("aria-invalid", line !== null);
  byId("chat-result").replaceChildren();
}

function show(found, edited) {
  if (!edited && !isEdited() && own !== found.template) {
    own = found.template;
    byId("template").value = own ?? "";
  }
  if (found.error !== null) { complain(found.error, found.line); return; }
  byId("chat-error").hidden = true;
  byId("template").removeAttribute("aria-invalid");
  byId("chat-result").replaceChildren(counts(found), legend(found), rows(found), ...left(found), ...reply(found), ...changes(found), text(found));
}

// ------------------------------------------------------------------ tokens by owner

function counts(found) {
  const entries = [
    ["tokens", found.tokens], ["control tokens", found.control], ["trained", found.trained],
    ...(found.typed ? [["of added tokens that somebody typed", found.typed]] : []),
  ];
  return element("dl", { class: "counts" }, ...entries.map(([name, value]) =>
    element("div", {}, element("dt", {}, name), element("dd", {}, number(value)))));
}

function legend(found) {
  const sample = (text, more) => element("span", { class: `chip ${more}` }, text);
  const parts = [
    sample("gray, dashed", "special"), "control tokens, which only the template writes. ",
    sample("underlined", "c1 trained"), found.mask_problem
      ? `what a model is trained on: unknown, ${found.mask_problem}. `
      : `what a model is trained on, found ${SOURCES[found.mask_source]}. `,
    ...(found.typed ? [sample("framed", "c0 typed"), "text that spells an added token: somebody typed it."] : []),
  ];
  return element("p", { class: "soft legend" }, ...parts);
}

const colorOfOwner = (run) => (run.owner === TEMPLATE ? "" : run.owner === OTHERS ? "c3" : ROLES[run.who] ?? "c7");
const nameOf = (run) => (run.owner < 0 ? run.who : `${run.owner} ${visible(run.who)}`);

function chipOf(token, color, trained) {
  const classes = ["chip", token[CONTROL] ? "special" : color, trained ? "trained" : "", token[TYPED] ? "typed" : ""];
  const says = [`id ${token[ID]}`, token[CONTROL] && "control token", trained && "trained", token[TYPED] && "text that spells an added token"];
  const found = element("span", { class: classes.filter(Boolean).join(" "), title: says.filter(Boolean).join(", ") });
  if (view() === "ids") found.textContent = token[ID];
  else showText(found, token[TEXT]);
  return found;
}

// One row for each owner: its runs differ in the mask only.
function rows(found) {
  const list = [];
  for (const run of found.runs) {
    if (!list.length || list.at(-1).owner !== run.owner) list.push({ owner: run.owner, run, chips: [] });
    list.at(-1).chips.push(...run.tokens.map((token) => chipOf(token, colorOfOwner(run), run.trained)));
  }
  return element("table", { class: "conversation" }, element("tbody", {}, ...list.map(({ run, chips }) =>
    element("tr", {}, element("th", { scope: "row" }, nameOf(run)), element("td", {}, ...chips)))));
}

function left(found) {
  return found.left_out ? [element("p", { class: "notice" }, `${number(found.left_out)} of ${number(found.tokens)} tokens are not shown.`)] : [];
}

// What a model answered, read as a message.
function reply(found) {
  if (!found.reply) return [];
  return [element("h3", {}, found.reply.status), element("table", { class: "conversation", id: "reply" }, element("tbody", {},
    ...found.reply.rows.map(([field, text]) => element("tr", {},
      element("th", { scope: "row" }, field), element("td", {}, visible(text).replaceAll("␣", " "))))))];
}

// ------------------------------------------------------------------ the text, and the difference of ids

function text(found) {
  const more = found.text_left_out ? `\n… (${number(found.text_left_out)} more characters)` : "";
  return element("details", { open: byId("chat-text")?.open ?? true, id: "chat-text" }, element("summary", {}, "Rendered text"), element("pre", { tabindex: 0 }, found.text.split("\n").map((line) => visible(line).replaceAll("␣", " ")).join("↵\n") + more));
}

function changes(found) {
  if (found.own_error) return [element("p", { class: "notice" }, `The tokenizer's template cannot be compared: ${found.own_error}`)];
  if (found.changes === null) return [];
  const title = element("h3", {}, found.changes.length
    ? `Changes of ids: ${number(found.own_tokens)} tokens with the tokenizer's template, ${number(found.tokens)} with this one`
    : `The ids are those of the tokenizer's template`);
  const row = (kind, sign, name, ids, count) => count === 0 ? [] : [element("tr", { class: kind },
    element("th", { scope: "row", "aria-label": name }, sign),
    element("td", {}, ...ids.map((id) => chipOf([id, found.names[id], 0, 0], "", false)), ...(count > ids.length ? [` and ${number(count - ids.length)} more`] : [])),
    element("td", { class: "ids" }, ids.join(" ")))];
  const same = (count) => (count ? [element("tr", {}, element("td", { colspan: 3, class: "soft" }, `${number(count)} the same`))] : []);
  const body = found.changes.flatMap(([before, gone, lost, fresh, gained]) =>
    [...same(before), ...row("gone", "−", "only with the tokenizer's template", gone, lost), ...row("fresh", "+", "only with this template", fresh, gained)]);
  return [title, ...(body.length ? [element("div", { class: "scroll list", tabindex: 0, role: "region", "aria-label": "Changes of ids" },
    element("table", { class: "changes" }, element("tbody", {}, ...body)))] : [])];
}
