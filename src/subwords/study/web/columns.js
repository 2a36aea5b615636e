// One column for each tokenizer: what it is, counts, and its tokens as buttons that one Tab stop leads to.

import { byId, chip, colorOf, element, number, showText, visible } from "./dom.js";

const TOKEN = 0, FILE = 1, BYTES = 2, RANK = 3, SCORE = 4, COUNT = 5; // of an entry of `vocabulary`

export class Column {
  constructor(place, actions) {
    this.place = place;
    this.actions = actions;
    this.chips = [];
    this.keys = [];
    this.linked = [];
    this.selected = [];
    this.answer = null;
    this.title = element("h2", { id: `title-${place}` });
    this.about = element("p", { class: "about" });
    this.problem = element("p", { class: "notice problem", role: "alert", hidden: true });
    this.counts = element("dl", { class: "counts" });
    this.list = element("div", { class: "chips", role: "group", "aria-labelledby": `title-${place}` });
    this.more = element("button", { type: "button", hidden: true });
    this.element = element(
      "article", { class: "column", "aria-labelledby": `title-${place}` },
      this.title, this.about, this.problem, this.counts, this.list, this.more,
    );
    this.listen();
  }

  listen() {
    const chipOf = (event) => event.target.closest?.("button.chip");
    this.list.addEventListener("pointerover", (event) => this.point(chipOf(event)));
    this.list.addEventListener("pointerleave", () => this.point(this.list.querySelector("button.chip:focus")));
    this.list.addEventListener("focusin", (event) => this.focused(chipOf(event)));
    this.list.addEventListener("click", (event) => {
      const found = chipOf(event);
      if (found) this.actions.select(this.place, this.chips.indexOf(found));
    });
    this.list.addEventListener("keydown", (event) => this.key(event));
    this.more.addEventListener("click", () => this.actions.more());
  }

  describe(about) {
    this.name = about.name;
    this.hasMerges = about.model === "BPE";
    const parts = visible(about.name).replaceAll("␣", " ").split("/");
    this.title.replaceChildren(...parts.flatMap((part, at) => (at ? ["/", element("wbr"), part] : [part])));
    const rules = [`splitter ${about.splitter}`];
    if (about.normalizer) rules.push(`normalizer ${about.normalizer}`);
    const short = rules.map((rule) => (rule.length > 70 ? `${rule.slice(0, 70)}…` : rule));
    this.about.textContent = `${about.model}, ${number(about.vocab_size)} tokens, ${short.join(", ")}`;
    this.say(about.problem);
  }

  say(problem) {
    this.problem.hidden = !problem;
    this.problem.textContent = problem ?? "";
  }

  show(answer, whole, view) {
    this.answer = answer;
    this.say(answer.error ?? answer.problem);
    if (answer.error) {
      this.counts.replaceChildren();
      this.list.replaceChildren();
      this.chips = [];
      this.keys = [];
      this.more.hidden = true;
      return;
    }
    this.showCounts(answer, whole);
    this.showChips(answer, view);
    const left = answer.tokens - answer.ids.length;
    this.more.hidden = left === 0;
    this.more.textContent = `Show more: ${number(left)} of ${number(answer.tokens)} tokens are not shown`;
  }

