// How the selected word becomes tokens: merges with a slider, longest matches, or a lattice.

import { byId, chip, element, number, visible } from "./dom.js";
import { drawLattice } from "./lattice.js";

export function showSteps(found, name) {
  const count = found.ids.length;
  byId("steps").hidden = false;
  byId("steps-title").replaceChildren(
    "How ", chip(found.word), ` becomes ${count} ${count === 1 ? "token" : "tokens"} in ${visible(name)}`,
  );
  const parts = [];
  if (found.before.length) parts.push(element("ul", { class: "before" }, ...found.before.map((said) => element("li", {}, said))));
  if (!found.exact) {
    parts.push(element("p", { class: "notice" },
      "Alone, this word becomes other tokens than in the text: the steps below are those of the word alone."));
  }
  const shows = { merges: merges, matches: matches, lattice: drawLattice, lookup: lookup };
  parts.push(...shows[found.steps.kind](found.steps, found.names, found));
  byId("steps-body").replaceChildren(...parts);
}

const lookup = (steps) => [element("p", {}, steps.reason)];

// ------------------------------------------------------------------ merges

function merges(steps, names) {
  const states = statesOf(steps);
  const last = steps.steps.length;
  const nameOf = (symbol) => (symbol.id === null ? symbol.text : names[symbol.id]);
  const range = element("input", { type: "range", min: 0, max: last, value: 0, step: 1, "aria-label": "Merge", id: "merge" });
  const output = element("output", { for: "merge" });
  const before = element("button", { type: "button" }, "Previous");
  const after = element("button", { type: "button" }, "Next");
  const state = element("p", { class: "state", "aria-label": "Symbols of the word" });
  const say = element("p", { class: "say", role: "status" });
  const table = mergeTable(steps.steps, names);

  const show = (step) => {
    range.value = step;
    const done = steps.steps[step - 1], next = steps.steps[step];
    output.textContent = `${step} of ${last} ${last === 1 ? "merge" : "merges"}`;
    range.setAttribute("aria-valuetext", output.textContent);
    before.disabled = step === 0;
    after.disabled = step === last;
    state.replaceChildren(...states[step].map((symbol, at) =>
      chip(nameOf(symbol), done?.at === at ? "fresh" : next && (at === next.at || at === next.at + 1) ? "next" : "")));
    say.textContent = done
      ? `${visible(names[done.left])} + ${visible(names[done.right])} → ${visible(names[done.result])}, rank ${number(done.rank)}`
      : `The word starts as ${states[0].length} ${states[0].length === 1 ? "symbol" : "symbols"}.`;
    [...table.tBodies[0].rows].forEach((row, at) => row.classList.toggle("now", at === step - 1));
  };
  range.addEventListener("input", () => show(Number(range.value)));
  before.addEventListener("click", () => show(Number(range.value) - 1));
  after.addEventListener("click", () => show(Number(range.value) + 1));
  show(0);
  const parts = [element("div", { class: "slider" }, before, range, after, output), state, say];
  if (steps.whole) {
    parts.unshift(element("p", { class: "soft" },
      "The whole word is a token: the encoder looks it up. These are the merges that also lead to it."));
  }
  if (last) parts.push(element("details", {}, element("summary", {}, "All merges"), element("div", { class: "list", tabindex: 0 }, table)));
  return parts;
}

function statesOf(steps) {
  let now = steps.symbols.map((id, at) => ({ id, text: steps.texts[at] }));
  const states = [now];
  for (const step of steps.steps) {
    now = [...now.slice(0, step.at), { id: step.result, text: "" }, ...now.slice(step.at + 2)];
    states.push(now);
  }
  return states;
}

function mergeTable(steps, names) {
  const head = ["merge", "rank", "left", "right", "token", "id"];
  return element("table", {},
    element("thead", {}, element("tr", {}, ...head.map((name) => element("th", { scope: "col" }, name)))),
    element("tbody", {}, ...steps.map((step, at) => element("tr", {},
      element("td", { class: "number" }, String(at + 1)),
      element("td", { class: "number" }, number(step.rank)),
      element("td", {}, chip(names[step.left])),
      element("td", {}, chip(names[step.right])),
      element("td", {}, chip(names[step.result])),
      element("td", { class: "number" }, String(step.result))))));
}

// ------------------------------------------------------------------ WordPiece

function matches(steps, names) {
  const rows = steps.matches.map((match) => {
    const tried = match.tried.length + match.more_tried;
    const said = match.id === null ? ["No piece fits here."] : [chip(names[match.id]), ` id ${match.id}, characters ${match.start} to ${match.stop}. `];
    const item = element("li", {}, ...said);
    if (tried) {
      const list = element("p", { class: "state" }, ...match.tried.map((text) => chip(text)));
      item.append(element("details", { open: tried <= 8 },
        element("summary", {}, `${number(tried)} longer ${tried === 1 ? "candidate is" : "candidates are"} not in the vocabulary`), list));
    } else if (match.id !== null) {
      item.append("No longer candidate is left: it ends the word.");
    }
    return item;
  });
  const parts = [element("p", { class: "soft" }, "From left to right, the longest piece of the vocabulary is taken.")];
  if (rows.length) parts.push(element("ol", {}, ...rows));
  if (steps.unknown) parts.push(element("p", { class: "notice" }, steps.unknown));
  return parts;
}
