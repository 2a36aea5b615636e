"""Hostile texts by the million, without coverage: each has the ids and the text that peers give; see tools/fuzz.py.

    python tools/fuzz_volume.py --seconds 600           # all kinds in turn, a tenth of the inputs with checked kernels
    python tools/fuzz_volume.py gpt2 lines --seconds 60

An execution is one text, one line of JSON or one list of ids. They are made and compared in batches of thousands, up to
300,000 in a second: what they find are rare inputs, and what coverage cannot see, as in kernels. Each run makes others.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from tools import fuzz  # noqa: E402
from tools.fuzz_files import ROW  # noqa: E402
from tools.fuzz_inputs import check, file_of, read_as_file, trained  # noqa: E402

FEW = 4096  # texts of a batch
MOST_SEEN = 0x323B0  # code points from here on are rare: they differ between versions of Unicode

GROUPS: tuple[Sequence[str], ...] = (
    "etaoinshrdlu",
    "ABCXYZ",
    "0123456789²½٣",
    (" ", "  ", "\n", "\r\n", "\t", "\n\n", "\u00a0", "\u3000", "\u2028", "\x85", "\x1c", "\u200b", "   "),
    ".,;:!?-_'\"()[]{}<>/\\|@#$%^&*+=~`",
    ("'s", "'T", "'re", "'VE", "'ll", "'ſ", "n't", "’s"),
    "éüñçøßıİſŉǅﬁ\u0301\u0308\u0323",
    "αβγσςΣабвіїЙ",
    "中文字東京、。！「」々〇",
    "한국어ㄱ\u1100\u1161\u11a8กิ์คำक्षिمُعَ\u0640שּ",
    ("😀", "👩\u200d👩\u200d👧", "👍🏽", "🇩🇪", "❤\ufe0f", "\u20e3", "🏴\U000e0067\U000e007f"),
    ("\0", "\x01", "\x7f", "\u202e", "\u2066", "\ufeff", "\ufffd", "\ufffe", "\u00ad", "\ue000", "\U0010ffff"),
    ("<|endoftext|>", "<|end", "</s>", "<unk>", "[UNK]", "▁", "##a", "Ġ", "<0x41>", "\u0120", "http://a.b/c?d=1"),
    ("the", " of", " and", "ing", " token", "izer", " 1,234.5", "camelCase", "__init__", "    return"),
)


class Maker:
    """Makes texts from atoms: runs of one group, some of them of one atom; and sometimes any character."""

    def __init__(self, groups: Sequence[Sequence[str]], seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self._firsts = np.cumsum([0, *map(len, groups)])
        codes = [[*map(ord, atom)] for group in groups for atom in group]
        self._lengths = np.array([*map(len, codes)])
        self._starts = np.cumsum(self._lengths) - self._lengths
        self._codes = np.array([*chain.from_iterable(codes)], np.uint32)

    def texts(self, count: int, mean: int, strange: float = 0.01) -> list[str]:
        """Return texts of about so many atoms; strange: the share of characters that are replaced by any other."""
        rng, total = self.rng, count * mean
        runs = rng.geometric(0.35, total)
        runs = runs[: int(np.searchsorted(np.cumsum(runs), total)) + 1]
        group = np.repeat(rng.integers(0, len(self._firsts) - 1, len(runs)), runs)[:total]
        first, stop = self._firsts[group], self._firsts[group + 1]
        share = rng.random(len(group))
        of_run = np.repeat(rng.random(len(runs)), runs)[:total]
        share = np.where(np.repeat(rng.random(len(runs)) < 0.2, runs)[:total], of_run, share)
        atoms = first + (share * (stop - first)).astype(np.int64)
        lengths = self._lengths[atoms]
        ends = np.cumsum(lengths)
        codes = self._codes[np.repeat(self._starts[atoms] - ends + lengths, lengths) + np.arange(ends[-1])]
        odd = np.flatnonzero(rng.random(len(codes)) < strange)
        any_code = rng.integers(0, MOST_SEEN, len(odd), dtype=np.uint32)
        codes[odd] = np.where((any_code >= 0xD800) & (any_code < 0xE000), 0xFFFD, any_code)
        whole = codes.astype("<u4").tobytes().decode("utf-32-le")
        cuts = np.sort(rng.integers(0, len(whole) + 1, count - 1)).tolist()
        return [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]


@cache
def _text() -> str:
    """Text to train on, with words of many kinds."""
    return "\n".join((ROOT / name).read_text("utf-8") for name in ("README.md", "ALGORITHMS.md", "CONTRIBUTING.md"))


# ------------------------------------------------------------------ executions


def bytes_pairs(splitter: str) -> Callable[[int], Iterator[int]]:
    """Ids of texts equal those of tiktoken with the same ranks and pattern; all ids decode to the texts."""

    def run(seed: int) -> Iterator[int]:
        import tiktoken

        tok, maker = trained(_text(), splitter=splitter, size=3000), Maker(GROUPS, seed)
        ranks = {piece: index for index, piece in enumerate(tok.token_table())}
        [step] = tok.spec.splitter
        peer = tiktoken.Encoding(splitter, pat_str=step.pattern, mergeable_ranks=ranks, special_tokens={})
        while True:
            texts = maker.texts(FEW, 5)
            batch = tok.encode_batch(texts, threads=1)
            _same(batch, [*map(peer.encode_ordinary, texts)], texts)
            check(tok.decode_batch(batch) == texts, f"other texts than {texts!r}")
            yield FEW

    return run


def families(number: int) -> Callable[[int], Iterator[int]]:
    """Ids of texts equal those of HF tokenizers, from the file that is written."""

    def run(seed: int) -> Iterator[int]:
        import tokenizers

        options: Any = (
            {"algorithm": "wordpiece", "size": 2000},
            {"algorithm": "unigram", "size": 1000, "byte_fallback": True},
            {"byte_level": False, "byte_fallback": True, "splitter": "metaspace", "size": 2000},
            {"splitter": "deepseek-v3", "normalizer": "nfc", "size": 2000},
        )[number]
        file = file_of(trained(_text(), **options), "tokenizer.json")
        tok, peer = read_as_file("tokenizer.json", file), tokenizers.Tokenizer.from_buffer(file)
        maker = Maker(GROUPS, seed)
        while True:
            texts = maker.texts(FEW, 5)
            wanted = [each.ids for each in peer.encode_batch_fast(texts, add_special_tokens=False)]
            _same(tok.encode_batch(texts, special="allow", threads=1), wanted, texts)
            yield FEW

    return run


def ids(seed: int) -> Iterator[int]:
    """Any ids: their bytes, and so their texts, are those of their tokens."""
    tok, rng = trained(_text(), splitter="cl100k", size=3000), np.random.default_rng(seed)
    table = np.array([*tok.token_table()], object)
    while True:
        flat = rng.integers(0, rng.choice([256, 3000]), FEW * 8)
        cuts = np.sort(rng.integers(0, len(flat) + 1, FEW - 1)).tolist()
        rows = [flat[a:b] for a, b in zip([0, *cuts], [*cuts, len(flat)], strict=True)]
        wanted = [b"".join(table[row]).decode("utf-8", "replace") for row in rows]
        check(tok.decode_batch(rows) == wanted, f"other texts of {rows}")
        yield FEW


def lines(seed: int) -> Iterator[int]:
    """Lines of JSON, most of them faulty: the kernel finds the texts, and leaves out the lines, that Python does."""
    from subwords.corpus.columns import _row_by_row, _texts
    from subwords.corpus.reading import Reading, Tally

    maker, reading = Maker([[*ROW], ['{"text": "', '"}\n'], ["\n"], "ab \\\"'{}[]"], seed), Reading(errors="skip")
    while True:
        texts = [text.replace("\n", " ") for text in maker.texts(FEW, 4, 0.0)]
        whole = [json.dumps({"n": 1, "text": text}, ensure_ascii=bool(at % 2)) for at, text in enumerate(texts[::4])]
        texts[::4] = whole
        data = "\n".join(texts).encode("utf-8", "surrogatepass")
        found = list[Any]()
        for read in (_texts, _row_by_row):
            tally = Tally()
            text, ends = read(data, Path("a.jsonl"), 0, reading, tally)
            stops = [end for end, before in zip(ends, [0, *ends], strict=False) if end > before]
            found.append((bytes(text), stops, tally))
        check(found[0] == found[1], f"other texts of {data!r}")
        yield FEW


def _same(batch: Any, wanted: list[list[int]], texts: list[str]) -> None:
    """Compare flat ids and lengths; name a text that differs."""
    flat = np.fromiter(chain.from_iterable(wanted), np.uint32)
    sizes = np.diff(batch.offsets)
    if np.array_equal(batch.ids, flat) and np.array_equal(sizes, [*map(len, wanted)]):
        return
    for row, each, text in zip(batch, wanted, texts, strict=True):
        check([*row] == each, f"{[*row]}, not {each} of {text!r}")


def growing(seed: int) -> Iterator[int]:
    """Text that arrives in pieces, as characters and as bytes, and ids that are decoded in pieces."""
    tok, maker = trained(_text(), splitter="o200k", size=3000), Maker(GROUPS, seed)
    while True:
        texts = maker.texts(FEW, 5)
        for first, second, third in zip(texts[::3], texts[1::3], texts[2::3], strict=False):
            text = first + second + third
            ids = tok.encode(text)
            version = tok.growing(first).append(second).append(third)
            check(version.ids.tolist() == ids, f"other ids as {[first, second, third]!r} grow")
            stream, data, found = tok.encode_stream(), text.encode(), list[int]()
            for part in (data[: len(data) // 2], data[len(data) // 2 :]):
                found += stream.feed(part).tolist()
            check([*found, *stream.finish().tolist()] == ids, f"other ids of {text!r} as two halves of bytes")
            decoder, half = tok.stream(), len(ids) // 2
            decoded = decoder.step(ids[:half]) + decoder.step(ids[half:]) + decoder.finish()
            check(decoded == text, f"{decoded!r}, not {text!r}, of {ids} in two steps")
        yield FEW


KINDS: dict[str, Callable[[int], Iterator[int]]] = {
    **{name: bytes_pairs(name) for name in ("gpt2", "cl100k", "o200k")},
    **{name: families(at) for at, name in enumerate(("wordpiece", "unigram", "metaspace", "nfc"))},
    "ids": ids,
    "lines": lines,
    "growing": growing,
}


# ------------------------------------------------------------------ running


def run(name: str, seconds: float, *, checked: bool) -> None:
    """Run a kind in a process of its own, and add what ran to the table of campaigns."""
    table = fuzz.read_table()
    row = table.setdefault(f"volume {name}", dict.fromkeys(fuzz.COLUMNS, 0))
    settings = {**os.environ, "SUBWORDS_TABLES": "off"} | (fuzz.CHECKED if checked else {})
    command = [sys.executable, __file__, name, "--seconds", str(seconds), "--seed", str(row["executions"])]
    began, done = time.monotonic(), 0
    with subprocess.Popen(command, env=settings, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            done = int(line)
    row["executions"] += done
    row["checked"] += done if checked else 0
    row["seconds"] += round(time.monotonic() - began)
    row["findings"] += process.returncode != 0
    (fuzz.KEPT / "campaign.json").write_text(json.dumps(dict(sorted(table.items())), indent=1) + "\n", "ascii")
    print(f"{name}: {done:,} executions{', checked' * checked}{', a finding' * bool(process.returncode)}", flush=True)


def main() -> None:
    """Run what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kinds", nargs="*", choices=[*KINDS, []], help="all, if none is named")
    parser.add_argument("--seconds", type=float, default=60, help="in all")
    parser.add_argument(
        "--seed", type=int, help="one kind, in this process, with native kernels or as the environment says"
    )
    options = parser.parse_args()
    if options.seed is None:
        names = options.kinds or [*KINDS]
        for name in names:
            run(name, 0.7 * options.seconds / len(names), checked=False)
            run(name, 0.3 * options.seconds / len(names), checked=True)  # these are slower
        return
    done, batches, began = 0, KINDS[options.kinds[0]](options.seed), 0.0
    while not began or time.monotonic() - began < options.seconds:
        done += next(batches)
        began = began or time.monotonic()  # after training and compiling
        print(done, flush=True)


if __name__ == "__main__":
    main()