  showCounts(answer, whole) {
    const own = answer.tokens - answer.framing;
    const per = (amount) => (own ? number(amount / own, 2) : "–");
    const entries = [
      ["tokens", number(own)],
      ...(answer.framing ? [["of the template", `+${number(answer.framing)}`]] : []),
      ["bytes/token", per(whole.bytes)],
      ["characters/token", per(whole.characters)],
      ...(answer.unknown ? [["unknown", number(answer.unknown)]] : []),
    ];
    this.counts.replaceChildren(
      ...entries.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))),
    );
  }

  // Elements before and after what changed are kept, untouched: a keystroke changes few of them.
  showChips(answer, view) {
    const looks = looksOf(answer, view === "ids" ? null : this.actions.text());
    const keys = keysOf(answer, view, looks);
    const old = this.keys;
    let first = 0, last = 0;
    while (first < old.length && first < keys.length && old[first] === keys[first]) first++;
    const most = Math.min(old.length, keys.length) - first;
    while (last < most && old[old.length - 1 - last] === keys[keys.length - 1 - last]) last++;
    const focused = this.chips.indexOf(document.activeElement);
    const gone = this.chips.slice(first, this.chips.length - last);
    const fresh = keys.slice(first, keys.length - last).map((key, at) => this.button(answer, first + at, view, looks[first + at]));
    const place = last ? this.chips[this.chips.length - last] : null;
    for (const chip of gone) {
      if (chip.nextSibling?.tagName === "BR") chip.nextSibling.remove();
      chip.remove();
    }
    const nodes = fresh.flatMap((chip) => (chip.dataset.ends ? [chip, element("br")] : [chip]));
    this.list.querySelector("p")?.remove();
    if (place) place.before(...nodes);
    else this.list.append(...nodes);
    this.chips.splice(first, gone.length, ...fresh);
    this.keys = keys;
    this.keepFocus(focused);
    if (!keys.length) this.list.append(element("p", { class: "soft" }, "No tokens."));
  }

  // One Tab stop leads to the tokens: the one that had the focus, or the first.
  keepFocus(focused) {
    const stop = this.chips.find((chip) => chip.tabIndex === 0);
    if (!stop && this.chips.length) this.chips[Math.min(Math.max(0, focused), this.chips.length - 1)].tabIndex = 0;
    if (focused >= 0 && !this.chips.includes(document.activeElement)) {
      this.chips[Math.min(focused, this.chips.length - 1)]?.focus({ preventScroll: true });
    }
  }

  button(answer, at, view, look) {
    const id = answer.ids[at];
    const token = answer.vocabulary[id][TOKEN];
    const classes = ["chip", look.color];
    if (endsWord(answer, at)) classes.push("ends");
    if (answer.differs[at]) classes.push("differs");
    const says = `${visible(token) || "empty"}, id ${id}${answer.differs[at] ? ", tokenizers disagree" : ""}`;
    const found = element("button", {
      type: "button", class: classes.join(" "), tabindex: -1, "aria-label": says, "aria-describedby": "detail",
      "data-ends": token.endsWith("\n") ? "yes" : null, "data-of": look.of, "data-part": look.part,
    });
    if (view === "ids") found.textContent = id;
    else showText(found, token);
    return found;
  }

  point(found) {
    if (!found) return this.actions.link(this.place, null);
    const at = this.chips.indexOf(found);
    showDetail(this, at, this.actions.text());
    return this.actions.link(this.place, [this.answer.starts[at], this.answer.stops[at]]);
  }

  // The token that has the focus may be another one now.
  pointAtFocus() {
    const found = this.list.querySelector("button.chip:focus");
    if (found) this.point(found);
  }

  focused(found) {
    if (!found) return;
    for (const other of this.list.querySelectorAll('button.chip[tabindex="0"]')) other.tabIndex = -1;
    found.tabIndex = 0;
    this.point(found);
  }

  // Underline what stands for the same characters in another column.
  link(span) {
    for (const found of this.linked) found.classList.remove("linked");
    this.linked = [];
    if (!this.answer?.ids || span === null) return;
    const { starts, stops } = this.answer;
    this.linked = this.chips.filter((_, at) => starts[at] < stops[at] && starts[at] < span[1] && span[0] < stops[at]);
    for (const found of this.linked) found.classList.add("linked");
  }

  mark(first, stop) {
    for (const found of this.selected) found.classList.remove("selected");
    this.selected = this.chips.slice(first, stop);
    for (const found of this.selected) found.classList.add("selected");
  }

  key(event) {
    const at = this.chips.indexOf(event.target);
    if (at < 0 || event.ctrlKey || event.altKey || event.metaKey) return;
    const last = this.chips.length - 1;
    const moves = {
      ArrowRight: () => at + 1, ArrowLeft: () => at - 1, Home: () => 0, End: () => last,
      ArrowDown: () => this.line(at, 1), ArrowUp: () => this.line(at, -1),
    };
    if (event.key === "Escape") byId("text").focus();
    if (!(event.key in moves)) return;
    event.preventDefault();
    this.chips[Math.min(last, Math.max(0, moves[event.key]()))].focus();
  }

  // The token of the next or previous line that is nearest to this one.
  line(at, step) {
    const middle = (box) => (box.left + box.right) / 2;
    const own = this.chips[at].getBoundingClientRect();
    let best = null, distance = Infinity, top = null;
    for (let other = at + step; other >= 0 && other < this.chips.length; other += step) {
      const box = this.chips[other].getBoundingClientRect();
      if (Math.abs(box.top - own.top) < own.height / 2) continue;
      top ??= box.top;
      if (Math.abs(box.top - top) > own.height / 2) break;
      const far = Math.abs(middle(box) - middle(own));
      if (far < distance) [best, distance] = [other, far];
    }
    return best ?? at;
  }
}

