"""Figures of one name are one figure in every function that reports it (V1, V2, V3, V4)."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import subwords
from commands import json_of

TEXTS = [
    "Light is a ray, and rays are light: 12 rays of light.\n\tThe  colour of light is white, and whiter.",
    "Ｆｕｌｌ ｗｉｄｔｈ, café and naïve, ﬁne ﬁre ½ of Éclair",
    "rays, rays, rays of the light — the colours of the rays",
    " 光 and light",
]
SETUPS: dict[str, dict[str, Any]] = {
    "bpe": {"vocab_size": 290},
    "bpe-nfkc": {"vocab_size": 290, "normalizer": "nfkc"},
    "bpe-special": {"vocab_size": 290, "special_tokens": ["<s>"]},
    "bpe-characters": {"vocab_size": 90, "byte_level": False, "unk_token": "<unk>", "special_tokens": ["<unk>"]},
    "unigram": {"algorithm": "unigram", "vocab_size": 65},
    "unigram-nfc": {"algorithm": "unigram", "vocab_size": 65, "normalizer": "nfc"},
    "wordpiece": {"algorithm": "wordpiece", "vocab_size": 80},
    "wordlevel": {"algorithm": "wordlevel", "vocab_size": 20},
}


def reports(tok: subwords.Tokenizer, options: dict[str, Any], tmp_path: Path) -> dict[str, dict[str, Any]]:
    """The figures of every function for one tokenizer and the texts, by function."""
    (tmp_path / "t").mkdir(exist_ok=True)
    for k, text in enumerate(TEXTS):
        (tmp_path / "t" / f"{k}.txt").write_text(text, encoding="utf8", newline="")
    sizes = {**options, "vocab_sizes": [options["vocab_size"]]}
    del sizes["vocab_size"]
    compared = subwords.study.compare([tok, tok], TEXTS)
    tok.save(tmp_path / "tok.json")
    return {
        "evaluate": vars(subwords.study.evaluate(tok, TEXTS)),
        "evaluate, group": vars(subwords.study.evaluate(tok, {"a": TEXTS, "b": ["x"]}).groups[0]),
        "compare": vars(compared.evaluations[1]),
        "sweep": vars(subwords.study.sweep(TEXTS, **sizes).sizes[0]),
        "count-tokens": json_of("tokens", str(tmp_path / "tok.json"), "--count", str(tmp_path / "t")),
        "inspect": json_of("inspect", str(tmp_path / "tok.json"), "--source", str(tmp_path / "t")),
    }


@pytest.mark.parametrize("setup", SETUPS)
@pytest.mark.filterwarnings("ignore::subwords.SubwordsWarning")
def test_figures_of_one_name_are_equal(setup: str, tmp_path: Path) -> None:
    options = SETUPS[setup]
    tok = subwords.train(TEXTS, **options)
    found = reports(tok, options, tmp_path)
    truth = found["evaluate"]
    assert truth["bytes"] == sum(len(text.encode()) for text in TEXTS)
    assert truth["tokens"] == sum(len(tok.encode(text)) for text in TEXTS)
    compared = set()
    for function, figures in found.items():
        shared = figures.keys() & truth.keys() - {"groups", "bytes_per_second", "gini", "cost"}
        for name in shared:
            if figures[name] is not None:
                wanted = truth[name]
                wanted = round(wanted, 4) if function == "inspect" and isinstance(wanted, float) else wanted
                assert figures[name] == wanted, (function, name)
                compared.add((function, name))
    everywhere = [name for name in found if name not in ("inspect", "count-tokens")]
    assert {(name, "bytes_per_token") for name in everywhere} <= compared
    assert {(name, "tokens") for name in found} <= compared
    assert {(name, "tokens_per_word") for name in ("inspect", "sweep", "compare")} <= compared
    assert {(name, "bytes") for name in ("count-tokens", "sweep")} <= compared


@pytest.mark.parametrize("threads", [1, 2])
def test_counts_know_the_bytes_of_their_text(tmp_path: Path, threads: int) -> None:
    texts = [f"{text} <s> {k}" for k, text in enumerate(TEXTS * 9)]
    size = sum(len(text.encode()) - len("<s>") for text in texts)
    how: dict[str, Any] = {"splitter": "bert", "normalizer": "bert-uncased", "special_tokens": ["<s>"]}
    counts = subwords.count(texts, threads=threads, **how)
    assert counts.text_bytes == size
    assert subwords.count(texts, memory="64GB", threads=threads, **how).text_bytes == size
    assert subwords.count(texts, document_frequencies=True, **how).text_bytes == size
    counts.save(tmp_path / "c.counts")
    assert subwords.WordCounts.load(tmp_path / "c.counts").text_bytes == size
    assert (counts + counts).text_bytes == 2 * size
    assert subwords.WordCounts.mixed({"a": counts, "b": counts}, weights={"a": 2}).text_bytes == 3 * size
    assert counts.at_least(2).text_bytes is None
    assert (counts + counts.at_least(2)).text_bytes is None


def test_counts_of_an_earlier_version_say_that_bytes_are_unknown(tmp_path: Path) -> None:
    counts = subwords.count(TEXTS)
    old = subwords.WordCounts(counts.data, counts.offsets, counts.counts, counts.provenance)
    old.save(tmp_path / "old.counts")
    old = subwords.WordCounts.load(tmp_path / "old.counts")
    assert old.text_bytes is None
    found = subwords.study.sweep(old, vocab_sizes=[260, 270])
    assert [(one.bytes, one.bytes_per_token, one.flops_per_byte) for one in found.sizes] == [(None, None, None)] * 2
    assert "bytes per token" not in found.to_markdown()
    assert "do not know the bytes" in "".join(found.notes())
    assert subwords.study.sweep(old, vocab_sizes=[260], held_out=TEXTS).sizes[0].bytes_per_token is not None


@pytest.mark.parametrize("stored", ["-1", '"7"', "true", "1.5"])
def test_a_file_of_counts_with_an_invalid_size_is_refused(tmp_path: Path, stored: str) -> None:
    import zlib

    path = tmp_path / "c.counts"
    subwords.count(TEXTS).save(path)
    raw = path.read_bytes()
    size = int.from_bytes(raw[16:24], "little")
    fields = json.loads(raw[32 : 32 + size])
    fields["text_bytes"] = json.loads(stored)
    body = json.dumps(fields).encode()
    path.write_bytes(raw[:16] + len(body).to_bytes(8, "little") + zlib.crc32(body).to_bytes(8, "little") + body)
    with pytest.raises(subwords.FormatError, match="text_bytes"):
        subwords.WordCounts.load(path)


def test_sweep_measures_groups_intervals_and_one_size() -> None:
    groups = {"en": TEXTS[:1] * 5 + ["a ray"], "other": TEXTS[1:]}
    found = subwords.study.sweep(groups, vocab_sizes=[260, 280])
    for one in found.sizes:
        tok = subwords.train([text for texts in groups.values() for text in texts], vocab_size=one.vocab_size)
        held = subwords.study.evaluate(tok, groups)
        assert one.groups == held.groups
        assert one.interval == held.intervals["bytes_per_token"]
    assert "bytes per token, other" in found.tables()[0].columns
    assert subwords.study.sweep(TEXTS, vocab_sizes=260).sizes == subwords.study.sweep(TEXTS, vocab_sizes=(260,)).sizes
    for wrong in ("300", 1.5, [True], [], [0]):
        with pytest.raises(subwords.InputError, match=r"vocab_sizes|one or more sizes"):
            subwords.study.sweep(TEXTS, vocab_sizes=wrong)  # type: ignore[arg-type]
    with pytest.raises(subwords.InputError, match="read twice"):
        subwords.study.sweep(iter(TEXTS), vocab_sizes=[260])


def test_documents_of_a_sweep_are_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("\n".join(TEXTS), encoding="utf8")
    found = json_of("study", "sweep", str(path), "--vocab-size", "270", "--documents", "line")
    tok = subwords.train(str(path), vocab_size=270, reading=subwords.Reading(documents="line"))
    held = subwords.study.evaluate(tok, str(path), reading=subwords.Reading(documents="line"))
    assert found["sizes"][0]["interval"] == list(held.intervals["bytes_per_token"])


@pytest.mark.parametrize("algorithm", ["bpe", "unigram", "wordpiece", "wordlevel"])
@pytest.mark.filterwarnings("ignore::subwords.SubwordsWarning")
def test_a_sweep_of_counts_is_that_of_their_text(algorithm: str, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("\n".join(TEXTS), encoding="utf8")
    rules: dict[str, dict[str, Any]] = {
        "bpe": {},
        "unigram": {"splitter": "sentencepiece", "normalizer": "sentencepiece", "special_tokens": ["<unk>", "<s>"]},
        "wordpiece": {"splitter": "bert", "normalizer": "bert-uncased"},
        "wordlevel": {"splitter": "whitespace"},
    }
    special = {"unigram": ["<unk>", "<s>", "</s>"], "wordpiece": ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]}
    how = {**rules[algorithm], "special_tokens": special.get(algorithm, ["<unk>"])}
    size = {"bpe": 300, "unigram": 70}.get(algorithm, 90)
    one, two = (
        subwords.study.sweep(source, vocab_sizes=[size], algorithm=algorithm).sizes[0]
        for source in (subwords.count(path, **how), path)
    )
    assert (one.tokens, one.bytes, one.bytes_per_token, one.unknown, one.used) == (
        two.tokens,
        two.bytes,
        two.bytes_per_token,
        two.unknown,
        two.used,
    )
    assert (one.tokens_per_word, one.interval) == (None, None)


def test_a_sweep_of_counted_texts_is_that_of_the_texts() -> None:
    words = {"low lower": 3, "a wide light": 2}
    texts = [text for text, number in words.items() for _ in range(number)]
    one, two = (
        subwords.study.sweep(source, vocab_sizes=[260]).sizes[0] for source in (Counter(words), subwords.count(texts))
    )
    assert one == two
    assert one.bytes == sum(map(len, texts))
    held = subwords.study.sweep(words, vocab_sizes=[260], held_out=["low light"]).sizes[0]
    assert held.bytes == len("low light")
