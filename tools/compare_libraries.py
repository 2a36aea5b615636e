"""Compare every tokenizer file of a folder with its own library: ids, tokens, spans and decoded text.

    python tools/compare_libraries.py ../shared/data [--strings 100000] [--bytes 100000] [--every 5] [--only PART]

Prints a table with the number of texts and of differences for each file, and the first difference of each kind. The
texts are the first `--bytes` of each corpus, 20,000 bytes of each valid adversarial file, and random strings. The seed
is printed. Exit code 1 if there are differences that COMPATIBILITY.md does not list.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import subwords

SMALL = 20_000  # bytes of an adversarial file
ALPHABETS = (
    "abcdefghij ETAOIN'.,!?-_0123456789\n\t ",
    "éèñçßøåÀÉĳŒ ıİǅ",
    "абвгдежз АБВ ύωα ",
    "日本語中文字漢 ひらカタ。、",
    "한국어가각ㄱㅏ ",
    "العربية ًٌٍ עברית ",
    "हिन्दी क्षि ไทยภาษา ကမြန်",
    "😀👍🏽👩‍👩‍👧‍👦🇩🇪❤️ ",
    "\u0300\u0301\u0327\u200b\u200d\u2060\ufeff\u00ad",
    "\x00\x01\x0b\x0c\x1c\x7f\x85\u2028\u2029\u00a0\u3000\u2009\r\n",
    "▁<>|[]/_#ĠĊÃ©Â</w>",
    "\U00010ffd\ue000\ufdd0\U0001d400ﬁ½Å①ｱＡ",
)
SPELLED = (
    "<s>",
    "</s>",
    "<unk>",
    "<pad>",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "<|endoftext|>",
    "<0x41>",
    "<|im_start|>",
    "##ing",
)


Span = tuple[int, int]


class Peer(NamedTuple):
    """Another library's view of a text: ids, tokens, spans (None if it has none), and the text of ids."""

    encode: Callable[[str], tuple[list[int], list[str] | None, Sequence[Span | None] | None]]
    decode: Callable[[list[int]], str]


def random_strings(count: int, seed: int) -> Iterator[str]:
    """Yield strings of up to 40 characters, most of one or two scripts."""
    rng = random.Random(seed)
    for _ in range(count):
        letters = "".join(rng.sample(ALPHABETS, rng.choice([1, 1, 2, 3])))
        text = "".join(rng.choices(letters, k=rng.randint(0, 40)))
        if rng.random() < 0.1:
            at = rng.randint(0, len(text))
            text = text[:at] + rng.choice(SPELLED) + text[at:]
        if rng.random() < 0.05:
            text += "".join(chr(rng.choice([rng.randrange(0xD800), rng.randrange(0xE000, 0x110000)])) for _ in range(5))
        yield text


def corpus_texts(data: Path, size: int) -> Iterator[str]:
    """Yield the start of each corpus in parts of some lines, and of each adversarial file that is text."""
    for path in sorted((data / "corpora").glob("*.txt")):
        with path.open("rb") as stream:
            text = stream.read(size).decode("utf-8", "ignore")
        lines = text.splitlines(keepends=True)
        yield from ("".join(lines[at : at + 20]) for at in range(0, len(lines), 20))
    for path in sorted((data / "adversarial").glob("*.txt")):
        with path.open("rb") as stream:
            yield stream.read(SMALL).decode("utf-8", "ignore")


# ------------------------------------------------------------------ peers


def of_hf(tok: Any) -> Peer:
    def encode(text: str) -> tuple[list[int], list[str], list[tuple[int, int]]]:
        found = tok.encode(text)
        return found.ids, found.tokens, found.offsets

    return Peer(encode, lambda ids: str(tok.decode(ids, skip_special_tokens=False)))


def of_tiktoken(path: Path, spec: dict[str, Any]) -> Peer:
    import tiktoken
    from tiktoken.load import load_tiktoken_bpe

    encoding = tiktoken.Encoding(
        path.stem,
        pat_str=spec["pat_str"],
        mergeable_ranks=load_tiktoken_bpe(str(path)),
        special_tokens=spec["special_tokens"],
    )
    return Peer(lambda text: (encoding.encode(text, allowed_special="all"), None, None), encoding.decode)


def of_sentencepiece(path: Path) -> Peer:
    import sentencepiece

    sp = sentencepiece.SentencePieceProcessor(model_file=str(path))

    def encode(text: str) -> tuple[list[int], list[str], list[Span | None]]:
        data, pieces = text.encode(), sp.encode(text, return_type="proto").pieces
        # Of several bytes of one character only the last has its span there; here all have.
        spans = [
            None if sp.is_byte(piece.id) else (len(data[: piece.begin].decode()), len(data[: piece.end].decode()))
            for piece in pieces
        ]
        return [piece.id for piece in pieces], [piece.piece for piece in pieces], spans

    return Peer(encode, lambda ids: str(sp.decode(ids)))


Pair = tuple[subwords.Tokenizer, Peer, str]  # ours, its own library, how special tokens in text are read


