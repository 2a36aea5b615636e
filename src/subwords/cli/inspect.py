"""inspect: what a tokenizer is made of."""

from __future__ import annotations

@main.command()
@click.argument("tokenizer", type=_PATH)
@click.option("--vocab", "what", flag_value="vocab", help="List ids, tokens, and their bytes in hexadecimal.")
@click.option("--merges", "what", flag_value="merges", help="List merges in order of rank.")
@click.option("--token", "wanted", metavar="ID|TEXT", help="Show one token and the merges that make it and use it.")
@click.option("--limit", type=_POSITIVE, metavar="N", help="List so many at most.")
@_json_option
def inspect(tokenizer: Path, what: str | None, wanted: str | None, limit: int | None, as_json: bool) -> None:
    """Show what a tokenizer is made of.

    TOKENIZER is a tokenizer.json or a folder with one. In tokens a space is shown as U+2423, a byte that is no character
    as \\xc3, and so they may be given to --token; digits alone are an id.

    \b
    Example:
      subwords inspect tok.json
      subwords inspect tok.json --merges --limit 20
      subwords inspect tok.json --token " the"
    """
    if what and wanted is not None:
        raise click.UsageError("expected one of --vocab, --merges and --token")
    tok = _load(tokenizer)
    if wanted is not None:
        _show_token(tok, wanted, limit, as_json)
    elif what == "vocab":
        rows = [_token(tok, i) for i in islice(filter(...)))]
