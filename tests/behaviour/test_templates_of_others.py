"""A template has the ids that its tokens have in the tokenizer that gets it, whoever made the template."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import subwords
from inside import bert
from subwords import InputError, Tokenizer
from subwords.machine import Inserted, Slot, Template

A, B = Slot("A"), Slot("B", 1)
SIZES: dict[Any, int] = {"bpe": 270, "wordpiece": 22, "unigram": 18, "wordlevel": 8}
UNKNOWN: dict[Any, list[str]] = {"bpe": [], "wordpiece": ["[UNK]"], "unigram": ["<unk>"], "wordlevel": ["<unk>"]}
TEXTS = ["low lower lowest slow slowly"] * 9
# Names in another order than any tokenizer below has them.
OTHERS = {"[CLS]": 101, "[SEP]": 102, "<s>": 7, "</s>": 9}


def inserted(*names: str, type_id: int = 0) -> Inserted:
    return Inserted(names[0], tuple(OTHERS[name] for name in names), names, type_id)


TEMPLATES = {
    "bert": bert(101, 102),
    "roberta": Template((inserted("<s>"), A, inserted("</s>")), (inserted("<s>"), A, inserted("</s>"), B), (True,)),
    "first": Template((inserted("<s>"), A), (inserted("<s>"), A, B)),
    "several": Template((inserted("[CLS]", "<s>"), A), (inserted("[CLS]", "<s>"), A, inserted("[SEP]", type_id=1), B)),
    "twice": Template((A, inserted("</s>"), A), (A, inserted("</s>"), B)),
    "pair only": Template((A,), (A, inserted("[SEP]"), B, inserted("[SEP]", type_id=1))),
    "spans only": Template(trims=(False,)),
}


@cache
def trained(family: Any, names: tuple[str, ...]) -> Tokenizer:
    special = [*UNKNOWN[family], *names]
    return subwords.train(TEXTS, algorithm=family, vocab_size=SIZES[family], special_tokens=special, template=None)


def names_of(template: Template) -> set[str]:
    pieces = (*template.single, *template.pair)
    return {token for piece in pieces if isinstance(piece, Inserted) for token in piece.tokens}


def check(tok: Tokenizer, template: Template) -> None:
    """Compare with the ids of the names, in the order in which the template has them."""
    ids = tok.encode("low slowly")

    def wanted(pieces: tuple[Any, ...]) -> list[int | None]:
        return [
            index
            for piece in pieces
            for index in (ids if isinstance(piece, Slot) else map(tok.token_to_id, piece.tokens))
        ]

    assert tok("low slowly").ids.tolist() == wanted(template.single)
    assert tok("low slowly", "low slowly").ids.tolist() == wanted(template.pair)
    assert tok.encode("low slowly", template=True) == wanted(template.single)
    assert tok.encode_batch(["low slowly"], template=True).to_lists() == [wanted(template.single)]


@pytest.mark.filterwarnings("ignore:fewer tokens")
@pytest.mark.parametrize("family", SIZES)
@pytest.mark.parametrize("kind", TEMPLATES)
def test_ids_are_those_of_the_names(family: Any, kind: str, tmp_path: Path) -> None:
    template = TEMPLATES[kind]
    tok = trained(family, ("</s>", "[SEP]", "<s>", "[CLS]")).with_(template=template)
    check(tok, template)
    tok.save(tmp_path / "tokenizer.json")
    check(subwords.load(tmp_path / "tokenizer.json"), template)
    names = [*sorted(names_of(template)), *UNKNOWN[family]]
    again = subwords.train(TEXTS, algorithm=family, vocab_size=SIZES[family], special_tokens=names, template=template)
    check(again, template)


@pytest.mark.filterwarnings("ignore:fewer tokens")
@pytest.mark.parametrize("family", SIZES)
@pytest.mark.parametrize("kind", TEMPLATES)
def test_a_missing_token_is_refused_by_name(family: Any, kind: str) -> None:
    template = TEMPLATES[kind]
    names = sorted(names_of(template))
    for missing in names:
        tok = trained(family, tuple(name for name in names if name != missing))
        with pytest.raises(InputError, match="missing token") as caught:
            tok.with_(template=template)
        assert repr(missing) in str(caught.value)
        with pytest.raises(InputError, match="missing token"):
            subwords.train(
                TEXTS,
                algorithm=family,
                vocab_size=SIZES[family],
                special_tokens=[*tok.special_tokens],
                template=template,
            )


CHANGES: dict[str, Callable[[Tokenizer], Tokenizer]] = {
    "extend": lambda tok: subwords.adapt.extend(tok, ["lows lows slows slows"], count=2),
    "prune": lambda tok: subwords.adapt.prune(tok, drop=[tok.vocab_size - 1], compact=True).tokenizer,
    "replace": lambda tok: subwords.adapt.replace(tok, ["lows lows slows slows"], count=1).tokenizer,
    "merge": lambda tok: subwords.adapt.merge(tok, trained("bpe", ("[SEP]",))).tokenizer,
    "with_tokens": lambda tok: tok.with_tokens(["<new>"]),
}


@pytest.mark.filterwarnings("ignore:fewer tokens")
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", TEMPLATES)
def test_a_changed_vocabulary_keeps_the_tokens_of_the_template(change: str, kind: str) -> None:
    tok = trained("bpe", ("</s>", "[SEP]", "<s>", "[CLS]")).with_(template=TEMPLATES[kind])
    check(CHANGES[change](tok), TEMPLATES[kind])


def test_the_template_of_a_file_in_a_trained_tokenizer_is_read_by_hf(data: Path, tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    from small_data import file_of

    old = subwords.load(file_of(data, "bert/bert-base-uncased-tokenizer.json"))
    tok = subwords.train(TEXTS, algorithm="wordpiece", vocab_size=40, template=old.template)
    assert tok("low").tokens[0] == "[CLS]"
    tok.save(tmp_path / "t.json")
    peer = tokenizers.Tokenizer.from_file(str(tmp_path / "t.json"))
    assert peer.encode("low", "slow").ids == tok("low", "slow").ids.tolist()


def test_model_and_template_of_another_tokenizer_together() -> None:
    old, other = trained("bpe", ("<s>", "</s>")), trained("wordpiece", ("</s>", "[SEP]", "<s>", "[CLS]"))
    parts: Any = {"added_tokens": other.spec.added_tokens, "splitter": other.splitter, "decoder": other.decoder}
    parts["normalizer"] = other.normalizer
    check(old.with_(model=other.model, template="<s> $A </s>", **parts), other.with_(template="<s> $A </s>").template)  # type: ignore[arg-type]
    stays = old.with_(template=TEMPLATES["first"]).with_(model=other.model, **parts)
    check(stays, TEMPLATES["first"])
    roles = old.with_(model=other.model, roles={"sep": "[SEP]"}, **parts).roles
    assert roles["sep"] == other.token_to_id("[SEP]")


def test_added_tokens_of_another_tokenizer_are_refused() -> None:
    old, other = trained("bpe", ("<s>", "</s>")), trained("bpe", ("</s>", "[SEP]", "<s>", "[CLS]"))
    with pytest.raises(InputError, match="added tokens with the ids that they have in the vocabulary"):
        old.with_(added_tokens=other.spec.added_tokens)


@pytest.mark.parametrize("compact", [False, True])
def test_a_file_whose_template_has_an_id_of_no_token(tmp_path: Path, compact: bool) -> None:
    tok = trained("bpe", ("<s>", "</s>")).with_(template="<s> $A </s>")
    tok.save(tmp_path / "t.json")
    whole = json.loads((tmp_path / "t.json").read_bytes())
    whole["post_processor"]["special_tokens"]["<s>"]["ids"] = [128000]
    (tmp_path / "t.json").write_text(json.dumps(whole))
    odd = subwords.load(tmp_path / "t.json")
    assert odd("low").ids[0] == 128000  # as in HF
    with pytest.raises(InputError, match="template token '<s>' has the id 128000"):
        subwords.adapt.prune(odd, drop=[odd.vocab_size - 1], compact=compact)
    assert odd.with_(template=odd.template)("low").ids[0] == odd.token_to_id("<s>")
