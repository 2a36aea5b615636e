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
  const shows = { merging, known, unknown, matching, lattice: drawLattice, lookup };
  parts.push(...shows[found.steps.kind](found.steps, found.names, found));
  byId("steps-body").replaceChildren(...parts);
}

const lookup = (steps) => [element("p", {}, steps.reason)];

const sentence = (why) => `${why[0].toUpperCase()}${why.slice(1)}.`;

function known(steps, names) {
  const parts = [element("p", { class: "soft" }, sentence(steps.why))];
  if (steps.merging) parts.push(element("p", { class: "soft" }, "These merges would join its symbols:"), ...merging(steps.merging, names));
  return parts;
}

function unknown(steps, names, found) {
  return [...(steps.matches.length ? matching(steps, names, found) : []), element("p", { class: "notice" }, sentence(steps.why))];
}

// ------------------------------------------------------------------ merges

function merging(steps, names) {
  const states = statesOf(steps);
  const last = steps.merges.length;
  const range = element("input", { type: "range", min: 0, max: last, value: 0, step: 1, "aria-label": "Merge", id: "merge" });
  const output = element("output", { for: "merge" });
  const before = element("button", { type: "button" }, "Previous");
  const after = element("button", { type: "button" }, "Next");
  const state = element("p", { class: "state", "aria-label": "Symbols of the word" });
  const say = element("p", { class: "say", role: "status" });
  const table = mergeTable(steps.merges, names);

  const show = (step) => {
    range.value = step;
    const done = steps.merges[step - 1], next = steps.merges[step];
    output.textContent = `${step} of ${last} ${last === 1 ? "merge" : "merges"}`;
    range.setAttribute("aria-valuetext", output.textContent);
    before.disabled = step === 0;
    after.disabled = step === last;
    state.replaceChildren(...states[step].map((id, at) =>
      chip(names[id], done?.place === at ? "fresh" : next && (at === next.place || at === next.place + 1) ? "next" : "")));
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
  if (steps.split) parts.push(element("p", { class: "notice" }, "Afterwards, tokens that may not be used are split into those they were made of."));
  if (last) parts.push(element("details", {}, element("summary", {}, "All merges"), element("div", { class: "list", tabindex: 0 }, table)));
  return parts;
}

function statesOf(steps) {
  let now = steps.symbols;
  const states = [now];
  for (const step of steps.merges) {
    now = [...now.slice(0, step.place), step.result, ...now.slice(step.place + 2)];
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

const LISTED = 30; // candidates of one match

function matching(steps, names, found) {
  const word = [...found.word];
  const rows = steps.matches.map((match) => {
    const piece = word.slice(match.start, match.stop).join("");
    const prefix = names[match.id].slice(0, names[match.id].length - piece.length);
    const item = element("li", {}, chip(names[match.id]), ` id ${match.id}, characters ${match.start} to ${match.stop}. `);
    if (match.tried) {
      const longer = Array.from({ length: Math.min(match.tried, LISTED) }, (_, at) => prefix + word.slice(match.start, match.stop + 1 + at).join(""));
      const list = element("p", { class: "state" }, ...longer.reverse().map((text) => chip(text)));
      item.append(element("details", { open: match.tried <= 8 },
        element("summary", {}, `${number(match.tried)} longer ${match.tried === 1 ? "candidate is" : "candidates are"} not in the vocabulary`), list));
    } else {
      item.append("No longer candidate is left: it ends the word.");
    }
    return item;
  });
  return [element("p", { class: "soft" }, "From left to right, the longest piece of the vocabulary is taken."), element("ol", {}, ...rows)];
}
