"""Special tokens in text: the policies text, error, allow and a set."""

from __future__ import annotations

import random
import time
from typing import Any

import pytest
import tokenizers
from tokenizers.models import BPE

import subwords
from inside import AddedTokens, TextParts
from subwords import AddedToken, InputError, Special, Text

EOS = AddedToken("<eos>", 5)
ADDED = AddedTokens(
    [EOS, AddedToken("<eos>>", 6), AddedToken("  ", 7, special=False), AddedToken("<mask>", 8, lstrip=True)]
)


def split(added: AddedTokens, text: str | bytes, special: Any) -> list[Any]:
    """The ids of the tokens that are found, and the text between them."""
    parts = TextParts(added, None, normalizes=False).cut(text, special)
    found = [part.data if part.id is None else part.id for part in parts]
    return found if isinstance(text, bytes) else [each if isinstance(each, int) else each.decode() for each in found]


# ------------------------------------------------------------------ what may be found


def test_text_finds_tokens_that_are_not_special() -> None:
    assert split(ADDED, "a<eos>  b", "text") == ["a<eos>", 7, "b"]
    assert split(ADDED, "   <mask>", "text") == [7, " <mask>"]


def test_set_with_an_unknown_name_lists_the_known() -> None:
    with pytest.raises(InputError, match=r"\('<eos>', '<eos>>', '  ', '<mask>'\), not '<bos>', '<sos>'"):
        split(ADDED, "a", {"<sos>", "<eos>", "<bos>"})


def test_error_names_token_position_and_what_to_pass() -> None:
    with pytest.raises(InputError) as caught:
        split(ADDED, "é  <eos>", "error")
    for part in ("'<eos>'", "character 3", "special='text'", "special='allow'", "{'<eos>'}", "id 5"):
        assert part in str(caught.value)
    assert split(ADDED, "a  b", "error") == ["a", 7, "b"]
    assert split(ADDED, "<eos", "error") == ["<eos"]


@pytest.mark.parametrize("special", ["all", "", None, 3, ["<eos>"]])
def test_unknown_rule_is_an_input_error(special: object) -> None:
    with pytest.raises(InputError, match="'text', 'error', 'allow' or a set"):
        split(ADDED, "a", special)


# ------------------------------------------------------------------ how it is found


def test_single_word_needs_no_word_character_beside_it() -> None:
    added = AddedTokens([AddedToken("foo", 1, single_word=True)])
    for beside in ("a", "_", "é", "中", "5", "\u0301", "\u200d"):
        assert split(added, f"foo{beside}", "allow") == [f"foo{beside}"]
        assert split(added, f"{beside}foo", "allow") == [f"{beside}foo"]
    for beside in (" ", "-", "²", "😀", "\n"):
        assert split(added, f"foo{beside}foo", "allow") == [1, beside, 1]


def test_strip_takes_the_whitespace_of_its_side() -> None:
    left = AddedTokens([AddedToken("<a>", 1, lstrip=True), AddedToken("<b>", 2)])
    assert split(left, "x \n\u2003<a> y", "allow") == ["x", 1, " y"]
    assert split(left, "<b>  <a>", "allow") == [2, 1]
    assert split(left, "x\x1c<a>", "allow") == ["x\x1c", 1]
    right = AddedTokens([AddedToken("<a>", 1, rstrip=True), AddedToken("<b>", 2)])
    assert split(right, "x <a>\t\u3000y", "allow") == ["x ", 1, "y"]
    assert split(right, "<a>  <b>  ", "allow") == [1, 2, "  "]


def test_a_token_in_stripped_whitespace_is_found_too() -> None:
    # As in HF 0.23.3: the whitespace counts twice, inside <a> and as the token of two spaces.
    added = AddedTokens([AddedToken("<a>", 1, rstrip=True), AddedToken("  ", 2)])
    assert split(added, "<a>  y  ", "allow") == [1, 2, "y", 2]


def test_bytes_that_are_no_utf8_stay_and_tokens_are_found_around_them() -> None:
    assert split(ADDED, b"\xff<eos>\xc3  \x80", "allow") == [b"\xff", 5, b"\xc3", 7, b"\x80"]
    assert split(ADDED, b"\xff<eos>\xc3", "text") == [b"\xff<eos>\xc3"]
    cut = AddedTokens([AddedToken("é", 1)])
    assert split(cut, "é".encode() + b"\xc3", "allow") == [1, b"\xc3"]
    seed = 3
    print("seed", seed)
    rng = random.Random(seed)
    for _ in range(300):
        data = bytes(rng.choice(b"<eos> \xc3\xa9\xff\xed\xa0\x80") for _ in range(rng.randrange(40)))
        parts = split(ADDED, data, {"<eos>"})
        contents = {5: b"<eos>", 7: b"  "}
        assert b"".join(contents[part] if isinstance(part, int) else part for part in parts) == data


