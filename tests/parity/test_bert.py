"""BERT's files give the ids, tokens, offsets and texts of HF tokenizers (P3)."""

from __future__ import annotations

from pathlib import Path

import pytest

import subwords
from building import read_vocab
from small_data import file_of

tokenizers = pytest.importorskip("tokenizers")

FILES = ["uncased", "cased", "chinese"]


def both(data: Path, kind: str) -> tuple[subwords.Tokenizer, tokenizers.Tokenizer]:
    path = file_of(data, f"bert/bert-base-{kind}-vocab.txt")
    made = tokenizers.BertWordPieceTokenizer(str(path), lowercase=kind != "cased", strip_accents=kind != "cased")
    return subwords.load(path), tokenizers.Tokenizer.from_str(made.to_str())


def check(tok: subwords.Tokenizer, peer: tokenizers.Tokenizer, text: str) -> None:
    ref = peer.encode(text, add_special_tokens=False)
    assert tok.encode(text, special="allow") == ref.ids
    got = tok(text, special="allow")
    ref = peer.encode(text)
    assert got.ids.tolist() == ref.ids
    assert list(got.file_tokens) == ref.tokens
    assert got.spans.tolist() == list(map(list, ref.offsets))
    assert got.type_ids.tolist() == ref.type_ids
    assert tok.decode(ref.ids, skip_special_tokens=True) == peer.decode(ref.ids)


def files_in(folder: Path) -> list[Path]:
    found = [path for kind in ("corpora", "adversarial") for path in (folder / kind).iterdir()]
    return sorted(path for path in found if path.suffix in (".txt", ".bin"))


def texts_in(folder: Path, size: int) -> list[str]:
    return [file.read_bytes()[:size].decode("utf-8", "ignore") for file in files_in(folder)]


@pytest.mark.rotating(3, always=("small",))
@pytest.mark.parametrize("kind", FILES)
def test_texts(data: Path, kind: str) -> None:
    check_texts(data, kind, texts_in(data, 3000))


@pytest.mark.sweep
@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("part", range(5))
def test_more_of_texts(shared_data: Path, kind: str, part: int) -> None:
    check_texts(shared_data, kind, texts_in(shared_data, 300_000)[part::5])


def check_texts(data: Path, kind: str, documents: list[str]) -> None:
    tok, peer = both(data, kind)
    assert len(documents) > 15
    for text in documents:
        check(tok, peer, text)


def test_pairs(data: Path) -> None:
    path = file_of(data, "bert/bert-base-uncased-tokenizer.json")
    tok, peer = subwords.load(path), tokenizers.Tokenizer.from_file(str(path))
    for first, second in (("Héllo wörld!", "你好 unbelievable"), ("", "x"), ("don't", "")):
        got, ref = tok(first, second), peer.encode(first, second)
        assert got.ids.tolist() == ref.ids
        assert got.spans.tolist() == list(map(list, ref.offsets))
        assert got.type_ids.tolist() == ref.type_ids
        assert list(got.word_ids) == ref.word_ids


def test_trained_file_is_loaded_with_equal_ids(tmp_path: Path) -> None:
    text = Path(__file__).parents[2].joinpath("examples", "opticks.txt").read_text(encoding="utf-8")
    for score in ("likelihood", "course", "count"):
        tok = subwords.train([text], algorithm="wordpiece", vocab_size=600, score=score)
        tok.save(tmp_path / "tok.json")
        check(
            subwords.load(tmp_path / "tok.json"),
            tokenizers.Tokenizer.from_file(str(tmp_path / "tok.json")),
            text[:9000],
        )


def test_transformers_loads_a_trained_file(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    tok = subwords.train(["hug hugs hugging hugged"] * 9, algorithm="wordpiece", vocab_size=30)
    tok.save(tmp_path / "tokenizer.json")
    theirs = transformers.PreTrainedTokenizerFast(tokenizer_file=str(tmp_path / "tokenizer.json"))
    found = theirs("Hugs, hugged!", return_offsets_mapping=True)
    got = tok("Hugs, hugged!")
    assert found["input_ids"] == got.ids.tolist()
    assert list(map(list, found["offset_mapping"])) == got.spans.tolist()
    assert theirs.decode(found["input_ids"]) == tok.decode(got.ids)


def test_vectors_worked_out_by_hand() -> None:
    """In the form of llama.cpp's: a text and its ids. The token of line n has the id n."""
    tokens = "[PAD] [UNK] [CLS] [SEP] [MASK] the prism bend ##s light ##ly ! ' 7 ##0 中 文 cafe red ##dish un ##bent"
    tok = read_vocab("".join(f"{token}\n" for token in tokens.split()).encode(), "vocab.txt")
    vectors = {
        "The prism bends light!": [5, 6, 7, 8, 9, 11],
        " \tlightly\n\nUNBENT ": [9, 10, 20, 21],
        "café reddish": [17, 18, 19],
        "the中文7 700": [5, 15, 16, 13, 13, 14, 14],
        "'!'": [12, 11, 12],
        "lights, prismatic": [9, 8, 1, 1],  # , and ##matic are missing: the whole word is unknown
        "": [],
    }
    for text, ids in vectors.items():
        assert tok.encode(text) == ids, text
    assert tok.decode(vectors["The prism bends light!"]) == "the prism bends light!"


def test_vectors_of_llama_cpp(shared_data: Path) -> None:
    tok = subwords.load(shared_data / "tokenizers" / "bert" / "bert-base-uncased-vocab.txt")
    stem = shared_data / "vectors" / "ggml-vocab-bert-bge.gguf"
    documents = Path(f"{stem}.inp").read_bytes().split(b"\n__ggml_vocab_test__\n")[:-1]
    ref = [[*map(int, line.split())] for line in Path(f"{stem}.out").read_text().splitlines()]
    assert [tok.encode(document.decode()) for document in documents] == ref
