"""Targets of tools/fuzz.py: files."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from zlib import crc32

from tools.fuzz_inputs import (
    SPLIT,
    TEXT,
    TEXTS,
    Given,
    change_json,
    check,
    check_spans,
    file_of,
    file_with,
    read_as_file,
    scratch,
    short,
    tokenizer,
    trained,
)

# ------------------------------------------------------------------ files of tokenizers


def _use(tok: Any, chosen: int) -> None:
    """Encode and decode with what was read: all ways give the same ids. Now and then, write it and read it again."""
    from subwords import SubwordsError

    text, more = TEXTS[chosen % len(TEXTS)], (chosen >> 3) % 8
    try:
        ids = tok.encode(text)
        check(tok.encode_batch([text]).to_lists()[0] == ids, f"a batch gives other ids for {text!r}")
        decoded = tok.decode(ids)
        if more == 0:
            grown = tok.growing(text[:3]).append(text[3:]).ids.tolist()
            check(grown == tok.encode(text, template=False), f"growing text gives other ids for {text!r}")
        elif more == 1:
            found, spans = tok.decode_with_spans(ids)
            check(found == decoded and len(spans) == len(ids), f"other text with spans of {ids}")
        elif more == 2:
            stream = tok.stream()
            check(stream.step(ids) + stream.finish() == decoded, f"a stream gives other text of {ids}")
        elif more == 3:
            one = tok(text)
            check_spans(one.spans, len(text))
            check(len(one.tokens) == len(one.ids), "a token for each id")
        elif more == 4 and not _spells_hidden(tok, text):
            data = file_of(tok, "tokenizer.json")
            check(
                read_as_file("tokenizer.json", data).encode(text) == ids,
                f"other ids of {text!r} after writing {data!r}",
            )
        elif chosen % 256 == 47:
            import subwords

            repr(subwords.study.diff(tok, tokenizer(0)))
            repr(subwords.study.audit(tok))
    except SubwordsError:
        pass


def _spells_hidden(tok: Any, text: str) -> bool:
    """Whether a text spells a token that text never becomes here; in a tokenizer.json it does (COMPATIBILITY.md)."""
    model, data = tok.spec.model, text.encode()
    spelled = data, data.replace(b" ", "\u2581".encode())  # a piece may spell a space as U+2581
    return any((token := model.vocab[index]) and any(token in each for each in spelled) for index in model.special_ids)


def reader(name: str) -> Callable[[bytes], None]:
    """A reader of files of this name."""

    def run(data: bytes) -> None:
        from subwords import SubwordsError

        try:
            tok = read_as_file(name, data)
        except SubwordsError:
            return
        _use(tok, crc32(data))

    return run


def gguf_of(data: bytes) -> None:
    from subwords import SubwordsError, Tokenizer
    from subwords.formats.gguf.read import read_gguf

    stream = io.BytesIO(b"GGUF" + data)
    stream.seek(4)
    try:
        tok = Tokenizer(read_gguf(stream, "a.gguf"))
    except SubwordsError:
        return
    _use(tok, crc32(data))


LISTS = ("vocab.txt", "a.txt", "a.tiktoken", "vocab.json", "merges.txt", "unigram.json", "tekken.json")


def listed(data: bytes) -> None:
    """A file without rules. vocab.json and merges.txt are two, with NUL between."""
    from subwords import SubwordsError, Tokenizer
    from subwords.formats import tiktoken
    from subwords.formats.hf.vocab_merges import read_vocab_merges
    from subwords.spec.splitter import NAMED

    given = Given(data)
    name = LISTS[given.number(len(LISTS))]
    try:
        if name in ("vocab.json", "merges.txt"):
            vocab, _, merges = given.rest.partition(b"\0")
            both: Any = (vocab, "vocab.json"), (merges, "merges.txt")
            spec = read_vocab_merges(*both, splitter=None, special_tokens={"<s>": 300} if name[0] == "m" else None)
        elif name == "a.tiktoken":
            added = {"<s>": 300} if b"=" in data else None
            spec = tiktoken.read_rank_file(given.rest, name, splitter=NAMED["gpt2"], special_tokens=added)
        else:
            spec = read_as_file(name, given.rest).spec
    except SubwordsError:
        return
    _use(Tokenizer(spec), crc32(data))


def list_seeds() -> Iterator[bytes]:
    bytes_too, word = trained(splitter="gpt2", size=260), short(algorithm="wordpiece", size=40)
    yield b"\0" + file_of(word, "vocab.txt")
    yield b"\1" + b"1 'a' 1\n2 'b' 1\n3 b'\\xff' 1\n4 'ab' 2\n5 '\\n' 1\n"
    yield b"\2" + file_of(bytes_too, "a.tiktoken")
    yield b"\2" + b"YQ== 0\nYg== 1\nYWI= 2\n"
    yield b"\3" + b'{"a": 0, "b": 1, "ab": 2, "</w>": 3, "<|endoftext|>": 4}\0#version: 0.2\na b\n'
    yield b"\4" + b'{"a": 0, "b</w>": 1, "ab</w>": 2, "<unk>": 3}\0a b</w>\n'
    yield b"\5" + b'{"unk_id": 0, "vocab": [["<unk>", 0.0], ["a", -1.5], ["ab", -2]], "byte_fallback": false}'
    yield b"\6" + json.dumps(_tekken()).encode()


def _tekken() -> dict[str, Any]:
    ranked = [{"rank": n, "token_bytes": "YWI=" if n == 256 else _base64(n), "token_str": None} for n in range(257)]
    special = [{"rank": 0, "token_str": "<s>", "is_control": True}]
    config = {"pattern": r"\p{L}+|.", "num_vocab_tokens": 257, "default_vocab_size": 259, "version": "v3"}
    return {
        "config": {**config, "default_num_special_tokens": 2},
        "vocab": ranked,
        "special_tokens": special,
    }


def _base64(byte: int) -> str:
    from base64 import b64encode

    return b64encode(bytes([byte])).decode()


def tekken_file(data: bytes) -> None:
    """A tekken.json, whose 256 bytes are not in the input."""
    from subwords import SubwordsError

    try:
        document = json.loads(data)
        document["vocab"] = _tekken()["vocab"][: document.pop("bytes")] + document["vocab"]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return
    try:
        tok = read_as_file("tekken.json", json.dumps(document).encode())
    except SubwordsError:
        return
    _use(tok, crc32(data))


def tekken_seeds() -> Iterator[bytes]:
    document = _tekken()
    yield json.dumps({**document, "bytes": 256, "vocab": document["vocab"][256:]}).encode()


FOLDER = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "config.json",
    "chat_template.jinja",
    "vocab.json",
    "merges.txt",
    "vocab.txt",
    "spiece.model",
)


def folder_of(data: bytes) -> None:
    """A folder, given as a JSON object of its files; JSON files are values in it."""
    import subwords

    try:
        files = json.loads(data)
    except (ValueError, RecursionError):
        return
    folder = scratch() / "folder"
    folder.mkdir(exist_ok=True)
    for name in FOLDER:
        place = folder / name
        content = files.get(name) if isinstance(files, dict) else None
        if content is None:
            place.unlink(missing_ok=True)
        else:
            text = content if isinstance(content, str) else json.dumps(content)
            place.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        tok = subwords.load(folder)
    except subwords.SubwordsError:
        return
    _use(tok, crc32(data))


def folder_seeds() -> Iterator[bytes]:
    added = {"content": "<s>", "lstrip": False, "normalized": False, "rstrip": False, "single_word": False}
    config = {
        "added_tokens_decoder": {"30": {**added, "special": True}},
        "bos_token": "<s>",
        "eos_token": added,
        "additional_special_tokens": ["<x>", "</s>"],
        "chat_template": [{"name": "default", "template": "{{ messages }}"}],
        "clean_up_tokenization_spaces": True,
        "model_max_length": 512,
        "tokenizer_class": "FunnelTokenizer",
        "do_lower_case": False,
        "add_bos_token": True,
        "add_prefix_space": True,
    }
    word = short(algorithm="wordpiece", size=30)
    beside = {"special_tokens_map.json": {"unk_token": "[UNK]", "pad_token": added}, "added_tokens.json": {"<y>": 31}}
    whole = json.loads(file_of(word, "tokenizer.json"))
    yield json.dumps({"tokenizer.json": whole, "tokenizer_config.json": config, **beside}).encode()
    vocab = file_of(word, "vocab.txt").decode()
    yield json.dumps({"vocab.txt": vocab, "tokenizer_config.json": config, **beside}).encode()
    pair = {"vocab.json": {"a": 0, "b": 1, "ab": 2, "<unk>": 3, "</s>": 4}, "merges.txt": "#version: 0.2\na b\n"}
    for name in ("OpenAIGPTTokenizer", "PreTrainedTokenizerFast"):
        yield json.dumps({**pair, "tokenizer_config.json": {**config, "tokenizer_class": name}, **beside}).encode()
    yield json.dumps({**pair, "config.json": {"model_type": "phi3"}}).encode()


# ------------------------------------------------------------------ other files


def note(data: bytes) -> None:
    """Small files and texts of JSON: a number that says which, and the document."""
    import subwords
    from subwords.adapt.id_maps import read_embedding_map
    from subwords.normalize.resolve import normalizer, splitter
    from subwords.scale.work import done_of
    from subwords.tokens.manifest import read_manifest

    given = Given(data)
    kind, text = given.number(6), given.rest.decode("utf-8", "replace")
    path = file_with("note.json", given.rest)
    try:
        if kind == 0:
            subwords.files.check_lock(path, tokenizer=tokenizer(0))
        elif kind == 1:
            read_embedding_map(path)
        elif kind == 2:
            repr(read_manifest(path))
            subwords.files.check(path)
        elif kind == 3:
            done_of(path, 0)
        elif kind == 4:
            check("".join(splitter(text).split("a b")) != "b", "a part is left")
        else:
            normalizer(text).normalize(TEXTS[2])
    except subwords.SubwordsError:
        pass


def note_seeds() -> Iterator[bytes]:
    import subwords
    from subwords.spec.splitter import NAMED, to_text

    path = scratch() / "seed.json"
    subwords.files.lock(tokenizer(0), path)
    yield b"\0" + path.read_bytes()
    subwords.adapt.id_map(short(algorithm="unigram", size=16), short(algorithm="unigram", size=14)).save(path)
    yield b"\1" + path.read_bytes()
    tokenizer(0).encode_files(["low", "lower"], scratch() / "seed.npy")
    yield b"\2" + next(scratch().glob("*.manifest.json")).read_bytes()
    yield b'\3{"number": 0, "name": "a", "documents": 1, "tokens": 2, "skipped": 0, "replaced": 0, "cut": 0}'
    yield b"\4" + to_text(NAMED["t5"]).encode()
    yield b"\4" + json.dumps({"type": "Sequence", "pretokenizers": [SPLIT]}).encode()
    yield b"\5" + to_text(short(algorithm="unigram", normalizer="sentencepiece").spec.normalizer).encode()
    yield b"\5" + json.dumps({"type": "Sequence", "normalizers": [{"type": "NFC"}]}).encode()


def change_note(data: bytes, rng: random.Random) -> bytes:
    """Change the document, not the number before it."""
    return data[:1] + change_json(data[1:], rng)


def counts_of(data: bytes) -> None:
    """A file of counts: the header, LF and what follows, with a checksum that fits."""
    import subwords
    from subwords.corpus.counts import COUNTS_MAGIC

    header, _, body = data.partition(b"\n")
    header += b" " * (-(len(COUNTS_MAGIC) + 16 + len(header)) % 64)
    sums = len(header).to_bytes(8, "little") + crc32(header).to_bytes(8, "little")
    path = file_with("words.counts", COUNTS_MAGIC + sums + header + body)
    try:
        counts = subwords.WordCounts.load(path)
        words = dict(counts)
        check(len(words) <= len(counts), "more words than rows")
        counts.at_least(2)
        subwords.WordCounts.joined([counts, counts])
        if counts.total < 1 << 20:
            subwords.train(counts, vocab_size=258)
    except subwords.SubwordsError:
        pass


def counts_seeds() -> Iterator[bytes]:
    import subwords
    from subwords.corpus.counts import COUNTS_MAGIC

    counts = subwords.count(["low lower low", "new"])
    path = scratch() / "seed.counts"
    counts.save(path)
    data = path.read_bytes()
    start = len(COUNTS_MAGIC) + 16
    size = int.from_bytes(data[len(COUNTS_MAGIC) : len(COUNTS_MAGIC) + 8], "little")
    yield data[start : start + size] + b"\n" + data[-(-(start + size) // 64) * 64 :]


def change_counts(data: bytes, rng: random.Random) -> bytes:
    """Change the header, or a number after it."""
    header, _, body = data.partition(b"\n")
    if rng.random() < 0.6 and len(body) >= 8:
        at = len(header) + 1 + rng.randrange(len(body) // 8) * 8
        value = rng.choice([0, 1, 2, 3, 7, 64, 2**31, 2**32, 2**63 - 1, 2**63, 2**64 - 1])
        return data[:at] + value.to_bytes(8, "little") + data[at + 8 :]
    return change_json(header, rng) + b"\n" + body


TOKEN_FILES = ("a.npy", "a.bin", "a.bin", "a.ds", "a.parquet", "m.bin", "d.ds")


def tokens_of(data: bytes) -> None:
    """A token file, some with an index file; or a matrix of a model."""
    import numpy as np

    import subwords

    given = Given(data)
    name, option, words = TOKEN_FILES[given.number(len(TOKEN_FILES))], given.number(8), given.number()
    index, content = given.rest[: 8 * words], given.rest[8 * words :]
    folder = scratch() / "tokens"
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    path = folder / name
    path.write_bytes(content)
    if name == "m.bin":
        path.with_suffix(".idx").write_bytes(index)
    elif name == "d.ds":
        path.with_name("d.ds.index").write_bytes(index)
    kinds: Any = (None, None, "uint8", "uint16", "uint32", "int32")
    try:
        opened = subwords.files.open(path, dtype=kinds[option % 6], eos=3 if option > 5 else None)
        documents = [*opened[:50]]
        check(len(documents) == min(50, len(opened)), "another number of documents")
        for number, ids in enumerate(documents):
            check(np.array_equal(ids, opened[number]) and ids.sum() >= -(2**62), "another document by its number")
        check(opened.num_tokens >= sum(map(len, documents)), "fewer tokens than in documents")
    except subwords.SubwordsError:
        pass


def tokens_seeds() -> Iterator[bytes]:
    place = scratch() / "written"
    place.mkdir(exist_ok=True)
    for number, (name, format) in enumerate(
        (
            ("a.npy", "npy"),
            ("a.bin", "bin"),
            ("l.bin", "llmc"),
            ("a.ds", "datatrove"),
            ("a.parquet", "parquet"),
            ("m.bin", "megatron"),
            ("d.ds", "datatrove"),
        ),
    ):
        tokenizer(0).encode_files(["low lower", "", "new"], place / name, format=format, eos="<|endoftext|>")
        data = next(
            path for path in sorted(place.glob(f"{name}*")) if path.suffix in (".npy", ".bin", ".ds", ".parquet")
        )
        beside = [path for path in place.glob(f"{name[0]}*") if path.suffix in (".idx", ".index")]
        index = beside[0].read_bytes() if beside and number > 4 else b""
        yield bytes([number, 3, len(index) // 8]) + index + data.read_bytes()
        for path in place.iterdir():
            path.unlink()


@contextmanager
def _own_cache() -> Iterator[None]:
    """Make the folder of the inputs the root of tables alone: `machine_code` has imported the function."""
    from subwords.kernels import stored

    kept, stored.cache_root = stored.cache_root, lambda: str(scratch())
    try:
        yield
    finally:
        stored.cache_root = kept


@cache
def _kept_bytes() -> tuple[bytes, bytes]:
    """A kept file of a tokenizer, without content if checked kernels run, which have none; and a stored table."""
    from subwords.engine.kept import write_kept
    from subwords.kernels import stored
    from subwords.kernels.modes import MODE
    from subwords.tokenizer import engine_of

    tok, folder = tokenizer(0), scratch() / stored.FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    with _own_cache():
        write_kept("kept", engine_of(tok), tok.spec, str(scratch()))
    kept = (folder / "kept").read_bytes() if MODE == "compiled" else b""
    return kept, bytes(stored.summed(stored.packed((tok.spec, "digest"))))


def kept_of(data: bytes) -> None:
    """A kept file or a stored table that was damaged: it is not used. Four numbers for each byte: place, change."""
    from subwords.engine.kept import read_kept
    from subwords.kernels import stored

    given = Given(data)
    kind, (kept, table) = given.number(3), _kept_bytes()
    whole = kept if kept and data[:1] <= b"\x7f" else table
    damaged = bytearray(whole)
    for at in range(0, len(given.rest) - 3, 4):
        damaged[int.from_bytes(given.rest[at : at + 3], "little") % len(damaged)] ^= given.rest[at + 3]
    if kind == 1 and len(given.rest):
        del damaged[-given.rest[0] - 1 :]
    path = scratch() / stored.FOLDER / "damaged"
    path.write_bytes(damaged)
    path.chmod(0o600)
    with _own_cache():
        if whole is kept:
            found = read_kept(path.name)
            check(found is None or bytes(damaged) == whole, "a damaged kept file is used")
            check(found is None or found.encode("low") == tokenizer(0).encode("low"), "other ids of a kept file")
        else:
            check(stored._read_table(path.name) is None or bytes(damaged) == whole, "a damaged table is used")


def rows(data: bytes) -> None:
    """JSON Lines: the kernel finds the texts that Python's reader finds."""
    from subwords import SubwordsError
    from subwords.corpus.columns import _row_by_row, _texts
    from subwords.corpus.reading import Reading, Tally

    given, found = Given(data), list[Any]()
    errors: Any = ("strict", "replace", "skip")[given.number(3)]
    reading = Reading(text_column=("text", "a", "é", 'a"b')[given.number(4)], errors=errors)
    for read in (_texts, _row_by_row):
        tally = Tally()
        try:
            text, ends = read(given.rest, Path("a.jsonl"), 0, reading, tally)
            ends = [end for end, before in zip(ends, [0, *ends], strict=False) if end > before]
            found.append((bytes(text), ends, tally))
        except SubwordsError as error:
            found.append(str(error).split(":")[:2])
    check(found[0] == found[1], f"{found[0]!r:.200} by the kernel, {found[1]!r:.200} by Python")


