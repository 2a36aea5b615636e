"""The reference of BPE, by its examples and by hand."""

from __future__ import annotations

import doctest
import json
import random
from typing import Any

import pytest
import regex

from subwords.reference import bpe
from subwords.reference.bpe import (
    GPT2_PATTERN,
    apply_merge,
    byte_to_char,
    count_pairs,
    count_words,
    decode,
    encode,
    encode_word,
    encode_word_ranks,
    split,
    split_bytes,
    train,
)

CHARS = byte_to_char()
TEXT = "The tokenizer takes the tokens it was taught: token by token, the tokenization of the text is theirs.\n" * 2


def shown(token: bytes) -> str:
    return "".join(CHARS[byte] for byte in token)


def trained() -> tuple[list[bytes], list[tuple[bytes, bytes]]]:
    return train(count_words([TEXT], GPT2_PATTERN), 300)


def test_doctests_run() -> None:
    got = doctest.testmod(bpe)
    assert got.attempted >= 20
    assert got.failed == 0


# Splitting and counting


@pytest.mark.parametrize(
    "char_class", [r"\p{L}", r"\p{N}", r"\p{M}", r"\p{P}", r"\p{S}", r"\p{Z}", r"\s", r"\w", r"\d"]
)
def test_invalid_byte_belongs_to_no_class(char_class: str) -> None:
    invalid = "".join(chr(0xDC00 + byte) for byte in range(128, 256))
    for flags in ("", "(?i)"):
        assert regex.search(flags + char_class, invalid) is None
        assert regex.fullmatch(f"{flags}[^{char_class}]+", invalid)


def test_split_bytes_keeps_invalid_bytes_apart() -> None:
    assert split_bytes(b"a\xe2\x82 \xff1\xc3\xa9", GPT2_PATTERN) == [b"a", b"\xe2\x82", b" \xff", b"1", b"\xc3\xa9"]
    assert split_bytes(b"\xe2\x82\xac\xe2\x82", ".") == [b"\xe2\x82\xac", b"\xe2", b"\x82"]


def test_split_bytes_joins_to_any_bytes() -> None:
    seed = 5
    print(f"seed {seed}")
    rng = random.Random(seed)
    for _ in range(300):
        data = bytes(rng.choices([0x20, 0x41, 0xC3, 0xA9, 0xE2, 0x82, 0xAC, 0xED, 0xA0, 0xF0, 0x9F, 0xFF], k=12))
        assert b"".join(split_bytes(data, GPT2_PATTERN)) == data


def test_split_keeps_gaps() -> None:
    assert split("--ab--c-", "[a-z]+") == ["--", "ab", "--", "c", "-"]
    assert split("abc", "x") == ["abc"]
    assert split("", GPT2_PATTERN) == []


def test_split_cuts_at_an_empty_match() -> None:
    assert split("aBcD", "(?=[A-Z])") == ["a", "Bc", "D"]


def test_count_words_takes_the_longest_special() -> None:
    assert count_words(["a<s><s>>b"], r"\S", ["<s>", "<s>>"]) == {b"a": 1, b"b": 1}
    assert count_words(["a<s>"], r"\S+") == {b"a<s>": 1}


def test_count_words_cut_by_a_special_does_not_join_its_neighbours() -> None:
    assert count_words(["ab<s>cd"], GPT2_PATTERN, ["<s>"]) == {b"ab": 1, b"cd": 1}


def test_count_words_refuses_an_empty_special() -> None:
    with pytest.raises(ValueError, match="special_tokens: expected non-empty"):
        count_words(["ab"], GPT2_PATTERN, ["<s>", ""])


def test_count_words_refuses_a_lone_surrogate_in_text() -> None:
    with pytest.raises(UnicodeEncodeError):
        count_words(["a\udcff"], GPT2_PATTERN)


# B1: counts and merges


@pytest.mark.parametrize(
    ("word", "pairs", "merged"),
    [
        (b"aaa", {(b"a", b"a"): 2}, [b"aa", b"a"]),
        (b"aaaa", {(b"a", b"a"): 3}, [b"aa", b"aa"]),
        (b"abab", {(b"a", b"b"): 2, (b"b", b"a"): 1}, [b"ab", b"ab"]),
    ],
)
def test_b1_overlaps(word: bytes, pairs: dict[tuple[bytes, bytes], int], merged: list[bytes]) -> None:
    symbols = [bytes([byte]) for byte in word]
    assert count_pairs([(symbols, 7)]) == {pair: 7 * n for pair, n in pairs.items()}
    vocab, merges = train({word: 1}, 257)
    assert apply_merge(symbols, merges[0]) == merged
    assert encode_word(word, merges) == merged
    assert vocab[256] == merged[0]


