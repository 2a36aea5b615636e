"""GGUF vocabularies: llama.cpp's splitting and ids, held by a twin of llama.cpp and by its own vectors."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import subwords
from inside import formats_gguf_read as gguf
from inside import splitter_NAMED as NAMED
from llama_cpp import PATTERNS, keys_of, split, tokenizer_of
from peer_trained import lines
from small_data import file_of, is_small
from subwords import FormatError, Tokenizer
from subwords.machine import SplitterEngine

LETTERS = "aZéÉжЖßǅʰªא中ぁ가ａＡ"
OTHERS = (
    "0９²Ⅷ٣ \t\r\n\x0b\x85\u00a0\u2028\u3000'sSTdDlLrReEvVmM.,!?…。()$+<=>^~|`_/\\{}[]€©×“\u0301\u0903\u200d\x00\x7f😀"
)
TEXTS = st.text(st.sampled_from(LETTERS + OTHERS), max_size=24)


def known(char: str) -> bool:
    """Whether Python's Unicode has the character: ours is newer."""
    return unicodedata.category(char) != "Cn"


@pytest.mark.parametrize("name", PATTERNS)
@settings(max_examples=50)
@given(text=TEXTS)
def test_the_rule_of_a_pre_tokenizer_is_llama_cpps(name: str, text: str) -> None:
    assert SplitterEngine(gguf.PRE[name].rule).split(text) == split(text, PATTERNS[name])


@pytest.mark.rotating(4)
@pytest.mark.parametrize("name", PATTERNS)
def test_on_real_text(name: str, data: Path) -> None:
    text = (data / "corpora" / "multilingual.txt").read_text("utf-8")[:6_000]
    text = "".join(filter(known, text))
    assert SplitterEngine(gguf.PRE[name].rule).split(text) == split(text, PATTERNS[name])


# Named rules with a pre-tokenizer, and where llama.cpp differs for those that others would expect to have one.
SAME = {
    "gpt2": "gpt-2",
    "gpt-neox": "gpt-2",
    "qwen2": "qwen2",
    "qwen35": "qwen35",
    "starcoder": "starcoder",
    "deepseek-v3": "deepseek-v3",
    "bloom": "bloom",
    "viking": "viking",
    "chameleon": "chameleon",
    "bailing": "bailingmoe",
    "seed-coder": "seed-coder",
    "exaone-moe": "exaone-moe",
    "llama3": "dbrx",
}
DIFFERENT = {
    "o200k": ("gpt-4o", "жЖ"),
    "tekken": ("tekken", "жЖ"),
    "falcon": ("falcon", "ò"),
    "superbpe": ("superbpe", "９９９９"),
    "deepseek-coder": ("deepseek-coder", "<\u2028"),
}


def test_which_named_rules_have_a_pre_tokenizer() -> None:
    found = {name: pre for name, rule in NAMED.items() if (pre := gguf.name_of(rule, whole_words=False))}
    assert found == SAME
    whole = {name: pre for name, rule in NAMED.items() if (pre := gguf.name_of(rule, whole_words=True))}
    assert whole == {"llama3": "llama-bpe"}


@pytest.mark.parametrize("name", DIFFERENT)
def test_named_rules_that_llama_cpp_has_not(name: str) -> None:
    pre, text = DIFFERENT[name]
    assert SplitterEngine(NAMED[name]).split(text) != split(text, PATTERNS[pre])


def test_the_known_difference_an_apostrophe_and_a_long_s() -> None:
    """The two letters that case folding adds to ASCII."""
    assert SplitterEngine(NAMED["llama3"]).split("'ſa") == ["'ſ", "a"]
    assert split("'ſa", PATTERNS["llama-bpe"]) == ["'ſa"]


# ------------------------------------------------------------------ ids

TRAINED: dict[str, dict[str, Any]] = {
    **{name: {"splitter": name} for name in ("gpt2", "qwen2", "llama3", "starcoder", "deepseek-v3", "qwen35")},
    "tekken": {"splitter": gguf.PRE["tekken"].rule[0].pattern},  # type: ignore[union-attr]
    "bert": {"algorithm": "wordpiece"},
    "unigram": {"algorithm": "unigram", "vocab_size": 300},
}


def trained(kind: str) -> Tokenizer:
    return subwords.train(lines(), **({"vocab_size": 400, "progress": False} | TRAINED[kind]))


