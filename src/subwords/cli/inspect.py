"""inspect: show the contents of a tokenizer."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from subwords.cli.arguments import SOURCE, tokenizer_argument
from subwords.cli.console import (
    json_option,
    load_tokenizer,
    print_rows,
    print_values,
    quiet_only,
    shown,
    source_of,
    unshown,
)
from subwords.errors import InputError

if TYPE_CHECKING:
    from subwords.components.model import Model
    from subwords.tokenizer import Tokenizer

__all__ = ["inspect"]


@click.command()
@tokenizer_argument
@click.option("--vocab", is_flag=True, help="List ids, tokens, and the tokens' bytes in hexadecimal.")
@click.option("--merges", is_flag=True, help="List the merges in order of rank.")
@click.option("--token", metavar="ID|TEXT", help="Show one token, the merges that make it and those that use it.")
@click.option("--source", "sample", type=SOURCE, metavar="FILE", help="Show the tokens per word of a text.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="List at most N.")
@quiet_only
@json_option
def inspect(
    tokenizer: str,
    vocab: bool,
    merges: bool,
    token: str | None,
    sample: str | None,
    limit: int | None,
    as_json: bool,
) -> None:
    """Show the contents of a tokenizer.

    TOKENIZER is a file or folder that this package loads, or a name, such as gpt-4o or org/name. A space in a token
    shows as U+2423, a byte that is not part of a character as \\xc3; --token accepts both. Digits alone are an id.

    WordPiece files do not name the score they were trained with; --source FILE reveals it: by course, English text
    takes almost three times the tokens that it takes by likelihood or by count. Words are those of "subwords study
    evaluate".

    \b
    Example:
      subwords inspect tok.json
      subwords inspect tok.json --source held_out.txt
      subwords inspect tok.json --merges --limit 20
      subwords inspect tok.json --token " the"
    """
    if vocab + merges + (token is not None) + (sample is not None) > 1:
        raise click.UsageError("expected one of --vocab, --merges, --token and --source")
    if limit and not (vocab or merges or token is not None):
        raise click.UsageError("--limit needs --vocab, --merges or --token")
    tok = load_tokenizer(tokenizer)
    if vocab:
        present = (i for i, content in enumerate(tok.model.vocab) if content)
        _print_tokens(tok.model, islice(present, limit), as_json)
    elif merges:
        if tok.model.merge_count is None:
            raise InputError("--merges needs a BPE tokenizer; this one has no merges")
        _print_merges(tok.model, range(tok.model.merge_count)[:limit], as_json)
    elif token is not None:
        _print_token(tok.model, _find(tok, token), limit, as_json)
    else:
        print_values(_summary(tok) if sample is None else _use(tok, sample), as_json)


def _summary(tok: Tokenizer) -> dict[str, object]:
    from subwords.families import family_of

    model = tok.model
    return {
        "model": family_of(model).name,
        **model.facts(),
        "tokens": tok.vocab_size,
        "longest_token": max(map(len, model.vocab), default=0),
        "special_tokens": tok.special_tokens,
        "unk_token": None if model.unk_id is None else model.vocab[model.unk_id].decode("utf-8", "replace"),
        "normalizer": None if tok.normalizer is None else tok.normalizer.name or tok.normalizer.identity,
        "splitter": tok.splitter.name or tok.splitter.identity,
        "lossless": tok.lossless,
    }


def _use(tok: Tokenizer, sample: str) -> dict[str, object]:
    """Return how many tokens a text takes."""
    from subwords.study.evaluate import evaluate

    found = evaluate(tok, source_of([sample]), resamples=0, progress=False)
    unk = tok.model.unk_id
    return {
        "words": found.words,
        "tokens": found.tokens,
        "tokens_per_word": None if found.tokens_per_word is None else round(found.tokens_per_word, 4),
        "unknown_tokens": 0 if unk is None else round((found.unknown or 0.0) * found.tokens),
    }


def _find(tok: Tokenizer, wanted: str) -> int:
    if wanted.isascii() and wanted.isdigit() and len(wanted) < 20:
        found = int(wanted)
        if not (found < tok.vocab_size and tok.model.vocab[found]):
            raise InputError(f"expected an id with a token, up to {tok.vocab_size - 1}; {found} has no token")
        return found
    content = unshown(wanted)
    index = tok.model.vocab.ids.get(content) if content else None
    if index is None:
        raise InputError(f"token {shown(content)!r} is not in the vocabulary")
    return index


def _token(model: Model, index: int) -> dict[str, Any]:
    content = model.vocab[index]
    return {"id": index, "token": content.decode("utf-8", "replace"), "bytes": content.hex(), **_score(model, index)}


def _score(model: Model, index: int) -> dict[str, float]:
    """Return a piece's score, the natural logarithm of its probability; empty if not Unigram."""
    score = model.score(index)
    return {} if score is None else {"score": round(score, 6)}


def _merge(model: Model, position: int) -> dict[str, Any]:
    rank, left, right, result = model.ranked_merges[position].tolist()
    return {"rank": rank, "left": _token(model, left), "right": _token(model, right), "result": _token(model, result)}


def _print_tokens(model: Model, ids: Iterable[int], as_json: bool) -> None:
    if as_json:
        print_values({"vocab": [_token(model, i) for i in ids]}, as_json)
        return
    rows = ((str(i), shown(model.vocab[i]), model.vocab[i].hex(" "), *map(str, _score(model, i).values())) for i in ids)
    print_rows(("id", "token", "bytes", *_score(model, 0)), rows)


def _print_merges(model: Model, positions: Iterable[int], as_json: bool) -> None:
    found = [_merge(model, position) for position in positions]
    if as_json:
        print_values({"merges": found}, as_json)
        return
    print_rows(("rank", "left", "right", "id", "token"), map(_merge_row, found))


def _merge_row(merge: dict[str, Any]) -> tuple[str, ...]:
    left, right, result = (shown(bytes.fromhex(merge[part]["bytes"])) for part in ("left", "right", "result"))
    return str(merge["rank"]), left, right, str(merge["result"]["id"]), result


def _print_token(model: Model, index: int, limit: int | None, as_json: bool) -> None:
    special = index in model.special_ids
    made = (model.ranked_merges[:, 3] == index).nonzero()[0].tolist()
    part = (model.ranked_merges[:, 1:3] == index).any(1).nonzero()[0].tolist()
    made_by = [_merge(model, position) for position in made[:limit]]
    part_of = [_merge(model, position) for position in part[:limit]]
    if as_json:
        values = {**_token(model, index), "special": special, "made_by": made_by, "part_of": part_of}
        print_values({**values, "merges_with_it": len(part)}, as_json)
        return
    content = model.vocab[index]
    facts = [
        ("id", str(index)),
        ("token", shown(content)),
        ("bytes", content.hex(" ")),
        ("special", "yes" if special else "no"),
        *((name, str(value)) for name, value in _score(model, index).items()),
    ]
    listed = [("made by", made_by), ("part of", part_of)]
    rows = [(name, "  ".join(_merge_row(merge))) for name, merges in listed for merge in merges]
    more = [("", f"and {len(part) - len(part_of)} more")] if len(part) > len(part_of) else []
    print_rows([], [*facts, *rows, *more])