// The space between words stands after a token: before one, it would indent the first of a row.
const endsWord = (answer, at) => at + 1 < answer.words.length && answer.words[at] !== answer.words[at + 1];

// What decides how each token looks: a color that its left neighbour lacks, and for bytes their place in a character.
function looksOf(answer, text) {
  let before = null;
  const looks = answer.ids.map((id, at) => {
    const token = answer.vocabulary[id][TOKEN];
    const color = answer.special[at] ? "special" : colorOf(token, before);
    before = token.endsWith("\n") ? null : color;
    return { color, of: null, part: null };
  });
  for (const { first, stop, of } of text === null ? [] : groupsOf(answer, text)) {
    looks[first].of = of;
    for (let at = first; at < stop; at++) {
      looks[at].part = [at === first && "first", "part", at === stop - 1 && "last"].filter(Boolean).join(" ");
    }
  }
  return looks;
}

const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });

// Tokens of some bytes of a character, in groups of one character as readers see it: some emoji are several code points.
function groupsOf(answer, text) {
  const found = [], { ids, starts, stops, vocabulary } = answer;
  const partial = (at) => at < ids.length && starts[at] < stops[at] && /[\udc80-\udcff]/u.test(vocabulary[ids[at]][TOKEN]);
  for (let at = 0; at < ids.length; at++) {
    if (!partial(at)) continue;
    let stop = at + 1, end = starts[at];
    while (partial(stop)) stop++;
    for (const { segment } of graphemes.segment(pointsOf(text).slice(end, stops[stop - 1]).join(""))) {
      end += [...segment].length;
      if (!segment.trim()) continue; // a space and the first byte of what follows it may be one token
      const first = at;
      while (at < stop && starts[at] < end) at++;
      if (at > first) found.push({ first, stop: at, of: visible(segment) });
    }
    at = stop - 1;
  }
  return found;
}

let pointed = { text: null, points: [] };

function pointsOf(text) {
  if (pointed.text !== text) pointed = { text, points: [...text] };
  return pointed.points;
}

// What an element looks like, one string for each token.
function keysOf(answer, view, looks) {
  return answer.ids.map((id, at) =>
    `${answer.version} ${id} ${answer.differs[at]}${Number(endsWord(answer, at))}${view}${Object.values(looks[at]).join()}`);
}

const hint = byId("detail").firstElementChild;

export function hideDetail() {
  byId("detail").replaceChildren(hint);
}

export function showDetail(column, at, text) {
  const answer = column.answer;
  const id = answer.ids[at];
  const entry = answer.vocabulary[id];
  const source = pointsOf(text).slice(answer.starts[at], answer.stops[at]).join("");
  const facts = [
    ["id", id],
    ["bytes", entry[BYTES].length > 120 ? `${entry[BYTES].slice(0, 120)} …` : entry[BYTES]],
    ["count", `${number(entry[COUNT])} in this text`],
  ];
  if (entry[SCORE] !== null) facts.push(["score", entry[SCORE].toFixed(3)]);
  if (column.hasMerges) facts.push(["rank", entry[RANK] === null ? "none, no merge makes it" : number(entry[RANK])]);
  if (visible(entry[FILE]) !== visible(entry[TOKEN])) facts.push(["in files", visible(entry[FILE]).slice(0, 100)]);
  if (answer.starts[at] < answer.stops[at]) {
    facts.push(["characters", `${answer.starts[at]} to ${answer.stops[at]}: ${visible(source).slice(0, 60)}`]);
  }
  facts.push(["tokenizer", visible(column.name)]);
  if (answer.differs[at]) facts.push(["disagreement", "another tokenizer cuts here differently"]);
  byId("detail").replaceChildren(
    chip(entry[TOKEN], answer.special[at] ? "special" : ""),
    element("dl", {}, ...facts.map(([name, value]) =>
      element("div", {}, element("dt", {}, name), element("dd", { "data-fact": name }, String(value))))),
  );
}
