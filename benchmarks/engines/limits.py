"""How many ids of a text may still change: what is proved, what is true as far as was tried, and what guesses cost.

Counts only, so they are the same on every machine. `final` of a text leaves some ids open; continuations show how many
of these really change, at least. Beside it: the trick of `growing.BackOff`, with and without its check. "totals" are of
texts that are made to be hard: how many characters are encoded for each one that is appended.
"""

from __future__ import annotations

import random
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.engines.back_off import spans_of
from benchmarks.engines.growing import BackOff
from benchmarks.engines.protocol import Engine, NoSuchCallError, digest_and_save

__all__ = ["run"]

Answer = dict[str, Any]
BEFORE, AFTER = 800, 200  # characters of a text before and after the place where it is cut
TOKENS = 24  # continuations that complete tokens
ENDS = (1, 2, 3, 5, 8, 12)  # characters at the end of a text that may begin a token
FIXED = (
    *"aAzZ09 \n\t.,-_'\"=*/<>|#",
    *("s", "'s", "'ll", "ing", "tion", "able", "12", "123", "  ", " a", " A", " 1", "\n\n", "\r\n", "\n a", "--", "=="),
    *("\u0301", "\u0316\u0301", "\u200d", "\ufe0f", "\u00a0", "\u3000", "\u00e9", "\u0301a", "\u2581", "##", "</w>"),
    *("\u0e32", "\u0e48", "\u0e01\u0e32\u0e23", "\u4e2d", "\u4e2d\u6587", "\uac01", "\u11a8", "\u3042", "\u0438"),
    *("\U0001f469", "\U0001f3fd", "\x00", "\x10", "a" * 40, "-" * 40, " " * 40, "1" * 40, "\u0301" * 40),
)
STEP = 64  # characters that are appended at a time
SIZES = (8_192, 16_384)  # characters of a text of "totals"


def run(engine: Engine, job: Answer) -> Answer:
    """Return counts, and the ids of the whole text; an engine without versions encodes only."""
    if not engine.shares_versions:
        raise NoSuchCallError("has no versions of texts")
    text = Path(job["file"]).read_bytes().decode()  # with its line ends
    tokenizer = engine.load(job["tokenizer"])
    ids = tokenizer.encode_to_numpy(text)
    counts = _totals(tokenizer, engine.library) if job["what"] == "totals" else _open_ids(tokenizer, text, job["count"])
    return {"seconds": {}, "counts": counts, **digest_and_save(ids, job.get("output"))}


def _open_ids(tokenizer: Any, text: str, count: int) -> Answer:
    """Count, at places of a text, the ids that are open by proof and by trial, and the failures of backing off."""
    draw = random.Random(34)
    tokens = sorted({tokenizer.decode([index]) for index in range(tokenizer.vocab_size)})
    backing = BackOff(tokenizer.encode_to_numpy, lambda part: spans_of(tokenizer, part))
    open_, needed, over, failures = list[int](), list[int](), 0, {"wrong": 0, "checked_wrong": 0, "encoded_again": 0}
    for _ in range(count):
        at = draw.randrange(len(text) - BEFORE - AFTER) + BEFORE
        before, after = text[at - BEFORE : at], text[at : at + AFTER]
        ids = tokenizer.encode(before)
        changed = 0
        for more in {after, *FIXED, *_completions(before, tokens, draw), *_elsewhere(text, draw)}:
            changed = max(changed, len(ids) - _common(ids, tokenizer.encode(before + more)))
        open_.append(len(ids) - tokenizer.growing(before).final)
        needed.append(changed)
        over += open_[-1] < changed
        version, whole = backing.begin(before), tokenizer.encode(before + after)
        guess, checked = backing.tail(version, after, check=False), backing.tail(version, after)
        assert guess is not None, "nothing is checked"
        failures["wrong"] += guess.ids.tolist() != whole
        failures["checked_wrong"] += checked is not None and checked.ids.tolist() != whole
        failures["encoded_again"] += checked is None
    kinds = {"open": open_, "needed": needed}
    found = {f"{kind}_{name}": value for kind, values in kinds.items() for name, value in _quantiles(values).items()}
    tight = sum(a == b for a, b in zip(open_, needed, strict=True))
    return {**found, "tight": tight, "over": over, **failures}


def _completions(text: str, tokens: Sequence[str], draw: random.Random) -> Iterator[str]:
    """Yield what completes the end of a text to tokens."""
    for size in ENDS:
        end = text[-size:]
        first, last = bisect_left(tokens, end), bisect_left(tokens, end + "\U0010ffff")
        for number in draw.sample(range(first, last), min(TOKENS // len(ENDS), last - first)):
            yield tokens[number][size:]


def _elsewhere(text: str, draw: random.Random) -> Iterator[str]:
    """Yield parts of the text."""
    for _ in range(6):
        at = draw.randrange(len(text) - 40)
        yield text[at : at + 40]


def _common(a: Sequence[int], b: Sequence[int]) -> int:
    return next((k for k, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def _quantiles(values: Sequence[int]) -> dict[str, int]:
    ordered = sorted(values)
    return {"median": ordered[len(ordered) // 2], "99": ordered[len(ordered) * 99 // 100], "most": ordered[-1]}


def _totals(tokenizer: Any, library: Any) -> Answer:
    """Return for hard texts of two sizes the characters encoded for each one appended, ids read after each append.

    If the cost is linear, both are alike; if it is quadratic, the second is twice the first.
    """
    draw = random.Random(34)
    longest = max(SIZES)
    special = max((token for token in tokenizer.special_tokens), key=len, default="")
    texts = {
        "letter": ("a" * longest, "text"),
        "no_cuts": ("".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=longest)), "text"),
        "marks": ("e" + "\u0301\u0316" * (longest // 2), "text"),
        "half_special": ((special[:-1] * longest)[:longest], "allow"),
    }
    found: Answer = {}
    for name, (text, policy) in texts.items():
        for reading in ("each", "end"):
            for size in SIZES if text else ():
                with _counted() as spent:
                    version = tokenizer.growing("", special=policy)
                    for at in range(0, size, STEP):
                        version = version.append(text[at : at + STEP])
                        if reading == "each":
                            version.added  # noqa: B018  # the ids are asked for
                    ids = version.ids.tolist()
                if ids != tokenizer.encode(text[:size], special=policy):
                    raise RuntimeError(f"{name} gave other ids than the whole text")
                found[f"{name}_{reading}_{size}"] = spent[0] / size
    return found


@contextmanager
def _counted() -> Iterator[list[int]]:
    """Count the characters that texts that grow have encoded meanwhile."""
    from subwords.engine.growing import Grower

    spent, real = [0], (Grower.encode, Grower.after)

    def encode(self: Any, text: str) -> Any:
        spent[0] += len(text)
        return real[0](self, text)

    def after(self: Any, before: Any, text: str) -> Any:
        if before.total is not None or before.inside:
            spent[0] += len(text)  # others come to `encode`
        return real[1](self, before, text)

    try:
        Grower.encode, Grower.after = encode, after  # type: ignore[method-assign]
        yield spent
    finally:
        Grower.encode, Grower.after = real  # type: ignore[method-assign]
