// Figures of the text, and the panels of evaluation and audit, which a version may lack.

import { ask } from "./api.js";
import { byId, element, number, visible } from "./dom.js";

const FINDINGS = 5; // of a kind, that are shown at first

export function showFigures(answer, names) {
  const head = ["tokenizer", "tokens", "", "bytes/token", "characters/token", "distinct tokens", "unknown"];
  byId("figures-head").replaceChildren(element("tr", {}, ...head.map((name) =>
    name ? element("th", { scope: "col" }, name) : element("td", { "aria-hidden": "true" }))));
  const own = (one) => (one.error ? 0 : one.tokens - one.framing); // as in the evaluation: without the template
  const most = Math.max(1, ...answer.tokenizers.map(own));
  byId("figures-body").replaceChildren(...answer.tokenizers.map((one, at) => {
    const name = element("th", { scope: "row" }, visible(names[at]));
    if (one.error) return element("tr", {}, name, element("td", { colspan: 6 }, "no tokens: see above"));
    const bar = element("span", { class: "bar" });
    bar.style.width = `${(100 * own(one)) / most}%`;
    const cell = (text) => element("td", { class: "number" }, text);
    const per = (amount) => cell(own(one) ? number(amount / own(one), 3) : "–");
    return element("tr", {}, name, cell(number(own(one))), element("td", { "aria-hidden": "true" }, element("div", { class: "track" }, bar)),
      per(answer.bytes), per(answer.characters), cell(number(one.distinct)), cell(number(one.unknown)));
  }));
  byId("figures-title").textContent =
    `Figures for this text: ${number(answer.characters)} characters, ${number(answer.bytes)} bytes`;
}

export function listenToPanels(panels, names, text, special) {
  byId("evaluation").hidden = !panels.evaluate;
  byId("audit").hidden = !panels.audit;
  byId("evaluate").addEventListener("click", () => fill(byId("evaluation-body"), async () => {
    const found = await ask("/api/evaluate", { text: text() });
    const note = special() ? [element("p", { class: "soft" }, "Special tokens in the text are read as text here, as in a corpus.")] : [];
    return element("div", {}, ...note, evaluation(found.rows, names()));
  }));
  if (panels.audit) {
    byId("audit-body").replaceChildren(...names().map((name, at) => {
      const button = element("button", { type: "button" }, `Audit ${visible(name)}`);
      const body = element("div", { class: "findings", "aria-live": "polite" });
      button.addEventListener("click", () => fill(body, async () => findings((await ask("/api/audit", { tokenizer: at })).findings)));
      return element("div", {}, element("p", {}, button), body);
    }));
  }
}

// An answer to what was asked before the panel was cleared, or asked again, is dropped.
async function fill(body, make) {
  const working = element("p", { class: "soft" }, "Working …");
  body.replaceChildren(working);
  let found;
  try {
    found = await make();
  } catch (error) {
    found = element("p", { class: "notice" }, error.message);
  }
  if (working.parentNode === body) body.replaceChildren(found);
}

export function clearEvaluation() {
  byId("evaluation-body").replaceChildren();
}

export function clearFindings() {
  for (const body of byId("audit-body").querySelectorAll(".findings")) body.replaceChildren();
}

// A row of numbers has three digits after the point if one of them is no whole number; what is small, two significant ones.
const small = (value) => value && Math.abs(value) < 0.01;
const measures = (values) => {
  const digits = values.every((value) => typeof value !== "number" || Number.isInteger(value)) ? 0 : 3;
  return values.map((value) => (value === null ? "–" : typeof value !== "number" ? value : small(value) ? String(Number(value.toPrecision(2))) : number(value, digits)));
};

function evaluation(rows, names) {
  const cell = (value) => element("td", { class: "number" }, value);
  return element("table", {},
    element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "metric"), ...names.map((name) => element("th", { scope: "col", class: "number" }, visible(name))))),
    element("tbody", {}, ...rows.map(([name, ...values]) => element("tr", {}, element("th", { scope: "row" }, name), ...measures(values).map(cell)))));
}

// One block for each kind, which says once what the kind means.
function findings(found) {
  if (!found.length) return element("p", {}, "No findings.");
  const kinds = Map.groupBy(found, (one) => one.kind);
  return element("div", {}, ...[...kinds.values()].map((same) => {
    const [{ severity, kind, meaning }] = same;
    const items = same.map((one) => element("li", {}, visible(one.message).replaceAll("␣", " ")));
    const list = element("ul", {}, ...items.slice(0, FINDINGS));
    const title = element("h3", {}, element("span", { class: `finding-${severity}` }, severity), ` ${kind} (${number(same.length)})`);
    const parts = [title, ...(meaning ? [element("p", { class: "soft" }, `${meaning[0].toUpperCase()}${meaning.slice(1)}.`)] : []), list];
    if (items.length > FINDINGS) {
      const more = element("button", { type: "button" }, `Show all ${number(items.length)}`);
      more.addEventListener("click", () => { list.append(...items.slice(FINDINGS)); more.remove(); });
      parts.push(more);
    }
    return element("section", {}, ...parts);
  }));
}
