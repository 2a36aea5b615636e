"""A tokenizer of any rule, saved: HF tokenizers reads the same words, and gives the same ids (B7)."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
import tokenizers

import subwords
from characters import settled
from inside import splitter_NAMED as NAMED
from splitting import agreed
from strategies import FRAGMENTS

SEED = 3
OPTICKS = Path(__file__).parents[2] / "examples" / "opticks.txt"

RULES: dict[str, Any] = {
    # Oniguruma has no way to say what superbpe's look-ahead means in less than minutes.
    **{name: name for name in NAMED if name not in ("p50k", "gpt-neox", "superbpe")},
    "digits, gpt2": ["digits", "gpt2"],
    "single digits, cl100k": [{"type": "Digits", "individual_digits": True}, "cl100k"],
    "numbers": r"\d+(?:,\d+)*|\p{L}+|[^\p{L}\d]",
    "words": r"\w+|\W",
    "threes": r"\d{1,3}+|\D",
    "ends": r"a+$|\s+$|\s|\S",
    "nothing": None,
}


@pytest.fixture(scope="module")
def texts() -> list[str]:
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    letters = [chr(code) for code in rng.sample([*settled().nonzero()[0].tolist()], 300)]
    prose = OPTICKS.read_text("utf-8")
    mixed = [agreed("".join(rng.choices([*FRAGMENTS, *letters], k=rng.choice([1, 5, 40])))) for _ in range(150)]
    return [*mixed, *(prose[at : at + 400] for at in range(0, 20_000, 2000)), "It's 1,234,567 ò² o'clock\r\n \n  x\t "]


@pytest.mark.rotating(2)
@pytest.mark.parametrize("name", RULES)
def test_ids_of_a_saved_tokenizer(name: str, texts: list[str], tmp_path: Path) -> None:
    tok = subwords.train([*texts, "".join(texts)], vocab_size=600, splitter=RULES[name])
    path = tmp_path / "tok.json"
    tok.save(path)
    peer = tokenizers.Tokenizer.from_file(str(path))
    again = subwords.load(path)
    for text in texts:
        ref = peer.encode(text, add_special_tokens=False)
        assert tok.encode(text) == ref.ids, text
        assert again.encode(text) == ref.ids, text
    assert again.splitter.compiled == tok.splitter.compiled


@pytest.mark.parametrize("name", ["whitespace", "bert", "metaspace", "gemma", "deepseek-v3", "t5", "digits"])
def test_places_of_words(name: str, texts: list[str], tmp_path: Path) -> None:
    from inside import to_pre_tokenizer

    top = json.loads(tokenizers.Tokenizer(tokenizers.models.BPE()).to_str())
    node = to_pre_tokenizer(NAMED[name])
    peer = tokenizers.Tokenizer.from_str(json.dumps(top | {"pre_tokenizer": node})).pre_tokenizer
    made = subwords.splitter(name)
    for text in texts:
        ref = peer.pre_tokenize_str(text)
        assert made.split(text) == [word for word, _ in ref]
        assert made.spans(text).tolist() == [list(span) for _, span in ref]
