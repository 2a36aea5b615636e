"""Every option of the public functions with values of wrong types: taken, or refused by a SubwordsError."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import subwords
from subwords import SubwordsError

TOK = subwords.train(["low lower lowest"] * 9, vocab_size=263)
UNIGRAM = subwords.train(["low lower lowest"] * 9, vocab_size=14, algorithm="unigram")
VALUES: list[Any] = [3, None, b"x", 1.5, [1], {}, object(), "x", True, ("a",), {3}]
CALLS: dict[str, Callable[[Any], object]] = {
    "count run": lambda v: subwords.count("c.txt", run=v, progress=False),
    "count reading": lambda v: subwords.count("c.txt", reading=v, progress=False),
    "enc_files format": lambda v: TOK.encode_files("c.txt", "o.npy", format=v, progress=False),
    "enc_files special": lambda v: TOK.encode_files("c.txt", "o.npy", special=v, progress=False),
    "enc_files bos": lambda v: TOK.encode_files("c.txt", "o.npy", bos=v, progress=False),
    "enc_files run": lambda v: TOK.encode_files("c.txt", "o.npy", run=v, progress=False),
    "sweep sizes": lambda v: subwords.study.sweep(["a b"], vocab_sizes=v, progress=False),
    "sweep on": lambda v: subwords.study.sweep(["a b"], vocab_sizes=[258], held_out=v, progress=False),
    "sweep width": lambda v: subwords.study.sweep(["a b"], vocab_sizes=[258], width=v, progress=False),
    "evaluate by": lambda v: subwords.study.evaluate(TOK, ["a b"], by=v, progress=False),
    "evaluate reference": lambda v: subwords.study.evaluate(TOK, ["a b"], reference=v, progress=False),
    "evaluate parallel": lambda v: subwords.study.evaluate(TOK, ["a b"], parallel=v, progress=False),
    "compare words": lambda v: subwords.study.compare([TOK, TOK], ["a b"], limit=v, progress=False),
    "compare names": lambda v: subwords.study.compare([TOK, TOK], ["a b"], names=v, progress=False),
    "audit rules": lambda v: subwords.study.audit(TOK, rules=v),
    "audit baseline": lambda v: subwords.study.audit(TOK, baseline=v),
    "explain text": lambda v: subwords.study.explain(TOK, v),
    "explain special": lambda v: subwords.study.explain(TOK, "low", special=v),
    "explain counts": lambda v: subwords.study.explain(TOK, "low", counts=v),
    "why text": lambda v: subwords.study.why_not(TOK, v),
    "why special": lambda v: subwords.study.why_not(TOK, "low", special=v),
    "boundary_difference": lambda v: subwords.study.boundary_difference(TOK, v, "a"),
    "enc seed": lambda v: subwords.sampling.encode_with(TOK, "low", method="uniform", seed=v),
    "enc method": lambda v: subwords.sampling.encode_with(TOK, "low", method=v),
    "enc text": lambda v: subwords.sampling.encode_with(TOK, v, method="fewest"),
    "seg word": lambda v: subwords.sampling.segmentations(TOK, v),
    "seg most": lambda v: subwords.sampling.segmentations(TOK, "low", limit=v),
    "dist": lambda v: subwords.sampling.distribution(TOK, v, method="uniform"),
    "extend add": lambda v: subwords.adapt.extend(TOK, ["a b"], count=v, progress=False),
    "extend splitter": lambda v: subwords.adapt.extend(TOK, ["a b"] * 3, count=1, splitter=v, progress=False),
    "extend mem": lambda v: subwords.adapt.extend(TOK, ["aa ba"] * 3, count=1, memory=v, progress=False),
    "prune drop": lambda v: subwords.adapt.prune(TOK, drop=v),
    "prune keep": lambda v: subwords.adapt.prune(TOK, keep=v),
    "prune scripts": lambda v: subwords.adapt.prune(TOK, scripts=v),
    "prune counts": lambda v: subwords.adapt.prune(TOK, source=v, vocab_size=260),
    "prune vs": lambda v: subwords.adapt.prune(TOK, source=["low"], vocab_size=v),
    "prune min": lambda v: subwords.adapt.prune(TOK, source=["low"], min_count=v),
    "replace number": lambda v: subwords.adapt.replace(TOK, ["new newer"], count=v, progress=False),
    "threads": lambda v: subwords.adapt.merge(TOK, TOK, threads=v),
    "vt tie": lambda v: subwords.study.verify_training(TOK, ["low"], tie_break=v),
    "vt lim": lambda v: subwords.study.verify_training(TOK, ["low"], limit=v),
    "verify splitter": lambda v: subwords.files.verify("none", splitter=v),
    "load st": lambda v: subwords.load("c.txt", special_ids=v),
    "load sp": lambda v: subwords.load("c.txt", splitter=v),
    "load rev": lambda v: subwords.load("c.txt", revision=v),
    "load dl": lambda v: subwords.load("c.txt", download=v),
    "explain_training vocab_size": lambda v: subwords.study.explain_training(["low low"], vocab_size=v),
    "segmented": lambda v: subwords.count(["a"]).segmented(v),
    "mix": lambda v: subwords.WordCounts.mixed(v),
    "mixw": lambda v: subwords.WordCounts.mixed({"a": subwords.count(["a"])}, weights=v),
    "idmap compose": lambda v: subwords.adapt.id_map(TOK, TOK).compose(v),
    "idmap[]": lambda v: subwords.adapt.id_map(TOK, TOK)[v],
    "token_bytes": TOK.token_bytes,
    "id_to_token": TOK.id_to_token,
    "token_to_id": TOK.token_to_id,
    "nbest": lambda v: UNIGRAM.nbest(v),
    "nbest n": lambda v: UNIGRAM.nbest("low", v),
    "sample": lambda v: UNIGRAM.sample(v),
    "alpha": lambda v: UNIGRAM.sample("low", temperature=v),
    "seed": lambda v: UNIGRAM.sample("low", seed=v),
    "tok": TOK,
    "tok pair": lambda v: TOK("a", v),
    "trunc": lambda v: TOK("a", truncation=v),
    "pad": lambda v: TOK("a", padding=v),
    "special": lambda v: TOK("a", special=v),
    "heal special": lambda v: TOK.heal("low", special=v),
    "tokenize": TOK.tokenize,
    "encode_to_numpy": TOK.encode_to_numpy,
    "encode_batch": TOK.encode_batch,
    "encode": TOK.encode,
    "encode special": lambda v: TOK.encode("a", special=v),
    "encode template": lambda v: TOK.encode("a", template=v),
    "count_tokens": TOK.count_tokens,
    "decode errors": lambda v: TOK.decode([1], errors=v),
    "decode skip_special_tokens": lambda v: TOK.decode([1], skip_special_tokens=v),
    "decode_batch": TOK.decode_batch,
    "stream feed": lambda v: list(TOK.stream().feed(v)),
    "stream skip_special_tokens": lambda v: TOK.stream(skip_special_tokens=v),
    "with_tokens": TOK.with_tokens,
    "wsplit": lambda v: TOK.with_(splitter=v),
    "wnorm": lambda v: TOK.with_(normalizer=v),
    "wtempl": lambda v: TOK.with_(template=v),
    "wroles": lambda v: TOK.with_(roles=v),
    "wadded": lambda v: TOK.with_(added_tokens=v),
    "wdec": lambda v: TOK.with_(decoder=v),
    "wmodel": lambda v: TOK.with_(model=v),
    "wchat": lambda v: TOK.with_(chat_template=v),
    "wpad": lambda v: TOK.with_(padding=v),
    "wtr": lambda v: TOK.with_(truncation=v),
    "as_tiktoken": lambda v: TOK.as_tiktoken(v),
    "tokens.open fmt": lambda v: subwords.files.open("c.txt", format=v),
    "eos": lambda v: subwords.files.open("c.txt", dtype="uint16", eos=v),
    "dtype": lambda v: subwords.files.open("c.txt", dtype=v),
    "padded": lambda v: TOK.encode_batch(["a"]).padded(v),
    "truncated": lambda v: TOK.encode_batch(["a"]).truncated(v),
    "tb[]": lambda v: TOK.encode_batch(["a"])[v],
    "eb[]": lambda v: TOK(["a"])[v],
    "splitter": subwords.splitter,
    "normalizer": subwords.normalizer,
    "parity": lambda v: subwords.research.train_parity(v, vocab_size=258, progress=False),
    "parity dev": lambda v: subwords.research.train_parity(
        {"a": ["a b"], "b": ["c"]}, vocab_size=258, development=v, progress=False
    ),
    "ratios": lambda v: subwords.research.train_parity(
        {"a": ["a b"], "b": ["c"]}, vocab_size=258, ratios=v, progress=False
    ),
    "at_least": lambda v: subwords.count(["a"]).at_least(v),
    "TokenizerSpec": lambda v: subwords.TokenizerSpec(model=v),
    "Tokenizer": subwords.Tokenizer,
    "AddedToken": lambda v: TOK.with_(added_tokens=[subwords.AddedToken(v, v)]),
    "Text": lambda v: TOK.encode([subwords.Text(v)]),
    "Special": lambda v: TOK.encode([subwords.Special(v)]),
    "Padding": lambda v: subwords.Padding(v),
    "Truncation": lambda v: subwords.Truncation(v),
}


@pytest.mark.parametrize("name", CALLS)
def test_values_of_wrong_types(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("c.txt").write_text("low lower\n" * 9, "utf-8")
    refused = 0
    for value in VALUES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                CALLS[name](value)
            except SubwordsError as error:
                assert str(error)
                refused += 1
            except IndexError:  # Python's way to end a loop over a sequence
                assert name.endswith("[]")
                refused += 1
    assert refused  # not one of them is right for all options
