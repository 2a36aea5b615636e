"""Train a tokenizer on a book, save it, load it, and turn the book into ids and back.

Usage: python examples/quickstart.py [FOLDER]; the tokenizer is saved in FOLDER, or in `out`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter

import subwords

BOOK = Path(__file__).with_name("opticks.txt")


def main(folder: Path) -> None:
    """Do the whole round once and print every step."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "opticks.json"
    text = BOOK.read_text("utf-8")

    started = perf_counter()
    subwords.train(["a first use"], vocab_size=257).encode("a first use " * 100)
    seconds = perf_counter() - started
    print(f"kernels   ready in {seconds:.1f} s: compiled once on a machine if the package has no machine code for it")

    started = perf_counter()
    tok = subwords.train(BOOK, vocab_size=8_000, special_tokens=["<|endoftext|>"])
    seconds = perf_counter() - started
    print(f"train     {BOOK.name}, {len(text.encode()):,} bytes: {tok.vocab_size:,} tokens in {seconds:.2f} s")

    tok.save(file)
    tok = subwords.load(file)
    print(f"save      {file}, {file.stat().st_size:,} bytes, loaded again")

    started = perf_counter()
    ids = tok.encode(text)
    seconds = perf_counter() - started
    print(f"encode    {len(ids):,} ids in {1000 * seconds:.0f} ms, {len(text.encode()) / len(ids):.2f} bytes an id")

    if tok.decode(ids) != text:
        sys.exit("decode    the text did not come back: please report this")
    print("decode    the text came back, character for character")

    sentence = "Light which differs in Colour, differs also in Refrangibility."
    print(f"tokens    {tok.tokenize(sentence)}")
    print(
        f"special   as plain text {tok.encode('<|endoftext|>')}, allowed {tok.encode('<|endoftext|>', special='allow')}"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out"))
