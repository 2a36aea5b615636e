"""What a user sees: completion, hints for names of other libraries, names of tokenizers, and what values show."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import numpy as np
import pytest

import subwords
from subwords import FormatError, InputError


@pytest.fixture(scope="module")
def tok() -> subwords.Tokenizer:
    return subwords.train(["low lower lowest"] * 9, vocab_size=263, special_tokens=["<pad>"])


def test_fields_made_lazily_are_completed(tok: subwords.Tokenizer) -> None:
    fields = {"tokens", "file_tokens", "spans", "byte_spans", "word_ids", "overflow", "attention_mask", "ids"}
    for encoding in (tok("low"), tok(["low", "lower"])[0], tok("low", "lower")):
        assert fields <= {*dir(encoding)}
        assert all(hasattr(encoding, name) for name in dir(encoding))
    assert {"encodings", "texts"} <= {*dir(tok(["low"]))}


SPACES = ("adapt", "files", "research", "sampling", "scale", "study")


def test_public_modules_show_their_own_names_only() -> None:
    for module in (subwords, *(getattr(subwords, name) for name in SPACES)):
        assert {*dir(module)} == {*module.__all__}


NAMES = [
    "apply_chat_template",
    "pad_token_id",
    "save_pretrained",
    "encode_ordinary",
    "from_file",
    "convert_ids_to_tokens",
]


@pytest.mark.parametrize("name", NAMES)
def test_names_of_other_libraries(tok: subwords.Tokenizer, name: str) -> None:
    for owner in (tok, subwords.Tokenizer):
        with pytest.raises(AttributeError, match=f"Tokenizer has no '{name}', which is another library's name: use "):
            getattr(owner, name)
        with pytest.raises(InputError):
            getattr(owner, name)
        assert not hasattr(owner, name)
    assert name not in dir(tok)
    assert inspect.getmembers(subwords.Tokenizer)


def test_what_the_hints_name_exists(tok: subwords.Tokenizer) -> None:
    with pytest.raises(AttributeError, match=r'use tok\.roles\.get\("pad"\)'):
        tok.pad_token_id  # type: ignore[attr-defined]  # noqa: B018
    assert tok.roles.get("pad") == tok.token_to_id("<pad>")
    with pytest.raises(AttributeError, match=r"has no 'pad_token'.*use tok\.with_"):
        tok.pad_token = "<pad>"  # type: ignore[attr-defined]
    with pytest.raises(InputError, match="Tokenizer is immutable: cannot set 'splitter'"):
        tok.splitter = None  # type: ignore[assignment]


def test_names_of_the_module() -> None:
    with pytest.raises(AttributeError, match=r"subwords has no 'get_encoding', .* use subwords\.load"):
        subwords.get_encoding  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'trian'; did you mean 'train'"):
        subwords.trian  # type: ignore[attr-defined]  # noqa: B018
    assert not hasattr(subwords, "AutoTokenizer")


def test_names_of_tokenizers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    with pytest.raises(FormatError, match="no file, folder or name 'o200k' here; did you mean 'o200k_base'"):
        subwords.load("o200k")
    with pytest.raises(FormatError, match="no file, folder or name 'dmeo' here; did you mean 'demo'"):
        subwords.load("dmeo")
    with pytest.raises(FormatError, match=r"no file, folder or name 'llama-3' here; names are demo, gpt2, .*org/name"):
        subwords.load("llama-3")
    file = (tmp_path / "cl100k_base.tiktoken").as_posix()
    for name in ("cl100k_base", "CL100K_Base", "GPT-4", "gpt-4-0613"):
        with pytest.raises(FormatError, match=r"no rank file for cl100k_base \(looked in ") as caught:
            subwords.load(name)
        assert file in str(caught.value).replace("\\", "/")
    with pytest.raises(InputError, match="download are for repositories of the Hugging Face Hub") as refused:
        subwords.load("cl100k_base", download=True)
    assert file in str(refused.value).replace("\\", "/")


def test_demo_is_what_training_on_the_book_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    book = Path(__file__).parents[2] / "examples" / "opticks.txt"
    made = subwords.train(book, vocab_size=4096, special_tokens=["<|endoftext|>"])
    made.save(tmp_path / "made.json")
    demo = subwords.load("demo")
    assert demo.decode(demo.encode("Rays of Light, 光 \xe9")) == "Rays of Light, 光 \xe9"
    file = Path(subwords.__file__).with_name("demo.json")
    assert json.loads(file.read_bytes()) == json.loads((tmp_path / "made.json").read_bytes())
    assert file.stat().st_size < 120_000
    monkeypatch.chdir(tmp_path)
    subwords.train(["ab ab"], vocab_size=257).save("demo/")
    assert subwords.load("demo").vocab_size == 257  # a folder of this name is meant


def test_tokenizers_and_results_show_themselves(tok: subwords.Tokenizer) -> None:
    assert repr(tok) == "Tokenizer(bpe, 263 tokens, 6 merges, 1 special, splitter 'o200k')"
    assert "263 tokens, 6 merges, 1 special" in tok._repr_html_()
    found = subwords.adapt.prune(tok, drop=[" lower"])
    assert repr(found).startswith("Adapted(1 removed, Tokenizer(bpe, 262 tokens, 5 merges")
    pieces = subwords.train(["low lower lowest"] * 9, vocab_size=14, algorithm="unigram")
    for one in (pieces, tok.with_(splitter=None), tok.with_(normalizer=["nfd", "lowercase"])):
        assert "{" not in repr(one) and "route" not in repr(one) and len(repr(one)) < 200


def test_ranks_are_no_list_of_merges(tok: subwords.Tokenizer, tmp_path: Path) -> None:
    many = subwords.train(["aaaa aaaa aaa aa abab baba ab ba" * 9], vocab_size=300)
    many.save(tmp_path / "a.tiktoken")
    ranks = subwords.load(tmp_path / "a.tiktoken", splitter="gpt2", special_ids={})
    assert f"{ranks.vocab_size} tokens" in repr(ranks)


def test_ids_that_are_none(tok: subwords.Tokenizer) -> None:
    with pytest.raises(InputError, match="expected integer ids, not float64"):
        tok.decode(np.array([1.5]))
    with pytest.raises(InputError, match="expected one list of ids, not an array of 2 dimensions"):
        tok.decode(np.array([[1, 2]]))


def test_completion_offers_what_is_there(tok: subwords.Tokenizer) -> None:
    """Python's own completion also lists the class, which `dir` of a value does not."""
    rlcompleter = pytest.importorskip("rlcompleter")
    cache = subwords.PromptCache(tok)
    things = {
        "tok": tok,
        "encoding": tok("low"),
        "batch": tok(["low"]),
        "ids": tok.encode_batch(["low"]),
        "cache": cache,
    }
    things |= {"spec": tok.spec, "counts": subwords.count(["low"]), "subwords": subwords, "study": subwords.study}
    for name, thing in things.items():
        offered = {
            found.rstrip("()").split(".")[1] for found in rlcompleter.Completer(dict(things)).attr_matches(f"{name}.")
        }
        assert {one for one in offered if not hasattr(thing, one)} == set(), name
        assert {one for one in dir(type(thing)) if one not in dir(thing) and not one.startswith("_")} <= {"mro"}, name
    assert "encode" in dir(type(tok)) and "encode_plus" not in dir(type(tok))

    class Mine(subwords.Tokenizer):
        more = 1

    assert "more" in dir(Mine) and "eos_token" not in dir(Mine(tok.spec))
    with pytest.raises(AttributeError, match="another library's name"):
        Mine(tok.spec).eos_token  # type: ignore[attr-defined]  # noqa: B018


def test_a_cache_shows_what_it_did(tok: subwords.Tokenizer) -> None:
    cache = subwords.PromptCache(tok)
    assert repr(cache) == "PromptCache(0 texts, 0 ids, none of them known, 0 bytes held)"
    for _ in range(2):
        cache.encode("low lower lowest " * 200)
    assert repr(cache).startswith("PromptCache(2 texts, 1,602 ids, 50% of them known, ")