def test_random_texts_split_as_in_hf() -> None:
    seed = 11
    print("seed", seed)
    rng = random.Random(seed)
    vocab = {character: i for i, character in enumerate("ab_-<> \n")}
    for round_ in range(400):
        stripping = rng.random() < 0.5
        contents = {
            "".join(rng.choice("ab-<" if stripping else "ab-< ") for _ in range(rng.randint(2, 4))) for _ in range(4)
        }
        added, theirs = [], tokenizers.Tokenizer(BPE(vocab, []))
        for i, content in enumerate(sorted(contents), len(vocab)):
            flags = {
                "single_word": rng.random() < 0.3,
                "lstrip": stripping and rng.random() < 0.3,
                "rstrip": stripping and rng.random() < 0.3,
                "normalized": rng.random() < 0.3,
                "special": rng.random() < 0.5,
            }
            theirs.add_tokens([tokenizers.AddedToken(content, **flags)])
            added.append(AddedToken(content, i, **flags))
        mine = AddedTokens(added)
        for _ in range(20):
            text = "".join(rng.choice("ab_-<> \nab-< ") for _ in range(rng.randrange(1, 30)))
            ref = theirs.encode(text).ids
            got: list[int] = []
            for part in split(mine, text, "allow"):
                got += [part] if isinstance(part, int) else [vocab[character] for character in part]
            assert got == ref, (round_, text, added)


def test_time_is_linear_in_blanks_and_in_tokens_found() -> None:
    added = AddedTokens(
        [
            AddedToken("<a>", 1, lstrip=True),
            AddedToken("<b>", 2, rstrip=True),
            AddedToken("c" * 50, 3, single_word=True),
        ]
    )
    start = time.perf_counter()
    blanks = " " * 1_000_000
    assert split(added, blanks + "x", "allow") == [blanks + "x"]
    assert split(added, "<b>" + blanks + "<a>", "allow") == [2, 1]
    assert len(split(added, "<a> <b> " * 100_000, "allow")) == 300_000
    assert split(added, "c" * 1_000_000, "allow") == ["c" * 1_000_000]
    assert time.perf_counter() - start < 10  # quadratic: minutes


# ------------------------------------------------------------------ the collection


def test_collection_is_a_sequence_with_ids() -> None:
    assert len(ADDED) == 4
    assert ADDED[0] is EOS
    assert list(ADDED)[1:3] == list(ADDED[1:3])
    assert ADDED.ids == {"<eos>": 5, "<eos>>": 6, "  ": 7, "<mask>": 8}
    assert ADDED.special_ids == {5, 6, 8}
    assert [token.id for token in ADDED.ordinary] == [7]
    assert AddedTokens(ADDED) == ADDED != AddedTokens([EOS])
    assert hash(AddedTokens(ADDED)) == hash(ADDED)
    assert "'<eos>'" in repr(ADDED)


def test_same_content_twice_names_both_ids() -> None:
    with pytest.raises(InputError, match="'<eos>': it has the ids 5 and 9"):
        AddedTokens([EOS, AddedToken("<eos>", 9)])


def test_same_id_twice_names_both_tokens() -> None:
    with pytest.raises(InputError, match="id 5: '<eos>' and '<bos>' share it"):
        AddedTokens([EOS, AddedToken("<bos>", 5)])


@pytest.mark.parametrize(
    "token",
    [
        AddedToken("", 1),
        AddedToken("a", -1),
        AddedToken("a", True),
        AddedToken("a", 1.0),  # type: ignore[arg-type]
        AddedToken(b"a", 1),  # type: ignore[arg-type]
        AddedToken("\ud800", 1),
        "<eos>",
    ],
)
def test_unusable_token_is_an_input_error(token: object) -> None:
    with pytest.raises(InputError, match="expected"):
        AddedTokens([token])  # type: ignore[list-item]


# ------------------------------------------------------------------ Text and Special