def test_b1_window_counts_decide() -> None:
    _, merges = train({b"aaa": 2, b"bc": 3}, 257)
    assert merges == [(b"a", b"a")]


# B2: ties


def test_b2_each_rule_picks_its_own_pair() -> None:
    # Byte 0 comes after the letters in the GPT-2 map.
    counts = {b"mn": 1, b"\x00\x01": 1, b"bc": 1}
    firsts = {rule: train(counts, 257, tie_break=rule)[1][0] for rule in ("ids", "first", "bytes")}
    assert firsts == {"ids": (b"b", b"c"), "first": (b"m", b"n"), "bytes": (b"\x00", b"\x01")}


def test_b2_ids_compares_a_merged_token_by_its_id() -> None:
    counts = {b"ab": 5, b"abz": 2, b"wx": 2}
    assert train(counts, 258, tie_break="ids")[1] == [(b"a", b"b"), (b"w", b"x")]
    assert train(counts, 258, tie_break="bytes")[1] == [(b"a", b"b"), (b"ab", b"z")]


def test_b2_first_looks_at_the_current_segmentation() -> None:
    # (b, c) is met before (c, d); once (a, b) is merged, "bc" is met only in the last word.
    counts = {b"abc": 2, b"cd": 2, b"ab": 5, b"bc": 2}
    assert train(counts, 258, tie_break="first")[1] == [(b"a", b"b"), (b"ab", b"c")]
    assert train(counts, 259, tie_break="first", max_token_length=2)[1] == [(b"a", b"b"), (b"c", b"d"), (b"b", b"c")]


def test_b2_unknown_rule_is_refused() -> None:
    with pytest.raises(ValueError, match=r"tie_break: expected .* got 'last'"):
        train({b"ab": 1}, 300, tie_break="last")  # type: ignore[arg-type]


# B3 and B4: ids and stopping


def test_b3_ids_are_specials_alphabet_merges() -> None:
    vocab, _ = train({"né né".encode(): 3}, 9, byte_level=False, special_tokens=["<s>", "</s>"])
    assert [token.decode() for token in vocab] == ["<s>", "</s>", " ", "n", "é", "né", " né", "né né"]
    vocab, _ = train({b"\x00 ~\xff": 1}, 4, alphabet="corpus")
    assert vocab == [b"~", b"\xff", b"\x00", b" "]


def test_b3_symbol_that_is_a_special_keeps_its_id() -> None:
    vocab, merges = train({b"ab": 2}, 3, alphabet="corpus", special_tokens=["b", "b"])
    assert vocab == [b"b", b"a", b"ab"]
    assert merges == [(b"a", b"b")]


def test_b3_unknown_alphabet_is_refused() -> None:
    with pytest.raises(ValueError, match=r"alphabet: expected .* got 'all'"):
        train({b"ab": 1}, 300, alphabet="all")  # type: ignore[arg-type]


def test_b4_stops_when_nothing_is_left() -> None:
    vocab, merges = train({b"abc": 1, b"z": 9}, 1000)
    assert merges == [(b"a", b"b"), (b"ab", b"c")]
    assert len(vocab) == 258
    assert train({}, 1000)[1] == []


@pytest.mark.parametrize(("min_frequency", "ref"), [(0, 3), (1, 3), (2, 2), (5, 1), (6, 0)])
def test_b4_min_frequency_is_inclusive(min_frequency: int, ref: int) -> None:
    _, merges = train({b"ab": 5, b"cd": 2, b"ef": 1}, 1000, min_frequency=min_frequency)
    assert len(merges) == ref


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 8])
def test_b4_max_token_length_is_exact_in_bytes(limit: int) -> None:
    vocab, _ = train({"éabcdefghij".encode(): 1}, 1000, tie_break="first", max_token_length=limit)
    assert max(map(len, vocab)) == limit


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_b4_max_token_length_is_exact_in_characters(limit: int) -> None:
    vocab, _ = train({"日本語日本語".encode(): 1, b"abcd": 1}, 1000, byte_level=False, max_token_length=limit)
    assert max(len(token.decode()) for token in vocab) == limit
    assert max(map(len, vocab)) == 3 * limit