@pytest.mark.parametrize("kind", TRAINED)
def test_what_is_trained_and_saved_gets_llama_cpps_ids(kind: str, tmp_path: Path) -> None:
    tok = trained(kind)
    tok.save(tmp_path / "x.gguf")
    theirs = tokenizer_of(keys_of((tmp_path / "x.gguf").read_bytes()))
    again = subwords.load(tmp_path / "x.gguf")
    texts = [*lines()[:40], "low  lower it's 12,345!", "a~b !~ ~~ {x} x\n\n y", "x" * 50]
    if kind == "bert":
        texts = ["".join(filter(str.isascii, text)) for text in texts]
    for text in texts:
        clean = " ".join(text.split()) if kind == "unigram" else "".join(filter(known, text))
        assert tok.encode(clean) == theirs(clean) == again.encode(clean), clean
        assert again.decode(again.encode(clean)) == tok.decode(tok.encode(clean))
    again.save(tmp_path / "y.gguf")
    assert (tmp_path / "y.gguf").read_bytes() == (tmp_path / "x.gguf").read_bytes()


FILES = ("gpt2/tokenizer.json", "converted/cl100k_base.tokenizer.json", "converted/qwen3.tokenizer.json")
PIECES = ("mistral/tokenizer.model.v1", "phi-3/tokenizer.json", "t5/spiece.model", "bert/bert-base-uncased-vocab.txt")


@pytest.mark.rotating(3, always=("gpt2", "mistral"))
@pytest.mark.parametrize("name", [*FILES, *PIECES])
def test_real_files_keep_their_ids(name: str, data: Path, tmp_path: Path) -> None:
    tok = subwords.load(file_of(data, name))
    if is_small(data) and "qwen3" in name:  # it has whole words that no merges make, and llama.cpp's "qwen2" takes none
        with pytest.raises(FormatError, match=r"llama\.cpp segments words that are themselves tokens differently"):
            tok.save(tmp_path / "x.gguf")
        return
    tok.save(tmp_path / "x.gguf")
    again = subwords.load(tmp_path / "x.gguf")
    exact = not name.startswith("t5")  # equal sums of scores: SentencePiece adds in 32 bits, llama.cpp in 64
    assert (again.roles, again.special_tokens) == (tok.roles, tok.special_tokens)
    texts = [(data / "corpora" / f"{which}.txt").read_text("utf-8")[:1500] for which in ("english", "zh", "code")]
    for text in [*texts, "<s>a</s> b <|endoftext|>[MASK]", "a\n\n  b"]:
        for special in ("text", "allow"):
            ids = tok.encode(text if exact else text.replace("--", ""), special=special)
            assert again.encode(text if exact else text.replace("--", ""), special=special) == ids
            assert special == "allow" or again.decode(ids) == tok.decode(ids)
    if not is_small(data) or "bert" not in name:
        theirs = tokenizer_of(keys_of((tmp_path / "x.gguf").read_bytes()))
        short = "".join(filter(str.isascii, texts[0]))[:400].replace("\n", " ").strip()
        assert theirs(" ".join(short.split())) == again.encode(" ".join(short.split()))


# ------------------------------------------------------------------ llama.cpp's own vectors


def vectors(folder: Path, name: str) -> list[tuple[str, list[int]]]:
    stem = folder / "vectors" / f"ggml-vocab-{name}.gguf"
    documents = Path(f"{stem}.inp").read_text("utf-8").split("\n__ggml_vocab_test__\n")[:-1]
    ids = [[*map(int, line.split())] for line in Path(f"{stem}.out").read_text().splitlines()]
    return list(zip(documents, ids, strict=True))


def test_vectors_of_gpt2(shared_data: Path, tmp_path: Path) -> None:
    subwords.load(shared_data / "tokenizers" / "gpt2" / "tokenizer.json").save(tmp_path / "x.gguf")
    tok = subwords.load(tmp_path / "x.gguf")
    assert all(tok.encode(text) == ids for text, ids in vectors(shared_data, "gpt-2"))


def test_vectors_of_bert(shared_data: Path, tmp_path: Path) -> None:
    subwords.load(shared_data / "tokenizers" / "bert" / "bert-base-uncased-vocab.txt").save(tmp_path / "x.gguf")
    tok = subwords.load(tmp_path / "x.gguf")
    assert all(tok.encode(text) == ids for text, ids in vectors(shared_data, "bert-bge"))


def test_vectors_of_falcon(shared_data: Path, tmp_path: Path) -> None:
    """With llama.cpp's rule, and without the token that llama.cpp would find elsewhere."""
    tok = subwords.load(shared_data / "tokenizers" / "falcon" / "tokenizer.json")
    kept = [token for token in tok.added_tokens if not token.content.startswith(">>")]
    tok.with_(splitter=SplitterEngine(gguf.PRE["falcon"].rule), added_tokens=kept).save(tmp_path / "x.gguf")
    again = subwords.load(tmp_path / "x.gguf")
    assert all(again.encode(text) == ids for text, ids in vectors(shared_data, "falcon"))
