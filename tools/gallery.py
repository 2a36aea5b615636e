"""The gallery: what `audit` finds in well-known tokenizers; `python -m tools.gallery DATA` writes docs/gallery.md.

DATA is a folder with their files. The page shows two findings of each rule, notes by their number only.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import subwords

PAGE = Path(__file__).resolve().parents[1] / "docs" / "gallery.md"
FILES = {
    "GPT-2": "gpt2/tokenizer.json",
    "cl100k (GPT-4)": "converted/cl100k_base.tokenizer.json",
    "o200k (GPT-4o)": "tiktoken/o200k_base.tiktoken",
    "Qwen3": "converted/qwen3.tokenizer.json",
    "Phi-3": "phi-3/tokenizer.json",
    "Falcon": "falcon/tokenizer.json",
    "GPT-NeoX": "gpt-neox/tokenizer.json",
    "CLIP": "clip/tokenizer.json",
    "BERT uncased": "bert/bert-base-uncased-tokenizer.json",
    "T5": "t5/tokenizer.json",
    "ALBERT": "albert/spiece.model",
    "Mistral v1": "mistral/tokenizer.model.v1",
}
SHOWN = 2  # findings of a rule
HEAD = """# Gallery of audits

What [`audit`](studying.md#audit) finds in the files of well-known tokenizers, without a corpus. A finding is not
always a fault: a token that no text yields is a row of a table, and harmless until something feeds it to a model that
was never trained on it. A program that uses the tokenizer should know. [The rules](studying.md#audit) say
what each name means;
two findings of each are shown, and notes are counted only. `python -m tools.gallery DATA` makes this page.

"""


def page_of(files: dict[str, Path]) -> str:
    """Return the page of the tokenizer files with these names."""
    rows, parts = [], list[str]()
    for name, file in files.items():
        tok = subwords.load(file)
        found = subwords.study.audit(tok)
        counts = [found.count(severity) for severity in ("error", "warning", "note")]
        rules = Counter(one.rule for one in found.findings if one.severity != "note")
        rows.append([name, type(tok.model).__name__, f"{tok.vocab_size:,}", *map("{:,}".format, counts)])
        parts += ["", f"## {name}", ""]
        for rule, number in rules.items():
            shown = [one.message for one in found.findings if one.rule == rule][:SHOWN]
            parts.append(f"- `{rule}`, {number:,}: " + "; ".join(f"`` {text} ``" for text in shown))
        parts += [] if rules else ["Notes only."]
    columns = ["tokenizer", "model", "tokens", "errors", "warnings", "notes"]
    table = [f"| {' | '.join(columns)} |", "|---|---|--:|--:|--:|--:|", *(f"| {' | '.join(row)} |" for row in rows)]
    return HEAD + "\n".join([*table, *parts]) + "\n"


def main() -> int:
    """Write the page."""
    folder = Path(sys.argv[1])
    PAGE.write_text(page_of({name: folder / file for name, file in FILES.items()}), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
