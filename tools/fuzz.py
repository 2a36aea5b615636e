"""Fuzz what reads files, patterns, templates and texts of strangers, with coverage (Atheris); a campaign goes on.

    pip install atheris
    python tools/fuzz.py files --seconds 600 --corpus fuzz   # one target; inputs that reach new code are kept in fuzz/
    python tools/fuzz.py --list

A target takes bytes and may raise `SubwordsError`, a warning or nothing else. What else happens, a difference between
two ways to one result, a crash, more than 2 GB or 60 seconds, is a finding: its input is left in the corpus folder.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import pkgutil
import random
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

import atheris  # noqa: E402

with atheris.instrument_imports(include=["subwords"], enable_loader_override=False):
    import subwords
    from subwords import SubwordsError

    READERS = ("formats", "spec", "split", "normalize", "chat", "engine", "corpus", "models")
    for each in pkgutil.walk_packages(subwords.__path__, "subwords."):  # these are imported when they are first used
        if each.name.split(".")[1] in READERS:
            importlib.import_module(each.name)

warnings.simplefilter("ignore")
TEXTS = ("", "low lower", "  Ünd 12345 it's\n\n文字 ก็ \t", "<|endoftext|> </s> a", "e\u0301\ufdfa\U0001f469\u200d x")
PLACE = Path(tempfile.mkdtemp())


class Target(NamedTuple):
    """What takes bytes, the inputs that it begins with, and how a valid one is changed; None: bit by bit."""

    run: Callable[[bytes], None]
    seeds: Callable[[], Iterator[bytes]]
    change: Callable[[bytes, random.Random], bytes] | None = None


# ------------------------------------------------------------------ files of tokenizers


def _use(tok: Any) -> None:
    """Encode and decode with what was loaded: all ways give the same ids."""
    for text in TEXTS:
        try:
            ids = tok.encode(text)
        except SubwordsError:
            continue
        if tok.encode_batch([text]).to_lists()[0] != ids or tok.encode_to_numpy(text).tolist() != ids:
            raise AssertionError(f"a batch gives other ids for {text!r}")
        if tok.growing(text[:3]).append(text[3:]).ids.tolist() != tok.encode(text, template=False):
            raise AssertionError(f"growing text gives other ids for {text!r}")
        tok.decode(ids)
        tok(text)


def _file(name: str) -> Callable[[bytes], None]:
    def run(data: bytes) -> None:
        path = PLACE / name
        path.write_bytes(data)
        try:
            tok = subwords.load(path)
        except SubwordsError:
            return
        _use(tok)

    return run


def _small_file(name: str) -> Path:
    from small_data import file_of, made_in

    if not _FOLDER:
        _FOLDER.append(made_in(PLACE))
    return Path(file_of(_FOLDER[0], name))


_FOLDER: list[Path] = []


def _small(*names: str) -> Callable[[], Iterator[bytes]]:
    def seeds() -> Iterator[bytes]:
        for name in names:
            yield _small_file(name).read_bytes()

    return seeds


def _change_json(data: bytes, rng: random.Random) -> bytes:
    """Change one place of a JSON document: another value, a value of elsewhere, a key more or less."""
    try:
        document = json.loads(data)
    except ValueError:
        return data
    places = list[tuple[Any, Any]]()

    def walk(node: Any, depth: int) -> None:
        items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for key, value in [*items][:200]:
            places.append((node, key))
            if depth < 8:
                walk(value, depth + 1)

    walk(document, 0)
    if not places:
        return data
    odd = [
        None,
        True,
        False,
        0,
        -1,
        2**31,
        2**64,
        1.5,
        "",
        "a",
        "\ud800",
        [],
        {},
        [[]],
        "▁",
        "##",
        "</w>",
        "(?<=a)b|",
        "🙂",
    ]
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        node, key = rng.choice(places)
        kind = rng.random()
        if kind < 0.5:
            value = rng.choice(odd)
        elif kind < 0.8:
            other, at = rng.choice(places)
            value = other.get(at) if isinstance(other, dict) else other[at] if at < len(other) else None
        else:
            if isinstance(node, dict):
                node.pop(key, None)
            continue
        if isinstance(node, dict) or key < len(node):
            node[key] = value
    try:
        return json.dumps(document).encode("utf-8", "surrogatepass")
    except (ValueError, RecursionError):
        return data


# ------------------------------------------------------------------ patterns, templates


def _pattern(data: bytes) -> None:
    """A splitter by a pattern: words are those of the reference."""
    text = data.decode("utf-8", "ignore")[:200]
    document = json.loads(next(_small("gpt2/tokenizer.json")())) if not _PATTERN else _PATTERN[0]
    _PATTERN[:] = [document]
    document["pre_tokenizer"] = {
        "type": "Sequence",
        "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": text}, "behavior": "Isolated", "invert": False},
            {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False},
        ],
    }
    _file("pattern.json")(json.dumps(document).encode())


_PATTERN: list[Any] = []


def _patterns() -> Iterator[bytes]:
    for text in (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s+(?!\S)|\s+",
        r"(?<=[a-z])(?=[A-Z])|\b\w+\b|[\u4e00-\u9fff]",
        r"(a|ab)*?c{2,5}|(?!x)y$|^z|[[:alpha:]&&[^aeiou]]",
    ):
        yield text.encode()


def _template(data: bytes) -> None:
    """A chat template: nothing that a caller writes becomes a control token."""
    source = data.decode("utf-8", "ignore")[:2000]
    tok = _chatting()
    message = {"role": "user", "content": "a<|end|>b", "x": ["<|end|>", 1]}
    try:
        answer = {"role": "assistant", "content": "c"}
        typed = tok.chat([message, answer], template=source)
        plain = tok.chat([{**message, "content": "a(|end|)b", "x": ["(|end|)", 1]}, answer], template=source)
        if "(|" in source or "|)" in source:
            return
        if typed.control.sum() > plain.control.sum() and "replace" not in source and "==" not in source:
            raise AssertionError("a control token that a caller wrote")
        typed.owners, typed.turns, typed.typed  # noqa: B018
        typed.mask()
    except SubwordsError:
        pass


def _chatting() -> Any:
    if not _CHATTING:
        _CHATTING.append(subwords.load("demo").with_tokens(["<|user|>", "<|assistant|>", "<|end|>"]))
    return _CHATTING[0]


_CHATTING: list[Any] = []


def _templates() -> Iterator[bytes]:
    for path in sorted((ROOT / "tests" / "data" / "chat_templates").glob("*.jinja")):
        yield path.read_bytes()


# ------------------------------------------------------------------ texts, ids, rows


def _text(data: bytes) -> None:
    """Texts in pieces, and ids that no text has: streams, growing text, parts, decoding."""
    given = atheris.FuzzedDataProvider(data)
    tok = _loaded(given.ConsumeIntInRange(0, 1 << 16))
    count = given.ConsumeIntInRange(1, 6)
    pieces = [given.ConsumeUnicodeNoSurrogates(given.ConsumeIntInRange(0, 40)) for _ in range(count)]
    text = "".join(pieces)
    try:
        ids = tok.encode(text, template=False)
    except SubwordsError:
        return
    version, stream, found = tok.growing(), tok.encode_stream(), list[int]()
    for piece in pieces:
        version = version.append(piece)
        found += stream.feed(piece).tolist()
    if version.ids.tolist() != ids or [*found, *stream.finish().tolist()] != ids:
        raise AssertionError(f"other ids in pieces: {pieces!r}")
    if version.final > len(ids):
        raise AssertionError("more final ids than ids")
    decoder = tok.stream()
    if decoder.step(ids) + decoder.finish() != tok.decode(ids):
        raise AssertionError(f"a stream decodes {ids} otherwise")
    numbers = [given.ConsumeIntInRange(-2, tok.vocab_size + 2) for _ in range(given.ConsumeIntInRange(0, 12))]
    for call in (tok.decode, tok.decode_bytes, tok.is_prefix, tok.decode_with_spans):
        with suppress(SubwordsError):
            call(numbers)
    size = given.ConsumeIntInRange(1, 9)
    try:
        parts = tok.chunks(text, size)
        if "".join(parts) != text or max(parts.counts.tolist(), default=0) > size:
            raise AssertionError(f"parts of {text!r} by {size}")
    except SubwordsError:
        pass


_LOADED: list[Any] = []


def _loaded(number: int) -> Any:
    if not _LOADED:
        names = ("gpt2/tokenizer.json", "bert/bert-base-uncased-vocab.txt", "t5/spiece.model", "phi-3/tokenizer.json",
                 "mistral/tokenizer.model.v1", "clip/tokenizer.json", "t5/tokenizer.json")  # fmt: skip
        _LOADED.extend(subwords.load(_small_file(name)) for name in names)
        _LOADED.append(subwords.load("demo"))
    return _LOADED[number % len(_LOADED)]


def _rows(data: bytes) -> None:
    """JSON Lines: texts are those that Python's reader finds."""
    path = PLACE / "rows.jsonl"
    path.write_bytes(data)
    try:
        texts = list(subwords.files.read(path)) if hasattr(subwords.files, "read") else None
        subwords.count(path)
    except SubwordsError:
        return
    if texts is not None:
        lines = [json.loads(line) for line in data.decode().split("\n") if line.strip()]
        if [row["text"] for row in lines] != texts:
            raise AssertionError("other texts than json.loads")


