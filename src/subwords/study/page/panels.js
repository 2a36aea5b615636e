// Figures of the text, and the panels of evaluation and audit, which a version may lack.

import { ask } from "./api.js";
import { byId, element, number, visible } from "./dom.js";

export function showFigures(answer, names) {
  const head = ["tokenizer", "tokens", "", "bytes/token", "characters/token", "distinct tokens", "unknown"];
  byId("figures-head").replaceChildren(element("tr", {}, ...head.map((name) =>
    name ? element("th", { scope: "col" }, name) : element("td", { "aria-hidden": "true" }))));
  const most = Math.max(1, ...answer.tokenizers.map((one) => one.tokens ?? 0));
  byId("figures-body").replaceChildren(...answer.tokenizers.map((one, at) => {
    const name = element("th", { scope: "row" }, visible(names[at]));
    if (one.error) return element("tr", {}, name, element("td", { colspan: 6 }, "no tokens: see above"));
    const bar = element("span", { class: "bar" });
    bar.style.width = `${(100 * one.tokens) / most}%`;
    const cell = (text) => element("td", { class: "number" }, text);
    const per = (amount) => cell(one.tokens ? number(amount / one.tokens, 3) : "–");
    return element("tr", {}, name, cell(number(one.tokens)), element("td", { "aria-hidden": "true" }, element("div", { class: "track" }, bar)),
      per(answer.bytes), per(answer.characters), cell(number(one.distinct)), cell(number(one.unknown)));
  }));
  byId("figures-title").textContent =
    `Figures for this text: ${number(answer.characters)} characters, ${number(answer.bytes)} bytes`;
}

export function listenToPanels(panels, names, text) {
  byId("evaluation").hidden = !panels.evaluate;
  byId("audit").hidden = !panels.audit;
  byId("evaluate").addEventListener("click", () => fill(byId("evaluation-body"), async () => {
    const found = await ask("/api/evaluate", { text: text() });
    return evaluation(found.rows, names());
  }));
  if (panels.audit) {
    byId("audit-body").replaceChildren(...names().map((name, at) => {
      const button = element("button", { type: "button" }, `Audit ${visible(name)}`);
      const body = element("div", { "aria-live": "polite" });
      button.addEventListener("click", () => fill(body, async () => findings((await ask("/api/audit", { tokenizer: at })).findings)));
      return element("div", {}, element("p", {}, button), body);
    }));
  }
}

async function fill(body, make) {
  body.replaceChildren(element("p", { class: "soft" }, "Working …"));
  try {
    body.replaceChildren(await make());
  } catch (error) {
    body.replaceChildren(element("p", { class: "notice" }, error.message));
  }
}

function evaluation(rows, names) {
  const cell = (value) => element("td", { class: "number" }, value === null ? "–" : typeof value === "number" ? number(value, Number.isInteger(value) ? 0 : 3) : value);
  return element("table", {},
    element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "metric"), ...names.map((name) => element("th", { scope: "col" }, visible(name))))),
    element("tbody", {}, ...rows.map(([name, ...values]) => element("tr", {}, element("th", { scope: "row" }, name), ...values.map(cell)))));
}

function findings(found) {
  if (!found.length) return element("p", {}, "No findings.");
  return element("div", { class: "scroll list", tabindex: 0 }, element("table", {},
    element("thead", {}, element("tr", {}, ...["severity", "kind", "finding"].map((name) => element("th", { scope: "col" }, name)))),
    element("tbody", {}, ...found.map((one) => element("tr", {},
      element("td", { class: `finding-${one.severity}` }, one.severity), element("td", {}, one.kind), element("td", {}, visible(one.message).replaceAll("␣", " ")))))));
}