def json_file(path: Path) -> Pair:
    import tokenizers

    return subwords.load(path), of_hf(tokenizers.Tokenizer.from_file(str(path))), "allow"


def model_file(path: Path) -> Pair:
    return subwords.load(path), of_sentencepiece(path), "text"


def rank_file(path: Path) -> Pair:
    specs = json.loads((path.parents[1] / "tiktoken" / "specs.json").read_text("utf-8"))
    spec = specs.get(path.stem) or {**specs["gpt2"], "special_tokens": {"<|endoftext|>": 50257}}
    known = path.stem.endswith("_base")
    given = {} if known else {"splitter": spec["pat_str"], "special_tokens": spec["special_tokens"]}
    return subwords.load(path, **given), of_tiktoken(path, spec), "allow"


def vocab_file(path: Path) -> Pair:
    import tokenizers

    peer = tokenizers.BertWordPieceTokenizer(str(path), lowercase="-cased" not in path.name)
    return subwords.load(path), of_hf(peer._tokenizer), "allow"


def merges_file(path: Path) -> Pair:
    import tokenizers
    import transformers

    vocab = str(path.with_name("vocab.json"))
    kinds = {"clip": transformers.CLIPTokenizer, "openai-gpt": transformers.OpenAIGPTTokenizer}
    if path.parent.name in kinds:
        peer = kinds[path.parent.name](vocab=vocab, merges=str(path))._tokenizer
    else:
        peer = tokenizers.ByteLevelBPETokenizer(vocab, str(path))._tokenizer
    return subwords.load(path), of_hf(peer), "allow" if path.parent.name in kinds else "text"


KINDS = {
    "*tokenizer.json": json_file,
    "*.model": model_file,
    "*.model.v*": model_file,
    "*.spm": model_file,
    "*.tiktoken": rank_file,
    "*vocab.txt": vocab_file,
    "merges.txt": merges_file,
    "vocab.bpe": merges_file,
}


# ------------------------------------------------------------------ comparison


def differences(
    tok: subwords.Tokenizer, peer: Peer, texts: Iterable[str], special: str, every: int
) -> tuple[int, Counter[str], list[str]]:
    """Return the number of texts, the number of differences by kind, and the first of each kind."""
    found: Counter[str] = Counter()
    first: list[str] = []
    count = 0
    for part in batches(texts):
        rows = tok.encode_batch(part, special=special, template=True).to_lists()  # type: ignore[arg-type]
        for text, row in zip(part, rows, strict=True):
            ids, tokens, spans = peer.encode(text)
            pairs: dict[str, tuple[Any, Any]] = {"ids": (row, ids)}
            if count % every == 0:
                got = tok(text, special=special)  # type: ignore[call-overload]
                pairs["ids"] = ((row, got.ids.tolist()), (ids, ids))
                pairs["decode"] = tok.decode(ids), peer.decode(ids)
                if tokens is not None:
                    pairs["tokens"] = list(got.file_tokens), tokens
                if spans is not None:
                    ours = [span if theirs else None for span, theirs in zip(got.offsets, spans, strict=False)]
                    pairs["spans"] = (len(got), ours), (len(spans), spans)
            count += 1
            for kind, (mine, peers) in pairs.items():
                if mine != peers:
                    if not found[kind]:
                        first.append(f"  {kind} of {text[:60]!r}: {str(mine)[:300]} expected {str(peers)[:300]}")
                    found[kind] += 1
    return count, found, first


def batches(texts: Iterable[str]) -> Iterator[list[str]]:
    """Yield lists of texts."""
    rest = iter(texts)
    while part := list(islice(rest, 1000)):
        yield part


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--strings", type=int, default=100_000)
    parser.add_argument("--every", type=int, default=5, help="tokens, spans and decode of one text in N")
    parser.add_argument("--bytes", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=int(time.time() // 86400))
    parser.add_argument("--only", default="", help="files whose name contains this")
    parser.add_argument("--part", default="0/1", help="I/N: the Ith of N parts of the files")
    given = parser.parse_args()
    print(f"seed {given.seed}, {given.strings} random strings\n")
    print("| file | texts | ids | tokens | spans | decode |\n|---|---|---|---|---|---|")
    total, notes = 0, []
    root = given.data / "tokenizers"
    number, parts = map(int, given.part.split("/"))
    files = [(path, kind) for glob, kind in KINDS.items() for path in sorted(root.rglob(glob))]
    for path, open_both in files[number::parts]:
        name = path.relative_to(root).as_posix()
        if given.only not in name:
            continue
        tok, peer, special = open_both(path)
        texts = (
            text
            for part in (corpus_texts(given.data, given.bytes), random_strings(given.strings, given.seed))
            for text in part
        )
        count, found, first = differences(tok, peer, texts, special, given.every)
        print(
            f"| {name} | {count} | " + " | ".join(str(found[k]) for k in ("ids", "tokens", "spans", "decode")) + " |",
            flush=True,
        )
        total += sum(found.values())
        notes += [name, *first] if first else []
    print("\n".join(["", *notes]))
    return total > 0


if __name__ == "__main__":
    sys.exit(main())
