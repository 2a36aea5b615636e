"""Pictures of the documents from results of the package: `python -m tools.pictures` writes docs/pictures.

tokens.svg: a sentence in tokens of three tokenizers. merges.svg: the merges of a word. lattice.svg: the pieces of a
word and its best path. The charts of speed are made from the records: `python -m benchmarks page`.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from pathlib import Path

import subwords

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "pictures"
SENTENCE = "The rays, refracted by the prism, painted unsteady colours."
WORDS = {"happy": 6, "lucky": 5, "unhappy": 4, "unlucky": 3, "happier": 3, "luckier": 2}  # of the course
WORD, UNIGRAM_WORD = "unhappier", "brighter"
BOOK = ROOT / "examples" / "opticks.txt"
WIDTH, CHAR = 860, 8.5
STYLE = """
text { font: 14px ui-monospace, monospace; fill: #1f2328; white-space: pre } .small { font-size: 11px; fill: #59636e }
.title { font-family: system-ui, sans-serif; font-weight: 600 } .line { stroke: #818b98; fill: none }
.best { stroke: #0969da; stroke-width: 3; fill: none } .spot { fill: #0969da }
.t0 { fill: #ddf4ff } .t1 { fill: #fff8c5 } .t2 { fill: #dafbe1 } .t3 { fill: #fbefff }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc } .small { fill: #9198a1 } .line { stroke: #656c76 }
.best { stroke: #4493f8 } .spot { fill: #4493f8 }
.t0 { fill: #0c2d6b } .t1 { fill: #4b2900 } .t2 { fill: #033a16 } .t3 { fill: #3c1e70 } }
"""


def main() -> int:
    """Write the pictures."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    for name, content in pictures().items():
        (PICTURES / name).write_text(content, encoding="utf-8")
    return 0


def pictures() -> dict[str, str]:
    """Return the content of each picture by the name of its file."""
    return {"tokens.svg": tokens_picture(), "merges.svg": merges_picture(), "lattice.svg": lattice_picture()}


def svg(height: float, title: str, description: str, parts: Iterable[str]) -> str:
    """Return an SVG, light and dark, with a title and a description for those who cannot see it."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" role="img">'
    told = f"<title>{escape(title)}</title><desc>{escape(description)}</desc><style>{STYLE}</style>"
    return "\n".join([head, told, *parts, "</svg>"]) + "\n"


def text(x: float, y: float, content: str, kind: str = "", anchor: str = "middle") -> str:
    """Return a line of text."""
    mark = f' class="{kind}"' if kind else ""
    return f'<text{mark} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(content)}</text>'


def tokens_picture() -> str:
    """A sentence in tokens of three families, trained on one book with as many tokens."""
    found = {
        "byte-level BPE": subwords.load("demo"),
        "WordPiece": subwords.train(BOOK, algorithm="wordpiece", vocab_size=4096, progress=False),
        "Unigram": subwords.train(BOOK, algorithm="unigram", vocab_size=4096, progress=False),
    }
    parts, y, told = [], 24.0, []
    for name, tok in found.items():
        ids, tokens = tok.encode(SENTENCE), tok.tokenize(SENTENCE)
        parts.append(text(10, y, f"{name}, {len(ids)} tokens", "title", "start"))
        x, y = 10.0, y + 12
        for place, (index, token) in enumerate(zip(ids, tokens, strict=True)):
            shown = token.replace(" ", "␣")
            width = max(len(shown) * CHAR, len(str(index)) * 7) + 10
            if x + width > WIDTH - 10:
                x, y = 10.0, y + 46
            parts.append(f'<rect class="t{place % 4}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="24" rx="4"/>')
            parts.append(text(x + width / 2, y + 17, shown))
            parts.append(text(x + width / 2, y + 37, str(index), "small"))
            x += width + 4
        y += 72
        told.append(f"{name}: {' | '.join(tokens)}")
    return svg(y - 16, "One sentence in tokens of three tokenizers", "; ".join(told), parts)


def merges_picture() -> str:
    """The merges of a word as a tree: symbols below, each merge above its two parts, in the order of training."""
    tok = subwords.train(WORDS, vocab_size=26, byte_level=False, splitter=None, progress=False)
    found = subwords.study.explain(tok, WORD).to_dict()
    merging, tokens = found["parts"][0]["words"][0]["segmentation"], found["tokens"]
    step = (WIDTH - 120) / (len(merging["symbols"]) - 1)
    height = 60 + 46 * len(merging["merges"])
    nodes = [(60 + step * place, height - 24.0, tokens[str(one)]) for place, one in enumerate(merging["symbols"])]
    lines, labels = [], [text(x, y + 5, token) for x, y, token in nodes]
    for number, merge in enumerate(merging["merges"]):
        left, right = nodes[merge["place"] : merge["place"] + 2]
        made = ((left[0] + right[0]) / 2, height - 70.0 - 46 * number, left[2] + right[2])
        lines += [
            f'<path class="line" d="M{made[0]:.1f} {made[1] + 8:.1f} L{x:.1f} {y - 12:.1f}"/>'
            for x, y, _ in (left, right)
        ]
        labels.append(text(made[0], made[1] + 4, made[2], "title"))
        labels.append(text(WIDTH - 10, made[1] + 4, f"merge {merge['rank']}", "small", "end"))
        nodes[merge["place"] : merge["place"] + 2] = [made]
    told = ", then ".join(f"{tokens[str(one['left'])]} + {tokens[str(one['right'])]}" for one in merging["merges"])
    return svg(
        height, f"The merges of {WORD}", f"{told}; the tokens are {' and '.join(tok.tokenize(WORD))}", [*lines, *labels]
    )


def lattice_picture() -> str:
    """All pieces of a word with their scores, and the path whose sum of scores is the greatest."""
    tok = subwords.train(BOOK, algorithm="unigram", vocab_size=1_000, progress=False)
    found = subwords.study.explain(tok, UNIGRAM_WORD).to_dict()
    lattice, tokens = found["parts"][0]["words"][0]["segmentation"], found["tokens"]
    pieces = lattice["pieces"]
    length = max(piece["stop"] for piece in pieces)
    longest = max(piece["stop"] - piece["start"] for piece in pieces)
    step, base = (WIDTH - 80) / length, 50.0 + 34 * longest
    lines, labels = [], []
    for place, piece in sorted(enumerate(pieces), key=lambda one: one[0] in lattice["best"]):
        first, last = 40 + step * piece["start"], 40 + step * piece["stop"]
        rise = 34.0 * (piece["stop"] - piece["start"] - 1)
        kind = "best" if place in lattice["best"] else "line"
        middle = (first + last) / 2
        lines.append(
            f'<path class="{kind}" d="M{first:.1f} {base} Q{middle:.1f} {base - 2 * rise:.1f} {last:.1f} {base}"/>'
        )
        label = f"{tokens[str(piece['id'])]} {piece['score']:.2f}".replace("-", "−")
        labels.append(text(middle, base - rise - 7 if rise else base + 20, label, "small"))
    spots = [f'<circle class="spot" cx="{40 + step * place:.1f}" cy="{base}" r="4"/>' for place in range(length + 1)]
    best = " ".join(tokens[str(pieces[place]["id"])] for place in lattice["best"])
    labels.append(text(WIDTH / 2, base + 46, f"best path: {best}, {lattice['score']:.2f}".replace("-", "−"), "title"))
    return svg(base + 60, f"The lattice of {UNIGRAM_WORD}", f"best path {best}", [*lines, *spots, *labels])


if __name__ == "__main__":
    raise SystemExit(main())