@pytest.mark.parametrize("algorithm", ["bpe", "unigram"])
def test_parts_are_encoded_as_the_text_that_they_spell(algorithm: str) -> None:
    options = {"bpe": {"vocab_size": 270}, "unigram": {"vocab_size": 16}}[algorithm]
    tok = subwords.train(["low lower a b c"] * 9, algorithm=algorithm, **options)
    tok = tok.with_tokens(["<l>"], lstrip=True).with_tokens(["<r>"], rstrip=True).with_tokens(["<n>"])
    tok = tok.with_tokens(["<b>"], lstrip=True, rstrip=True)
    rng = random.Random(1)
    for _ in range(300):
        units = rng.choices(["<l>", "<r>", "<b>", "<n>", " ", "  ", "a", "\n", " b"], k=rng.randrange(1, 7))
        parts: list[Text | Special] = []
        for unit in units:
            if unit.startswith("<"):
                parts.append(Special(unit))
            elif parts and isinstance(last := parts[-1], Text):
                parts[-1] = Text(f"{last.text!s}{unit}")
            else:
                parts.append(Text(unit))
        text = "".join(units)
        assert tok.encode(parts) == tok.encode(text, special="allow"), text
        found, expected = tok(parts, template=False), tok(text, special="allow", template=False)
        assert found.spans.tolist() == expected.spans.tolist(), text
        assert found.tokens == expected.tokens
        assert tok.encode_batch([parts, [Text("a")]]).to_lists() == [tok.encode(parts), tok.encode("a")]


def test_whitespace_is_taken_from_several_parts() -> None:
    tok = subwords.load("demo").with_tokens(["<b>"], lstrip=True, rstrip=True)
    parts = [Text("a "), Text(" \n"), Special("<b>"), Text(""), Text("\n"), Text(b" b")]
    assert tok.encode(parts) == tok.encode("a  \n<b>\n b", special="allow")
    assert tok(parts, template=False).spans.tolist() == [[0, 1], [1, 9], [9, 10]]


def test_text_reads_named_tokens_as_text() -> None:
    tok = subwords.load("demo").with_tokens(["<call>", "<word>"], special=False)
    call, word = (tok.token_to_id(each) for each in ("<call>", "<word>"))
    ids = tok.encode([Text("<call><word>", as_text={"<call>"}), Special("<call>"), Text("<call>")])
    assert [index for index in ids if index in (call, word)] == [word, call, call]
    assert tok.decode(ids) == "<call><word><call><call>"
    with pytest.raises(InputError, match="expected as_text as a set of tokens, not 'x'"):
        Text("a", as_text="x")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="expected an added token, not '<col>'; did you mean '<call>'"):
        tok.encode([Text("a", as_text={"<col>"})])


# ------------------------------------------------------------------ tokens of normalized text

PREPENDED = {"type": "Prepend", "prepend": "_"}


@pytest.mark.parametrize(
    ("normalizer", "text", "names"),
    [
        ("lowercase", "É FOO<E><e>foo", ["Foo", "<e>", "Foo"]),  # <e> is not normalized
        ("lowercase", b"\xffFOO\xc3", ["Foo"]),
        (PREPENDED, "xFoo", []),  # every part is normalized by itself
        (PREPENDED, "Foo<e>Foo x", ["Foo", "<e>", "Foo"]),
        ("strip", "a b", []),  # " " becomes nothing
    ],
)
def test_tokens_of_normalized_text_are_found_however_they_are_written(
    normalizer: Any, text: str | bytes, names: list[str]
) -> None:
    tok = subwords.train(["É foo a b x"], vocab_size=258).with_(normalizer=normalizer)
    tok = tok.with_tokens(["Foo", *([" "] if normalizer == "strip" else [])], normalized=True).with_tokens(["<e>"])
    ids = {index: name for name, index in tok.added_tokens.ids.items()}
    assert [ids[index] for index in tok.encode(text, special="allow") if index in ids] == names
    again = tok.with_tokens(["FOO"], normalized=True)  # of two that normalize alike the first is found
    assert again.encode(text, special="allow") == tok.encode(text, special="allow") or normalizer != "lowercase"


def test_a_refused_token_is_named_with_its_place_in_the_input() -> None:
    tok = subwords.train(["foo"], vocab_size=257).with_(normalizer="nfkc").with_tokens(["Foo"], normalized=True)
    with pytest.raises(InputError, match=r"special token 'Foo' at character 2"):
        tok.encode("ﬁ Foo", special="error")