def test_b4_too_long_pair_gives_way_to_the_next() -> None:
    _, merges = train({b"abc": 9, b"de": 1}, 1000, max_token_length=2)
    assert merges == [(b"a", b"b"), (b"d", b"e")]


# B5 and B6: reused ids, the alphabet


def test_b5_merge_that_spells_a_special_reuses_its_id() -> None:
    vocab, merges = train({b"abc": 2}, 6, alphabet="corpus", special_tokens=["<s>", "ab"])
    assert vocab == [b"<s>", b"ab", b"a", b"b", b"c", b"abc"]
    assert merges == [(b"a", b"b"), (b"ab", b"c")]
    assert encode("ab abc", [*vocab, b" "], merges, pattern=r"\w+|\s") == [1, 6, 5]


def test_b6_alphabet_beyond_vocab_size_says_both_numbers() -> None:
    with pytest.raises(ValueError, match=r"are 257 tokens, more than vocab_size=256"):
        train({b"ab": 1}, 256, special_tokens=["<s>"])
    with pytest.raises(ValueError, match=r"are 3 tokens, more than vocab_size=2"):
        train({b"abc": 1}, 2, byte_level=False)
    assert train({b"abc": 1}, 3, byte_level=False) == ([b"a", b"b", b"c"], [])


@pytest.mark.parametrize("byte_level", [True, False])
def test_b6_limited_alphabet_breaks_the_word(byte_level: bool) -> None:
    counts = {b"aXb": 3, b"ba": 2}
    got = train(counts, 10, byte_level=byte_level, alphabet="corpus", limit_alphabet=2)
    assert got == ([b"a", b"b", b"ba"], [(b"b", b"a")])


def test_b6_limited_alphabet_weighs_counts_and_breaks_ties_by_order() -> None:
    def alphabet(word_counts: dict[bytes, int], limit: int, **options: Any) -> list[bytes]:
        return train(word_counts, limit, limit_alphabet=limit, **options)[0]

    assert alphabet({b"aaab": 1, b"b": 4}, 1, byte_level=False) == [b"b"]
    assert alphabet({b"dcba": 1}, 2, byte_level=False) == [b"a", b"b"]
    assert alphabet({b"\x00 z": 1}, 2, alphabet="corpus") == [b"z", b"\x00"]
    assert alphabet({b"\x00 ": 2}, 3) == [b"!", b"\x00", b" "]


# Parity


