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
from inside import MOST_CHARACTERS, PageApi, TokenizerFile, disagreements, explain_word, word_explainer
from subwords import FormatError, InputError, Tokenizer

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
def test_the_word_of_a_token_is_that_of_explain(name: str, text: str) -> None:
    tok = TOKENIZERS[name]
    words, encoding, trace = word_explainer(tok.model), tok(text, template=False), subwords.study.explain(tok, text)
    for place in range(len(encoding)):
        found, first = explain_word(tok, text, encoding, place, words, special="text", most=300)
        if name in ("characters", "fallback"):  # one word for `explain`; the page shows those of the space rule
            assert first <= place < first + len(found.ids)
        else:
            assert found.words == [trace.words[encoding.word_ids[place] or 0]]
        assert encoding.ids[first : first + len(found.ids)].tolist() == found.ids


@pytest.mark.parametrize("special", ["text", "allow"])
def test_every_token_of_a_text_has_a_word(tmp_path: Path, special: str) -> None:
    for tok in TOKENIZERS.values():
        api, text = opened(tmp_path, tok), "low lowest  hugs\n naïve<unk>"
        ids, done = tok(text, special=special).ids.tolist(), 0
        while done < len(ids):
            found: Any = api.word({"text": text, "tokenizer": 0, "token": done, "special": special == "allow"})
            assert (found["first"], found["ids"]) == (done, ids[done : found["stop"]])
            done = found["stop"]


def test_the_words_of_a_space_rule_are_shown_one_by_one(tmp_path: Path) -> None:
    tok = TOKENIZERS["fallback"].with_(splitter=None, normalizer=None)
    assert len(subwords.study.explain(tok, "▁low▁lowest▁" * 50).words) == 1
    found: Any = opened(tmp_path, tok).word({"text": "▁low▁lowest▁" * 50, "tokenizer": 0, "token": 40})
    assert found["word"] in ("▁low", "▁lowest", "▁")
    assert found["steps"]["kind"] == "merging"


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
    steps = word_explainer(tok.model).segmented(word.encode(), [0.0])
    assert type(steps).__name__ == "Lattice"
    model: Any = tok.model
    scores = {
        content.decode(): float(model.path_scores[index])
        for index, content in enumerate(model.vocab)
        if index not in model.special_ids
    }
    ref = best_two(scores, word)
    assert steps.score == pytest.approx(ref[0], abs=1e-5)
    assert (steps.gap is None) == (len(ref) < 2)
    if steps.gap is not None:
        assert steps.score - steps.gap == pytest.approx(ref[1], abs=1e-5)
    for places in (steps.best, steps.runner_up or ())[: len(ref)]:
        path = [steps.pieces[place] for place in places]
        assert [edge.start for edge in path] == [0, *(edge.stop for edge in path[:-1])]
        assert path[-1].stop == len(word)


def test_long_words_have_no_steps_but_a_reason(tmp_path: Path) -> None:
    for name in ("bpe", "fallback", "unigram"):
        found: Any = opened(tmp_path, TOKENIZERS[name]).word({"text": "a" * 5000, "tokenizer": 0, "token": 1})
        assert found["steps"] == {"kind": "lookup", "reason": found["steps"]["reason"]}
        assert "300 bytes" in found["steps"]["reason"]
        assert found["first"] <= 1 < found["stop"]


def test_added_tokens_have_no_steps(tmp_path: Path) -> None:
    tok = subwords.train(TEXTS, vocab_size=280).with_tokens(["<|end|>"])
    api = opened(tmp_path, tok)
    found: Any = api.word({"text": "low<|end|>", "tokenizer": 0, "token": 1, "special": True})
    assert (found["word"], found["steps"]["kind"]) == ("<|end|>", "lookup")


def test_an_unknown_word_has_steps(tmp_path: Path) -> None:
    api = opened(tmp_path, TOKENIZERS["wordpiece"])
    found: Any = api.word({"text": "lowzz", "tokenizer": 0, "token": 1})
    assert (found["word"], found["ids"]) == ("lowzz", [TOKENIZERS["wordpiece"].model.unk_id])
    assert found["steps"]["kind"] == "unknown"
    assert "'zz' after 3 characters" in found["steps"]["why"]
    assert found["steps"]["matches"]


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
