// A Unigram word as a graph: places between characters, and an arc for every piece that fits.

import { chip, element, svg, visible } from "./dom.js";

const WIDTH = 64, LEFT = 30, LOWEST = 34, HIGHER = 26, TALLEST = 260;
const BEST = 1, SECOND = 2;
const MOST = 64; // characters of a word whose lattice is drawn

export function drawLattice(steps, names, found) {
  const characters = [...found.word];
  const edges = steps.pieces.map((piece, at) => ({ ...piece, paths: [
    ...(steps.best.includes(at) ? [BEST] : []), ...(steps.runner_up?.includes(at) ? [SECOND] : [])] }));
  const label = (edge) => (edge.id === null ? "unknown" : visible(names[edge.id]));
  const path = (number) => edges.filter((edge) => edge.paths.includes(number));
  const says = (number) => path(number).map(label).join(" | ");
  const chips = (number) => path(number).map((edge) => chip(edge.id === null ? characters[edge.start] : names[edge.id]));
  const { score, gap } = steps;
  const summary = element("p", {}, "Best path: ", ...chips(BEST), ` score ${score.toFixed(3)}. `);
  if (gap !== null) summary.append("Runner-up: ", ...chips(SECOND), ` score ${(score - gap).toFixed(3)}, ${gap.toFixed(3)} lower.`);
  if (characters.length > MOST) {
    return [summary, element("p", {}, `The word has ${characters.length} characters: the lattice is drawn for up to ${MOST}.`), table(edges, label)];
  }
  const key = element("p", { class: "soft" }, element("span", { class: "key" }), "best path",
    ...(gap === null ? [] : [element("span", { class: "key second" }), "runner-up"]), element("span", { class: "key other" }), "other pieces");
  const drawing = draw(edges, characters, label);
  drawing.setAttribute("aria-label", `Lattice. Best path ${says(BEST)}, score ${score.toFixed(3)}.`
    + (gap === null ? "" : ` Runner-up ${says(SECOND)}, score ${(score - gap).toFixed(3)}.`));
  return [summary, key, element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Lattice" }, drawing), table(edges, label)];
}

function draw(edges, characters, label) {
  const longest = Math.max(1, ...edges.map((edge) => edge.stop - edge.start));
  const step = Math.min(HIGHER, (TALLEST - LOWEST) / longest);
  const base = 0.75 * (LOWEST + step * (longest - 1) + 6) + 26; // a curve reaches three quarters of its controls
  const x = (place) => LEFT + place * WIDTH;
  const width = 2 * LEFT + characters.length * WIDTH, height = base + 34;
  const found = svg("svg", { class: "lattice", role: "img", width, height, viewBox: `0 0 ${width} ${height}` });
  const rank = (edge) => (edge.paths.includes(BEST) ? 2 : edge.paths.includes(SECOND) ? 1 : 0);
  const texts = [];
  for (const edge of [...edges].sort((a, b) => rank(a) - rank(b))) {
    const kind = ["other", "second", "best"][rank(edge)];
    const a = x(edge.start), b = x(edge.stop), top = base - LOWEST - step * (edge.stop - edge.start - 1);
    const lean = Math.min(22, (b - a) / 3);
    const line = svg("path", { class: kind, d: `M ${a} ${base} C ${a + lean} ${top - 6}, ${b - lean} ${top - 6}, ${b} ${base}` });
    line.append(svg("title", {}, `${label(edge)}, score ${edge.score.toFixed(3)}`));
    found.append(line);
    if (rank(edge)) {
      const middle = base - 0.75 * (base - top + 6);
      texts.push(svg("text", { class: `label ${kind}`, x: (a + b) / 2, y: middle - 8 }, label(edge)));
    }
  }
  for (let place = 0; place <= characters.length; place++) found.append(svg("circle", { cx: x(place), cy: base, r: 4 }));
  characters.forEach((character, at) =>
    found.append(svg("text", { x: x(at) + WIDTH / 2, y: base + 22 }, visible(character))));
  found.append(...texts);
  return found;
}

function table(edges, label) {
  const head = ["piece", "id", "score", "characters", "on"];
  const on = (edge) => edge.paths.map((path) => (path === BEST ? "best path" : "runner-up")).join(", ");
  const rows = edges.map((edge) => element("tr", {},
    element("td", {}, label(edge)), element("td", { class: "number" }, edge.id === null ? "–" : String(edge.id)),
    element("td", { class: "number" }, edge.score.toFixed(3)), element("td", {}, `${edge.start} to ${edge.stop}`), element("td", {}, on(edge))));
  return element("details", {}, element("summary", {}, `All ${edges.length} pieces that fit`),
    element("div", { class: "list", tabindex: 0 }, element("table", {},
      element("thead", {}, element("tr", {}, ...head.map((name) => element("th", { scope: "col" }, name)))), element("tbody", {}, ...rows))));
}