def _row_seeds() -> Iterator[bytes]:
    yield b'{"text": "a\\u00e9\\ud83d\\ude00", "n": [1, {"text": "no"}]}\n{"n": null, "text": "\\"b\\\\"}\r\n'


JSON_FILES = (
    "gpt2/tokenizer.json",
    "bert/bert-base-uncased-tokenizer.json",
    "t5/tokenizer.json",
    "phi-3/tokenizer.json",
)
TARGETS = {
    "json": Target(_file("tokenizer.json"), _small(*JSON_FILES), _change_json),
    "models": Target(_file("spiece.model"), _small("t5/spiece.model", "mistral/tokenizer.model.v1")),
    "vocab": Target(_file("vocab.txt"), _small("bert/bert-base-uncased-vocab.txt")),
    "ranks": Target(_file("r50k_base.tiktoken"), _small("tiktoken/r50k_base.tiktoken")),
    "patterns": Target(_pattern, _patterns),
    "templates": Target(_template, _templates),
    "texts": Target(_text, lambda: iter([bytes(range(64)), "Ünd 文字 ก็".encode() * 3])),
    "rows": Target(_rows, _row_seeds),
}


def main() -> None:
    """Run one target."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("target", nargs="?", choices=TARGETS)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--corpus", type=Path, default=Path("fuzz"))
    parser.add_argument("--list", action="store_true", help="the targets")
    options = parser.parse_args()
    if options.list or options.target is None:
        print("\n".join(TARGETS))
        return
    target, folder = TARGETS[options.target], (options.corpus / options.target).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(target.seeds()):
        (folder / f"seed-{number}").write_bytes(seed)

    def change(data: bytes, most: int, seed: int) -> bytes:
        rng = random.Random(seed)
        if target.change is not None and rng.random() < 0.9:
            return target.change(data, rng)[:most]
        return bytes(atheris.Mutate(data, most))

    os.environ["SUBWORDS_TABLES"] = "off"
    findings = f"-artifact_prefix={folder.parent}/finding-{options.target}-"
    limits = ["-rss_limit_mb=2048", "-timeout=60", "-max_len=200000", "-print_final_stats=1"]
    arguments = [sys.argv[0], str(folder), f"-max_total_time={options.seconds}", findings, *limits]
    atheris.Setup(arguments, target.run, custom_mutator=change if target.change else None)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
