"""prune: what goes, what stays, what becomes of texts (C2)."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import subwords
from inside import ids_of_words, lowest, parts_of_tokens, removal_of, token_counts
from inside import splitter_NAMED as NAMED
from seeds import seed_of_run
from small_data import file_of
from strategies import counts_of, merge_lists, settings_of, train_model, word_counts
from subwords import FormatError, InputError, TokenizerSpec
from subwords.machine import BPE, Unigram, Vocab, WordPiece
from subwords.reference.bpe import encode_word, prune_merges
from subwords.reference.bpe import prune as reference

SEED = seed_of_run()
LETTERS = "abé文"
TEXT = "low lower lowest new newer newest slow slower slowest wide wider widest the then there"


def spec_of(model: Any) -> TokenizerSpec:
    return TokenizerSpec(model=model, splitter=NAMED["gpt2"])


def in_order(model: BPE, words: dict[bytes, int], number: int) -> list[bytes]:
    removal = removal_of(spec_of(model))
    counts = token_counts(model, counts_of(words), 1)
    return [model.vocab[i] for i in lowest(removal, counts, (), lambda _, gone: gone < number)]


def pairs_of(model: BPE) -> list[tuple[bytes, bytes]]:
    return [(model.vocab[left], model.vocab[right]) for left, right, _ in model.merges.tolist()]


def model_of(base: list[bytes], merges: list[tuple[bytes, bytes]], **options: Any) -> BPE:
    tokens = list(dict.fromkeys([*base, *(left + right for left, right in merges)]))
    ids = {token: i for i, token in enumerate(tokens)}
    rows = [(ids[left], ids[right], ids[left + right]) for left, right in merges]
    return BPE(Vocab(tokens), np.array(rows, np.int64).reshape(-1, 3), **options)


@given(word_counts(LETTERS), word_counts(LETTERS), st.booleans(), st.integers(0, 25), st.integers(1, 30))
def test_leaves_go_in_the_order_of_the_reference(
    first: dict[bytes, int], second: dict[bytes, int], byte_level: bool, size: int, number: int
) -> None:
    model = train_model("bpe", counts_of(first), settings_of("bpe", vocab_size=260 + size, byte_level=byte_level))
    expected = reference(second, [*model.vocab], pairs_of(model), number, byte_level=byte_level)
    assert in_order(model, second, number) == expected
    if byte_level:  # the same tokens as a rank file: all pairs that join are merges, of which one is used
        assert in_order(BPE.from_ranks([*model.vocab]), second, number) == expected


@given(merge_lists([b"a", b"b", b"c"]), st.lists(st.text("abc", min_size=1, max_size=8), min_size=1), st.integers(1, 9))
def test_merges_in_any_order(merges: list[tuple[bytes, bytes]], texts: list[str], number: int) -> None:
    base = [b"a", b"b", b"c"]
    model = model_of(base, merges, byte_level=False)
    words = {text.encode(): 1 + place for place, text in enumerate(dict.fromkeys(texts))}
    expected = reference(words, [*model.vocab], merges, number, byte_level=False)
    assert in_order(model, words, number) == expected
    if not 0 < len(expected) < len(model.vocab) - 3:
        return
    less = subwords.adapt.prune(subwords.Tokenizer(spec_of(model)), drop=expected).tokenizer.model
    assert isinstance(less, BPE)
    assert pairs_of(less) == prune_merges(merges, expected)
    assert [token for token in less.vocab if token] == [token for token in model.vocab if token not in expected]
    for word in words:  # C2: a word keeps its tokens if none of them is removed
        before, after = encode_word(word, merges), encode_word(word, prune_merges(merges, expected))
        assert before == after or {*before} & {*expected}


@given(merge_lists([b"a", b"b"]))
def test_the_two_parts_of_a_token_are_those_of_its_last_merge(merges: list[tuple[bytes, bytes]]) -> None:
    model = model_of([b"a", b"b"], merges, byte_level=False)
    for (left, right), token in zip(parts_of_tokens(model).tolist(), model.vocab, strict=True):
        if encode_word(token, merges) == [token] and len(token) > 1:
            own = [pair for pair in merges if b"".join(pair) != token]
            assert [model.vocab[left], model.vocab[right]] == encode_word(token, own)
        else:
            assert (left, right) == (-1, -1)


def check(found: subwords.adapt.Adapted, texts: list[str]) -> None:
    """What C2 says of any result: tokens keep their bytes, texts their ids and their text, all tokens are reached."""
    old, new, gone = found.old, found.tokenizer, {*found.removed}
    moved = found.moved
    for index in filter(old.model.vocab.__getitem__, range(old.vocab_size)):
        place = moved.get(index, index)
        if index not in gone:
            assert new.model.vocab[place] == old.model.vocab[index]
        elif place < new.vocab_size and not moved:
            assert new.model.vocab[place] == b""
    kept = 0
    for before, after in zip(old.encode_batch(texts).to_lists(), new.encode_batch(texts).to_lists(), strict=True):
        if not gone.intersection(before):
            kept += 1
            assert after == [moved.get(index, index) for index in before]
        assert new.decode(after) == old.decode(before)
    assert 0 < kept < len(texts)
    before_ids = {*subwords.adapt.Adapted(old, old).unreachable}
    assert {*found.unreachable} <= {moved.get(index, index) for index in before_ids}
    if isinstance(new.model, BPE) and not new.model.marked:
        words = ids_of_words(new.model, [old.model.vocab[index] for index in found.removed]).to_lists()
        assert [list(found.becomes[index]) for index in found.removed] == words


def texts_of(rng: random.Random, count: int = 300) -> list[str]:
    words = [*TEXT.split(), "x", "Newton", "naïve", "слово", "light"]
    return [" ".join(rng.choices(words, k=rng.randrange(1, 4))) for _ in range(count)]


SIZES = {"bpe": (300, 20), "wordpiece": (90, 20), "unigram": (80, 45)}


@pytest.mark.parametrize("compact", [False, True])
@pytest.mark.parametrize("algorithm", ["bpe", "wordpiece", "unigram"])
def test_by_counts(algorithm: Any, compact: bool) -> None:
    size, number = SIZES[algorithm]
    tok = subwords.train([TEXT] * 9 + ["x Newton naïve слово light"], algorithm=algorithm, vocab_size=size)
    least = [TEXT.replace("new", "wide")]
    left = sum(1 for token in tok.model.vocab if token) - number
    found = subwords.adapt.prune(tok, source=least, vocab_size=left, compact=compact)
    assert len(found.removed) == number
    assert sum(1 for token in found.tokenizer.model.vocab if token) == left
    assert not compact or found.tokenizer.vocab_size == left
    check(found, texts_of(random.Random(SEED)))
    rules: Any = {"splitter": tok.splitter, "normalizer": tok.normalizer, "special_tokens": [*tok.special_tokens]}
    again = subwords.adapt.prune(tok, source=subwords.count(least, **rules), vocab_size=left, compact=compact)
    assert again.tokenizer == found.tokenizer


def test_by_the_least_count() -> None:
    tok = subwords.train([TEXT] * 9, vocab_size=290)
    found = subwords.adapt.prune(tok, source=["low lower slow"] * 5, min_count=3)
    used = {*tok.encode("low lower slow")}
    assert found.removed
    assert not used & {*found.removed}
    assert tok.token_to_id("Ġnewest") in found.removed
    kept = subwords.adapt.prune(tok, source=["low lower slow"], min_count=2, keep=["Ġnewest"])
    assert kept.tokenizer.encode(" newest") == [tok.token_to_id("Ġnewest")]


def test_keep_and_drop() -> None:
    tok = subwords.train(["low lower lowest"] * 9, vocab_size=263)
    assert [*tok.model.vocab][256:] == [b"lo", b"low", b" low", b" lowe", b"st", b" lower", b" lowest"]
    dropped = subwords.adapt.prune(tok, drop=[" lowest", b"st"])
    assert (dropped.removed, dropped.becomes) == ((260, 262), {260: (82, 83), 262: (259, 82, 83)})
    assert dropped.tokenizer.tokenize("low lowest") == ["low", " lowe", "s", "t"]
    assert dropped.tokenizer.vocab_size == 262  # the last id with a token, and one
    kept = subwords.adapt.prune(tok, keep=["low"])
    assert [*kept.tokenizer.model.vocab][256:] == [b"lo", b"low"]
    compact = subwords.adapt.prune(tok, keep=[" lower", 260], compact=True)
    assert [*compact.tokenizer.model.vocab][256:] == [b"lo", b"low", b" low", b" lowe", b"st", b" lower"]
    by_name = [subwords.adapt.prune(tok, drop=[token]) for token in (262, b" lowest", " lowest", "Ġlowest")]
    assert len({found.tokenizer for found in by_name}) == 1


def test_by_script() -> None:
    tok = subwords.train(["слово и дело, word and deed; слово1 λόγος"] * 9, vocab_size=320)
    found = subwords.adapt.prune(tok, scripts=["Cyrl"])
    left = [token.decode("utf-8", "ignore") for token in found.tokenizer.model.vocab if len(token) > 2]
    gone = [tok.model.vocab[index].decode("utf-8", "ignore") for index in found.removed]
    assert any("слово" in token for token in gone)
    assert any("word" in token for token in left)
    assert not any(token.strip() and all("а" <= char <= "я" for char in token.strip()) for token in left)
    check(found, ["word and deed", "слово и дело", "word слово"])
    with pytest.raises(InputError, match="expected scripts of Unicode"):
        subwords.adapt.prune(tok, scripts=["Klingon"])
    with pytest.raises(InputError, match="expected scripts to name a script"):
        subwords.adapt.prune(tok, scripts=[])
    with pytest.raises(InputError, match="no token has letters of Thai only"):
        subwords.adapt.prune(tok, scripts=["Thai"])


def test_clear_errors() -> None:
    tok = subwords.train(["low lower lowest"] * 9, vocab_size=263, special_tokens=["<s>"]).with_(template="<s> $A")
    none = subwords.count(["low"], special_tokens=["<s>"]).at_least(2)
    for options, message in (
        ({"drop": ["a"]}, "cannot prune 'a' .*: it is a byte"),
        ({"drop": ["<s>"]}, "it is a token of the template"),
        ({"drop": ["low"]}, "' low' .* is made of it; prune that too"),
        ({"drop": ["zzz"]}, "drop: 'zzz' is not in the vocabulary"),
        ({"drop": [999]}, "no token has the id 999"),
        ({"drop": []}, "it is empty"),
        ({"drop": "low"}, "to be a list of tokens or ids"),
        ({"drop": [True]}, "tokens .* or ids"),
        ({"keep": ["<s>"]}, "these options would remove every learned token"),
        ({}, "expected one of keep, drop, scripts and source"),
        ({"drop": ["low"], "keep": ["low"]}, "not keep and drop"),
        ({"source": ["low"]}, "needs one of vocab_size and min_count"),
        ({"source": ["low"], "vocab_size": 260, "min_count": 2}, "vocab_size and min_count; not both"),
        ({"drop": ["low"], "vocab_size": 260}, "vocab_size needs source"),
        ({"source": ["low"], "vocab_size": 200}, "cannot prune to 200 tokens: 257 tokens cannot be removed"),
        ({"source": ["low"], "vocab_size": 300}, "at most 263"),
        ({"source": none, "vocab_size": 260}, "no words in these counts"),
        ({"source": subwords.count(["low"], splitter="bert"), "min_count": 2}, "expected counts made with splitter"),
        ({"drop": [" lowest"], "allow_unknown": True}, "not an option for BPE"),
    ):
        with pytest.raises(InputError, match=message):
            subwords.adapt.prune(tok, **options)  # type: ignore[arg-type]
    words = subwords.train(["a b"], algorithm="wordlevel", vocab_size=3)
    with pytest.raises(InputError, match="prune needs a BPE, WordPiece or Unigram model; this is WordLevel"):
        subwords.adapt.prune(words, drop=["a"])


def test_characters_stay_known() -> None:
    tok = subwords.train([TEXT] * 9, algorithm="unigram", vocab_size=40)
    char = next(t for t in tok.model.vocab if len(t) == 1)
    with pytest.raises(InputError, match=f"without which the character '{char.decode()}' would be unknown"):
        subwords.adapt.prune(tok, drop=[char])
    found = subwords.adapt.prune(tok, drop=[char], allow_unknown=True)
    assert found.tokenizer.model.unk_id in found.tokenizer.encode(char.decode())
    tok = subwords.train([TEXT] * 9, algorithm="wordpiece", vocab_size=60)
    with pytest.raises(InputError, match="the piece of a character, without which words would be unknown"):
        subwords.adapt.prune(tok, drop=["##e"])
    lost = subwords.adapt.prune(tok, drop=["##e"], allow_unknown=True)
    assert lost.removed == (tok.token_to_id("##e"),)


def test_pieces_that_characters_need() -> None:

    pieces = [b"[UNK]", b"a", b"##a", b"##b", b"ab", b"##ac", b"aa"]
    tok = subwords.Tokenizer(TokenizerSpec(model=WordPiece(Vocab(pieces), 0)))
    with pytest.raises(InputError, match=r"words with '##ac' unknown, for lack of the piece '##c'"):
        subwords.adapt.prune(tok, drop=["aa"])
    tok = subwords.Tokenizer(TokenizerSpec(model=WordPiece(Vocab([b"[UNK]", b"a", b"##a", b"ac", b"aa", b"aaa"]), 0)))
    with pytest.raises(InputError, match=r"'ac' .* needed, for lack of the piece '##c'"):
        subwords.adapt.prune(tok, drop=["ac"])
    assert subwords.adapt.prune(tok, drop=["aa"]).becomes == {4: (1, 2)}


def test_ids_without_a_token_in_files(tmp_path: Path) -> None:
    tok = subwords.train([TEXT] * 9, vocab_size=280, splitter="gpt2")
    leaf = next(index for index in range(256, 280) if not (tok.model.merges[:, :2] == index).any())
    bpe = subwords.adapt.prune(tok, drop=[leaf]).tokenizer
    assert bpe.vocab_size == 280
    for name in ("tokenizer.json", "x.tiktoken", "vocab.json"):
        bpe.save(tmp_path / name)
        options: Any = {} if name == "tokenizer.json" else {"splitter": "gpt2", "special_ids": {}}
        assert subwords.load(tmp_path / name, **options).encode(TEXT) == bpe.encode(TEXT)
    tok = subwords.train([TEXT] * 9, algorithm="unigram", vocab_size=60)
    going = [t for t in [*tok.model.vocab][3:50] if len(t) > 4][:3]
    with pytest.raises(FormatError, match=r"a \.model file holds no ids without a token"):
        subwords.adapt.prune(tok, drop=going).tokenizer.save(tmp_path / "x.model")
    compacted = subwords.adapt.prune(tok, drop=going, compact=True).tokenizer
    compacted.save(tmp_path / "x.model")
    assert subwords.load(tmp_path / "x.model").encode(TEXT) == compacted.encode(TEXT)


REAL = (
    *(("gpt2/tokenizer.json", False), ("gpt2/tokenizer.json", True), ("clip/tokenizer.json", True)),
    *(("bert/bert-base-uncased-tokenizer.json", False), ("t5/tokenizer.json", False), ("phi-3/tokenizer.json", True)),
    ("converted/cl100k_base.tokenizer.json", False),
)


@pytest.mark.rotating(3, always=("gpt2",))
@pytest.mark.parametrize(("name", "compact"), REAL)
def test_real_files_in_hf(data: Path, tmp_path: Path, name: str, compact: bool) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    tok = subwords.load(file_of(data, name))
    number = sum(1 for token in tok.model.vocab if token)
    found = subwords.adapt.prune(tok, source=[TEXT, "def f(x): return x"], vocab_size=number - 100, compact=compact)
    check(found, [*texts_of(random.Random(SEED), 60), *(tok.decode([index]) for index in found.removed[:60])])
    found.tokenizer.save(tmp_path / "tokenizer.json")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    for text in (TEXT, "naïve x", *texts_of(random.Random(SEED), 30), *(tok.decode([i]) for i in found.removed[:30])):
        assert found.tokenizer.encode(text) == theirs.encode(text, add_special_tokens=False).ids


def test_template_and_roles_follow_their_tokens() -> None:
    tok = subwords.train(["low lower lowest"] * 9, vocab_size=263).with_tokens(["<s>", "<pad>"])
    filler = subwords.Padding(pad_id=264, pad_token="<pad>")
    tok = tok.with_(template="<s> $A <s>", padding=filler, roles={"bos": "<s>"})
    found = subwords.adapt.prune(tok, drop=[" lowest"], compact=True).tokenizer
    assert found("low", padding=6).ids.tolist() == [
        *(found.token_to_id(t) for t in ("<s>", "low", "<s>")),
        *[found.token_to_id("<pad>")] * 3,
    ]
    assert found.roles["bos"] == found.special_tokens["<s>"] == 262


PIECES = st.text("abc", min_size=1, max_size=4)


@given(
    st.lists(st.tuples(st.booleans(), PIECES), min_size=3, max_size=14, unique=True),
    st.lists(st.text("abc", min_size=1, max_size=9), min_size=5, max_size=15),
    st.integers(1, 8),
    st.booleans(),
)
def test_no_word_becomes_unknown(
    pieces: list[tuple[bool, str]], words: list[str], number: int, with_characters: bool
) -> None:
    own = [(inside, char) for inside in (False, True) for char in "abc"] if with_characters else []
    vocab = ["[UNK]", *dict.fromkeys(("##" if inside else "") + text for inside, text in [*own, *pieces])]
    tok = subwords.Tokenizer(TokenizerSpec(model=WordPiece(Vocab([piece.encode() for piece in vocab]), 0)))
    counts = subwords.count([*words], splitter=tok.splitter)
    try:
        size = max(1, len(vocab) - number)
        found = subwords.adapt.prune(tok, source=counts, vocab_size=size)
    except InputError as error:
        assert any(
            text in str(error)
            for text in ("cannot prune to", "everything would", "could make words", "every learned token")
        )
        return
    for word in words:
        before, after = (one.encode(word) for one in (tok, found.tokenizer))
        assert (before == [0]) == (after == [0])
        if not {*before} & {*found.removed}:
            assert before == after


@given(
    st.lists(PIECES, min_size=3, max_size=14, unique=True),
    st.lists(st.text("abc", min_size=1, max_size=9), min_size=5, max_size=15),
    st.integers(1, 8),
)
def test_no_character_becomes_unknown(pieces: list[str], words: list[str], number: int) -> None:
    scores = np.array([0.0, *(-1.0 - (7 * i % 11) for i in range(len(pieces)))])
    model = Unigram(Vocab([b"<unk>", *map(str.encode, pieces)]), scores, 0, special_ids=frozenset([0]))
    tok = subwords.Tokenizer(TokenizerSpec(model=model))
    size = max(1, 1 + len(pieces) - number)
    try:
        found = subwords.adapt.prune(tok, source=subwords.count([*words], splitter=tok.splitter), vocab_size=size)
    except InputError as error:
        assert any(text in str(error) for text in ("cannot prune to", "these options would remove"))
        return
    for word in words:
        before, after = (one.encode(word) for one in (tok, found.tokenizer))
        if 0 not in before:
            assert 0 not in after
            if not {*before} & {*found.removed}:
                assert before == after


@pytest.mark.parametrize("name", ["gpt2/tokenizer.json", "t5/tokenizer.json", "bert/bert-base-uncased-tokenizer.json"])
def test_audit_finds_nothing_new_but_ids_without_a_token(small_data: Path, name: str) -> None:
    tok = subwords.load(file_of(small_data, name))
    accepted = [finding.fingerprint for finding in subwords.study.audit(tok).findings]
    number = sum(1 for token in tok.model.vocab if token)
    for compact in (False, True):
        less = subwords.adapt.prune(tok, source=[TEXT], vocab_size=number - 20, compact=compact).tokenizer
        rules = {finding.rule for finding in subwords.study.audit(less, baseline=accepted).findings}
        assert rules <= (set() if compact else {"hole"})