def row_seeds() -> Iterator[bytes]:
    yield b'\0\0{"text": "a\\u00e9\\ud83d\\ude00", "n": [1, {"text": "no"}]}\n{"n": null, "text": "\\"b\\\\"}\r\n'
    yield b'\2\1{"a": {"a": "x"}, "b": "\\/\\b\\f\\n\\r\\t", "a": "last"}\n\n {"a": 1e5}\n[]\n{"a": "\xff"}\n'
    yield '\1\2{"é": "ü\\ud800", "text": true}\n{"\\u00e9": "same"}'.encode()


ROW = (
    *('{"text": "', '"}\n', '"a": ', '"é": ', "{", "}", "[", "]", ":", ",", '"', "\\", "\\u00e9", "\\ud83d\\ude00"),
    *("\\ud800", "\\n", "\\/", "\\x", "\n", "\r", " ", "\t", "null", "true", "1e5", "-0", "NaN", "é", "\ufeff", "\0"),
    *('{"text": "a"}\n', '{"a": {"text": "b"}, "text": "c"}\n', "\\u0000", '"text"', "text", '"a\\"b": "x"', "😀"),
)


def corpus_of(data: bytes) -> None:
    """Text files, as streams: the blocks have the text, and ends within it; Parquet and Arrow files."""
    from subwords import Reading, SubwordsError
    from subwords.corpus.read import read_blocks

    given = Given(data)
    errors: Any = ("strict", "replace", "skip")[given.number(3)]
    option, size = given.number(8), given.number() + 1
    options: Any = ({}, {"documents": "line"}, {"separator": "\n\n"}, {"max_document_bytes": 16})[option % 4]
    content, source = given.rest, io.BytesIO(given.rest)
    if content[:4] in (b"PAR1", b"ARRO", b"\xff\xff\xff\xff"):
        source = file_with("rows.parquet" if content[:1] == b"P" else "rows.arrow", content)
    try:
        blocks = [*read_blocks(source, Reading(errors=errors, **options), block_size=size)]  # type: ignore[arg-type]
    except SubwordsError:
        return
    for block in blocks:
        bytes(block.data).decode()
        check(len(block.ends) == 0 or block.ends[-1] <= len(block.data), "an end after the text")
    if option % 4 < 2 and isinstance(source, io.BytesIO):
        plain = content.removeprefix(b"\xef\xbb\xbf")
        wanted = plain.decode("utf-8", "replace").encode() if errors == "replace" else plain
        if errors != "skip":
            check(b"".join(bytes(block.data) for block in blocks) == wanted, f"another text than {wanted!r:.200}")


def corpus_seeds() -> Iterator[bytes]:
    import pyarrow
    from pyarrow import parquet

    yield b"\0\0\7" + TEXT.encode()
    yield b"\1\1\3" + b"a\xffb\n\nc\xc3\r\n" + TEXT.encode()[:60]
    table = pyarrow.table({"text": ["low", None, "é"], "n": [1, 2, 3]})
    path = scratch() / "seed.parquet"
    parquet.write_table(table, path, compression=None)
    yield b"\1\0\7" + path.read_bytes()
    for make in (pyarrow.ipc.new_stream, pyarrow.ipc.new_file):
        sink = io.BytesIO()
        with make(sink, table.schema) as writer:
            writer.write_table(table)
        yield b"\1\0\7" + sink.getvalue()
