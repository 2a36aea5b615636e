"""Added tokens that are removed, and that get another text at their id; HF tokenizers reads both as we do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import subwords
from subwords import InputError

TEXT = "low lower lowest newest <a> widest<b> <c>low <new>"
FAMILIES: dict[str, dict[str, Any]] = {
    "bpe": {"vocab_size": 270},
    "bpe special first": {"vocab_size": 270, "special_tokens": ["<a>", "<b>", "<c>"]},
    "characters": {"vocab_size": 40, "byte_level": False, "splitter": "bert"},
    "unigram": {"algorithm": "unigram", "vocab_size": 30},
    "wordpiece": {"algorithm": "wordpiece", "vocab_size": 60},
}


def trained(family: str, *, special: bool = True) -> subwords.Tokenizer:
    tok = subwords.train(["low lower lowest newest widest < > a b c n e w"] * 9, **FAMILIES[family])
    return tok.with_tokens(["<a>", "<b>", "<c>"], special=special)


def theirs(tok: subwords.Tokenizer, place: Path) -> list[int]:
    tokenizers = pytest.importorskip("tokenizers")
    tok.save(place / "tokenizer.json")
    assert subwords.load(place / "tokenizer.json").encode(TEXT, special="allow") == tok.encode(TEXT, special="allow")
    return tokenizers.Tokenizer.from_file(str(place / "tokenizer.json")).encode(TEXT, add_special_tokens=False).ids  # type: ignore[no-any-return]


@pytest.mark.filterwarnings("ignore::subwords.SubwordsWarning")
@pytest.mark.parametrize("special", [True, False])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("gone", ["<a>", "<c>", "<a> <b>", "<b> <c>"])
def test_removed(family: str, gone: str, special: bool, tmp_path: Path) -> None:
    tok, dropped = trained(family, special=special), gone.split()
    found = subwords.adapt.prune(tok, drop=dropped)
    new, ids = found.tokenizer, {tok.token_to_id(token) for token in dropped}
    assert found.removed == tuple(sorted(ids, key=int)) and not any(token in new for token in dropped)
    assert {t.content: t.id for t in new.added_tokens} == {
        t.content: t.id for t in tok.added_tokens if t.content not in dropped
    }
    # Ids at the end are free, others stay without a token.
    last = max(i for i in range(tok.vocab_size) if i not in ids)
    assert new.vocab_size == last + 1
    assert new.encode(TEXT, special="allow") == theirs(new, tmp_path)
    assert not ids & {*new.encode(TEXT, special="allow")}
    again = tok.with_(added_tokens=[token for token in tok.added_tokens if token.content not in dropped])
    assert subwords.adapt.prune(again, drop=dropped).tokenizer == new
    compact = subwords.adapt.prune(tok, drop=dropped, compact=True).tokenizer
    assert compact.vocab_size == tok.vocab_size - len(dropped)
    assert compact.encode(TEXT, special="allow") == theirs(compact, tmp_path)


@pytest.mark.filterwarnings("ignore::subwords.SubwordsWarning")
@pytest.mark.parametrize("special", [True, False])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("text", ["<new>", "<|new token|>", "<né>", "<pad>"])
def test_renamed(family: str, text: str, special: bool, tmp_path: Path) -> None:
    tok = trained(family, special=special).with_(template="<a> $A <b>")
    new = tok.with_(added_tokens=[replace(t, content=text) if t.content == "<a>" else t for t in tok.added_tokens])
    assert new == subwords.adapt.replace(tok, {"<a>": text}).tokenizer
    index = tok.token_to_id("<a>")
    assert new.token_to_id(text) == index and "<a>" not in new and new.vocab_size == tok.vocab_size
    assert new.encode(f"low {text}", special="allow")[-1] == index
    assert new.encode(TEXT, special="allow") == theirs(new, tmp_path)
    assert new.template is not None and new("low").tokens[0] == text
    expected = {"pad": index} if text == "<pad>" and special else {}
    assert new.roles == expected | dict(tok.roles)
    assert new.encode("low lower") == tok.encode("low lower")
    back = subwords.adapt.replace(new, {text: "<a>"})
    assert back.tokenizer.with_(roles=None) == tok.with_(roles=None) and back.id_map[index] == {index: 1.0}


def test_names_in_other_parts() -> None:
    tok = subwords.train(["low"], vocab_size=258).with_tokens(["</s>", "<a>", "<b>"])
    assert subwords.adapt.replace(tok, {"</s>": "<end>"}).tokenizer.roles == tok.roles  # the id keeps its role
    assert subwords.adapt.replace(tok, {"<a>": "<b>", "<b>": "<a>"}).tokenizer.token_to_id("<a>") == tok.token_to_id(
        "<b>"
    )
    padded = tok.with_(padding=subwords.Padding(pad_id=tok.special_tokens["<a>"], pad_token="<a>"))
    assert subwords.adapt.replace(padded, {"<a>": "<p>"}).tokenizer.spec.padding.pad_token == "<p>"  # type: ignore[union-attr]
    chat = tok.with_(chat_template="<a>{{ messages[0].content }}")
    for change in (
        lambda: subwords.adapt.replace(chat, {"<a>": "<x>"}),
        lambda: subwords.adapt.prune(chat, drop=["<a>"]),
    ):
        with pytest.raises(InputError, match="chat template 'default'"):
            change()
    with pytest.raises(InputError, match="it is the token of padding"):
        subwords.adapt.prune(padded, drop=["<a>"])
    with pytest.raises(InputError, match="it is the token of the role 'bos'"):
        subwords.adapt.prune(tok.with_(roles={"bos": "<a>"}), drop=["<a>"])
    for text in ("</s>", "low", "a"):
        with pytest.raises(InputError, match=f"duplicate added token '{text}'|the vocabulary has '{text}' already"):
            subwords.adapt.replace(tok, {"<a>": text})
    with pytest.raises(InputError, match="cannot rename '<c>': it is not an added token"):
        subwords.adapt.replace(tok, {"<c>": "<d>"})
    with pytest.raises(InputError, match="count is not an option of new texts"):
        subwords.adapt.replace(tok, {"<a>": "<d>"}, count=3)
    word = subwords.train(["low lower"] * 9, vocab_size=262).with_tokens(["low"], special=False)
    with pytest.raises(InputError, match="it is also a token that the model makes of text"):
        subwords.adapt.replace(word, {"low": "<d>"})
    with pytest.raises(InputError, match="is made of it; prune that too"):
        subwords.adapt.prune(word, drop=["low"])


def test_reserved_tokens_make_room(tmp_path: Path) -> None:
    tok = trained("bpe")
    new = subwords.adapt.replace(tok, [TEXT.replace("low", "slow")] * 9, drop=["<a>", "<c>"]).tokenizer
    assert new.vocab_size == tok.vocab_size and [token.content for token in new.added_tokens] == ["<b>"]
    assert {tok.token_to_id("<a>"), tok.token_to_id("<c>")} <= {*new.encode(TEXT.replace("low", "slow"))}
    assert new.encode(TEXT, special="allow") == theirs(new, tmp_path)
