// Sphinx's scores; a title that has the words as typed comes first, then the guide, tables of measurements last.
const typed = (new URLSearchParams(location.search).get("q") || "").trim().toLowerCase();
var Scorer = {
  score: ([page, title, , , score]) => {
    if (typed && title.toLowerCase().includes(typed)) score += 30;
    if (/^docs\/[^/]*$/.test(page)) score += 5;
    return page.startsWith("benchmarks/") ? score - 20 : score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