def hugging_face(text: str, byte_level: bool, **options: Any) -> tuple[list[str], list[list[str]]]:
    tokenizers = pytest.importorskip("tokenizers")
    peer = tokenizers.Tokenizer(tokenizers.models.BPE())
    if byte_level:
        peer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
        options["initial_alphabet"] = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    else:
        peer.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    peer.train_from_iterator([text], tokenizers.trainers.BpeTrainer(show_progress=False, **options))
    ids: dict[str, int] = peer.get_vocab()
    return sorted(ids, key=ids.__getitem__), json.loads(peer.to_str())["model"]["merges"]


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("byte_level", [True, False])
def test_b7_ids_rule_equals_hugging_face(seed: int, byte_level: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    print(f"seed {seed}")
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")
    rng = random.Random(seed)
    letters = "abcdé日"[: rng.randint(1, 6)]
    lexicon = ["".join(rng.choices(letters, k=rng.randint(1, 12))) for _ in range(12)]
    text = " ".join(rng.choices(lexicon, k=60))
    options = {
        "vocab_size": rng.choice([20, 40, 200]) + 256 * byte_level,
        "min_frequency": rng.choice([0, 2, 5]),
        "special_tokens": rng.choice([[], ["<s>"], ["<s>", "ab", "ba"]]),
    }
    ref_vocab, ref_merges = hugging_face(text, byte_level, **options)
    counts = count_words([text], GPT2_PATTERN) if byte_level else count_words(text.split(), r"\S+")
    vocab, merges = train(counts, byte_level=byte_level, **options)
    show = shown if byte_level else bytes.decode
    assert [show(token) for token in vocab] == ref_vocab
    assert [[show(left), show(right)] for left, right in merges] == ref_merges


# E1, E2, E4: encoding


def test_e1_lowest_rank_then_leftmost() -> None:
    assert encode_word(b"abc", [(b"b", b"c"), (b"a", b"b")]) == [b"a", b"bc"]
    assert encode_word(b"aaa", [(b"a", b"a")]) == [b"aa", b"a"]
    # One at a time: (ab, a) outranks the second (a, b), so the first ab takes the a of the second.
    assert encode_word(b"abab", [(b"ab", b"a"), (b"a", b"b")]) == [b"aba", b"b"]


def test_e1_token_no_merge_reaches_is_never_produced() -> None:
    assert encode_word(b"abc", [(b"a", b"b")], vocab=[b"a", b"b", b"c", b"ab", b"abc"]) == [b"ab", b"c"]


def test_e1_merges_as_ranks_give_the_same() -> None:
    merges = [(b"b", b"c"), (b"a", b"b")]
    ref = encode_word(b"abcab", merges)
    assert encode_word(b"abcab", {pair: 10 * rank for rank, pair in enumerate(merges)}) == ref == [b"a", b"bc", b"ab"]


def test_e1_segments_the_training_words_as_training_did() -> None:
    _, merges = trained()
    for word in count_words([TEXT], GPT2_PATTERN):
        ref = [bytes([byte]) for byte in word]
        for pair in merges:
            ref = apply_merge(ref, pair)
        assert encode_word(word, merges) == ref


def test_e2_equals_tiktoken() -> None:
    tiktoken = pytest.importorskip("tiktoken")
    seed = 11
    print(f"seed {seed}")
    rng = random.Random(seed)
    vocab, _ = trained()
    # Two tokens no merge reaches: only a word that is one of them yields it.
    ranks = {token: id_ for id_, token in enumerate([*vocab, b"unhappy", b" zq\xff"])}
    peer = tiktoken.Encoding("small", pat_str=GPT2_PATTERN, mergeable_ranks=ranks, special_tokens={})
    words = [" tokenizer", "unhappy", " unhappy", " the", "is", "é", " tokens", "tokenization", "!"]
    text = "".join(rng.choices(words, k=200))
    got = [id_ for word in split(text, GPT2_PATTERN) for id_ in encode_word_ranks(word.encode(), ranks)]
    assert got == peer.encode_ordinary(text)
    assert ranks[b"unhappy"] in encode_word_ranks(b"unhappy", ranks)
    assert encode_word_ranks(b" zq\xff", ranks) == [len(vocab) + 1]


def test_e2_byte_without_rank_is_refused() -> None:
    with pytest.raises(ValueError, match=r"b'c' of word b'abc' has no rank"):
        encode_word_ranks(b"abc", {b"a": 0, b"b": 1, b"ab": 2})


def test_e4_unknown_symbol_is_unk_or_an_error() -> None:
    vocab, merges = [b"[UNK]", b"a", b"b", b"ab"], [(b"a", b"b")]
    assert encode("xabéy", vocab, merges, byte_level=False, unk="[UNK]") == [0, 3, 0, 0]
    assert encode("é", vocab, merges, unk="[UNK]") == [0, 0]
    with pytest.raises(ValueError, match=r"b'x' of word b'xa' is not in the vocabulary"):
        encode("xa", vocab, merges)
    with pytest.raises(ValueError, match=r"there is no unk token \(unk='<unk>'\)"):
        encode("xa", vocab, merges, unk="<unk>")


def test_e6_invalid_bytes_round_trip() -> None:
    vocab, merges = trained()
    data = b"The \xff\xfe token \xed\xa0\x80\xe2\x82 \x00." + "日本 é".encode()
    assert decode(encode(data, vocab, merges), vocab) == data


def test_a3_specials_are_parsed_only_when_named() -> None:
    vocab, merges = train({b"ab": 3}, 258, special_tokens=["<s>"])
    text = "ab<s>ab"
    assert encode(text, vocab, merges, special_tokens=["<s>"]) == [257, 0, 257]
    got = encode(text, vocab, merges)
    assert 0 not in got
    assert decode(got, vocab).decode() == text
