"""convert: a tokenizer file to another format."""

from __future__ import annotations

from typing import Any

import click

from subwords.cli.arguments import tokenizer_argument
from subwords.cli.console import print_values
from subwords.cli.options import command, reading_from
from subwords.cli.verify import comparing_options, difference_json, paths_of

__all__ = ["convert"]


@command()
@tokenizer_argument
@click.argument("target", type=str)
@click.option("--allow-different", is_flag=True, help="Write TARGET even if the ids of some texts change.")
@comparing_options
def convert(tokenizer: str, target: str, sources: tuple[str, ...], quiet: bool, as_json: bool, **options: Any) -> None:
    """Write TOKENIZER in the format of TARGET's name, if its ids stay the same.

    TOKENIZER is any file or folder that this package loads. TARGET ends in .json, .model, .tiktoken, .gguf or .txt
    (vocab.txt), is vocab.json or merges.txt (both are written), or is a folder (that exists, or a name that ends in
    "/"). Before TARGET is written, a copy is loaded again and compared on a fixed list of tricky texts. Exit code 1:
    ids would change, and nothing was written.

    \b
    Example:
      subwords convert spiece.model tokenizer/
      subwords convert llama3.tiktoken tok.json --splitter llama3 --special-ids '{"<|eot_id|>": 128009}'
    """
    from subwords import convert as written

    how: dict[str, Any] = {"reading": reading_from(options), "progress": False if quiet else None, **options}
    found = written(tokenizer, target, source=paths_of(sources), **how)
    values: dict[str, object] = {"texts": found.texts, "tokens": found.tokens, "different": found.different}
    if as_json:
        parts = {"same_parts": found.same_parts, "lost": [*found.lost], "difference": difference_json(found.difference)}
        print_values(values | parts | {"saved": str(found.path)}, as_json)
        return
    if found.difference is not None:
        values["first difference"] = str(found.difference)
    values["not in the new file"] = ", ".join(found.lost) or "nothing is missing"
    print_values(values | {"saved": str(found.path)}, as_json)
