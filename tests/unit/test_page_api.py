"""What the page shows: tokens, disagreements, the steps of a word, files that change."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import subwords
from subwords import Tokenizer
from subwords.errors import FormatError, InputError
from subwords.study.opened import TokenizerFile
from subwords.study.page_api import MOST_CHARACTERS, PageApi
from subwords.study.shown_tokens import disagreements
from subwords.study.token_facts import PairRanks, TokenFacts
from subwords.study.word_at import word_at
from subwords.study.word_steps import Lattice, Lookup, Matches, Merges, steps_of

TEXTS = ["low lower lowest newest widest naïve 🙂 hugging hugs bun"] * 9
FAMILIES: dict[str, dict[str, Any]] = {
    "bpe": {"vocab_size": 290},
    "characters": {"vocab_size": 45, "byte_level": False, "special_tokens": ["<unk>"], "unk_token": "<unk>"},
    "fallback": {"vocab_size": 300, "byte_level": False, "byte_fallback": True},
    "wordpiece": {"algorithm": "wordpiece", "vocab_size": 45, "normalizer": "bert-uncased"},
    "unigram": {"algorithm": "unigram", "vocab_size": 40},
    "wordlevel": {"algorithm": "wordlevel", "vocab_size": 8},
}
TOKENIZERS = {name: subwords.train(TEXTS, **options) for name, options in FAMILIES.items()}


def opened(folder: Path, *toks: Tokenizer) -> PageApi:
    for number, tok in enumerate(toks):
        tok.save(folder / f"{number}.json")
    return PageApi([TokenizerFile(str(folder / f"{number}.json")) for number in range(len(toks))])


def encode(api: PageApi, **request: object) -> Any:
    return api.encode(request)


# --- steps


@given(
    st.sampled_from(sorted(TOKENIZERS)),
    st.text(st.sampled_from("lowernstig dhub\n\té🙂x<"), min_size=1, max_size=12) | st.text(min_size=1, max_size=6),
)
def test_the_steps_of_a_word_end_in_its_tokens(name: str, text: str) -> None:
    tok = TOKENIZERS[name]
    facts, encoding = TokenFacts(tok), tok(text, template=False)
    for place in range(len(encoding)):
        found = word_at(facts, text, encoding, place)
        assert found.exact, (found.word, found.ids)
        assert found.first <= place < found.stop
        assert found.ids == encoding.ids[found.first : found.stop].tolist()


def test_merges_are_in_order_of_rank_and_give_the_word() -> None:
    tok = TOKENIZERS["bpe"]
    steps = steps_of(TokenFacts(tok), " lowest")
    assert isinstance(steps, Merges)
    assert "".join(steps.texts) == " lowest"
    pairs = {(left, right): (rank, result) for rank, (left, right, result) in enumerate(tok.model.merges.tolist())}
    for step in steps.steps:
        assert pairs[step.left, step.right] == (step.rank, step.result)
    assert steps.steps
    assert len(steps.symbols) - len(steps.steps) == len(tok.encode(" lowest"))


def test_pairs_are_those_of_a_dict() -> None:
    model = TOKENIZERS["bpe"].model
    pairs = PairRanks(model)  # type: ignore[arg-type]
    ref = {(left, right): (rank, result) for rank, (left, right, result) in enumerate(model.merges.tolist())}  # type: ignore[union-attr]
    assert {pair: pairs.find(*pair) for pair in ref} == ref
    assert pairs.find(0, 0) is None
    assert PairRanks(None).find(0, 0) is None


def best_two(scores: dict[str, float], word: str) -> list[float]:
    """The scores of all segmentations, enumerated; the two best."""
    if not word:
        return [0.0]
    ways = [
        scores[word[:stop]] + rest
        for stop in range(1, len(word) + 1)
        if word[:stop] in scores
        for rest in best_two(scores, word[stop:])
    ]
    return sorted(ways, reverse=True)[:2]


@pytest.mark.parametrize("word", ["▁hugs", "▁lowest", "▁bun", "▁", "▁hughughug"])
def test_a_lattice_has_the_best_path_and_the_runner_up(word: str) -> None:
    tok = TOKENIZERS["unigram"]
    steps = steps_of(TokenFacts(tok), word)
    assert isinstance(steps, Lattice)
    model: Any = tok.model
    scores = {
        content.decode(): float(model.path_scores[index])
        for index, content in enumerate(model.vocab)
        if index not in model.special_ids
    }
    ref = best_two(scores, word)
    assert steps.best == pytest.approx(ref[0], abs=1e-5)
    assert (steps.second is None) == (len(ref) < 2)
    if steps.second is not None:
        assert steps.second == pytest.approx(ref[1], abs=1e-5)
    for number in (1, 2)[: len(ref)]:
        path = [edge for edge in steps.edges if number in edge.paths]
        assert [edge.start for edge in path] == [0, *(edge.stop for edge in path[:-1])]
        assert path[-1].stop == len(word)


def test_matches_list_the_longer_candidates() -> None:
    tok = subwords.train(["abc abc ab"], algorithm="wordpiece", vocab_size=20)
    steps = steps_of(TokenFacts(tok), "abcq")
    assert isinstance(steps, Matches)
    assert steps.matches[0].tried == ("abcq",)
    assert steps.unknown is not None
    assert "at character 3" in steps.unknown
    assert steps.matches[-1].id is None


def test_long_words_have_no_steps_but_a_reason() -> None:
    for tok in TOKENIZERS.values():
        steps = steps_of(TokenFacts(tok), "a" * 5000)
        assert isinstance(steps, Lookup)
        assert steps.reason


def test_added_tokens_have_no_steps(tmp_path: Path) -> None:
    tok = subwords.train(TEXTS, vocab_size=280).with_tokens(["<|end|>"])
    api = opened(tmp_path, tok)
    found: Any = api.word({"text": "low<|end|>", "tokenizer": 0, "token": 1, "special": True})
    assert (found["word"], found["steps"]["kind"]) == ("<|end|>", "lookup")


def test_an_unknown_word_has_steps(tmp_path: Path) -> None:
    api = opened(tmp_path, TOKENIZERS["wordpiece"])
    found: Any = api.word({"text": "lowzz", "tokenizer": 0, "token": 1})
    assert (found["word"], found["ids"]) == ("lowzz", [TOKENIZERS["wordpiece"].model.unk_id])
    assert "at character 3" in found["steps"]["unknown"]


def test_a_word_has_the_names_of_its_symbols(tmp_path: Path) -> None:
    for tok in TOKENIZERS.values():
        api = opened(tmp_path, tok)
        found: Any = api.word({"text": "lower hugs", "tokenizer": 0, "token": 1})
        assert set(found["ids"]) <= found["names"].keys() | {tok.model.unk_id} or found["steps"]["kind"] == "lookup"


@pytest.mark.parametrize(("tokenizer", "token"), [(1, 0), (-1, 0), (0, 9), (0, -1), (0, "a"), (0, True), (None, 0)])
def test_a_word_that_does_not_exist_is_an_error(tmp_path: Path, tokenizer: object, token: object) -> None:
    api = opened(tmp_path, TOKENIZERS["bpe"])
    with pytest.raises(InputError, match="expected"):
        api.word({"text": "low", "tokenizer": tokenizer, "token": token})


# --- disagreements


def spans_alone(text: str, toks: Sequence[Tokenizer]) -> list[list[bool]]:
    """By the definition, token by token."""
    space = [character.isspace() for character in text for _ in character.encode()]
    parts = []
    for tok in toks:
        found = []
        for start, stop in tok(text).byte_spans.tolist():
            while start < stop and space[start]:
                start += 1
            while start < stop and space[stop - 1]:
                stop -= 1
            found.append((start, stop))
        parts.append(found)
    return [
        [span[0] < span[1] and any(span not in other for other in parts if other is not own) for span in own]
        for own in parts
    ]


@given(st.text(st.sampled_from("low er\n\té🙂\u3000n"), max_size=16))
def test_disagreements_are_those_of_the_definition(text: str) -> None:
    toks = [TOKENIZERS[name] for name in ("bpe", "wordpiece", "unigram")]
    found = disagreements(text, [tok(text) for tok in toks])
    assert [one.tolist() for one in found] == spans_alone(text, toks)


def test_spaces_before_a_word_are_no_disagreement() -> None:
    a, b = TOKENIZERS["bpe"], TOKENIZERS["wordpiece"]
    text = "low lowest"
    found = disagreements(text, [a(text), b(text)])
    assert not found[0][0]
    assert not found[1][0]
    assert not np.any(disagreements(text, [a(text)])[0])
    assert [one.tolist() for one in disagreements("", [a(""), b("")])] == [[], [False, False]]


# --- long and unusual texts


def test_a_long_text_is_cut_and_the_rest_is_counted(tmp_path: Path) -> None:
    api = opened(tmp_path, TOKENIZERS["bpe"])
    found = encode(api, text="low " * 100_000, most=50)
    assert (found["characters"], found["left_out"]) == (MOST_CHARACTERS, 400_000 - MOST_CHARACTERS)
    assert len(found["tokenizers"][0]["ids"]) == 50 < found["tokenizers"][0]["tokens"]


def test_an_empty_text_has_no_tokens(tmp_path: Path) -> None:
    api = opened(tmp_path, *TOKENIZERS.values())
    assert [one["tokens"] for one in encode(api, text="")["tokenizers"]] == [
        len(tok("").ids) for tok in TOKENIZERS.values()
    ]


def test_a_text_that_one_tokenizer_refuses_is_shown_by_the_others(tmp_path: Path) -> None:
    refusing = subwords.train(["ab ab"], vocab_size=5, byte_level=False)
    api = opened(tmp_path, refusing, TOKENIZERS["bpe"])
    found = encode(api, text="q")["tokenizers"]
    assert "q" in found[0]["error"]
    assert found[1]["tokens"] == 1
    with pytest.raises(InputError, match="q"):
        api.word({"text": "q", "tokenizer": 0, "token": 0})


def test_truncation_and_padding_of_a_file_do_not_change_the_tokens(tmp_path: Path) -> None:
    tok = TOKENIZERS["bpe"]
    cut = tok.with_(truncation=subwords.Truncation(2))
    assert len(cut("low lower lowest").ids) == 2
    found = encode(opened(tmp_path, cut), text="low lower lowest")
    assert found["tokenizers"][0]["ids"] == tok.encode("low lower lowest")


# --- files


def later(path: Path) -> None:
    status = path.stat()
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 10**9))


def test_a_file_that_changes_is_read_again(tmp_path: Path) -> None:
    api = opened(tmp_path, TOKENIZERS["bpe"])
    path = tmp_path / "0.json"
    first = api.files[0].now()
    assert api.files[0].now() is first
    TOKENIZERS["wordpiece"].save(path)
    later(path)
    assert (api.files[0].now().version, api.files[0].now().tok) == (2, TOKENIZERS["wordpiece"])
    path.write_text("{broken")
    later(path)
    broken = api.files[0].now()
    assert (broken.version, broken.tok) == (3, TOKENIZERS["wordpiece"])
    assert broken.problem is not None
    assert "the file changed and cannot be read now" in broken.problem
    assert encode(api, text="low")["tokenizers"][0]["problem"] == broken.problem
    path.unlink()
    assert "from before" in (api.files[0].now().problem or "")
    TOKENIZERS["bpe"].save(path)
    assert (api.files[0].now().tok, api.files[0].now().problem) == (TOKENIZERS["bpe"], None)


def test_a_folder_that_changes_is_read_again(tmp_path: Path) -> None:
    folder = tmp_path / "tok"
    folder.mkdir()
    TOKENIZERS["bpe"].save(folder)
    file = TokenizerFile(str(folder))
    assert file.now().version == 1
    later(folder / "tokenizer.json")
    assert file.now().version == 2


def test_a_file_that_cannot_be_read_at_first_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="expected a tokenizer file"):
        TokenizerFile(str(tmp_path / "none.json"))
