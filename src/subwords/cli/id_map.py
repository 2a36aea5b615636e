"""id-map: which old ids make up each id of another tokenizer."""

from __future__ import annotations

from pathlib import Path

import click

from subwords.cli.arguments import INPUT, TOKENIZER, tokenizer_argument
from subwords.cli.console import check_output, json_option, load_tokenizer, print_values, quiet_only

__all__ = ["id_map"]


@click.command("id-map")
@tokenizer_argument
@click.argument("other", type=TOKENIZER)
@click.option("-o", "--output", type=INPUT, required=True, metavar="FILE", help="The file to write.")
@quiet_only
@json_option
def id_map(tokenizer: str, other: str, output: Path, as_json: bool) -> None:
    """Write which ids of TOKENIZER make up each id of OTHER, for the embeddings of a model.

    A token of both has its one old id. A new token has the ids that TOKENIZER gives its text, with equal weights.

    \b
    Example:
      subwords adapt id-map tok.json longer.json -o embedding_map.json
    """
    from subwords.adapt.id_map import id_map as map_of

    check_output(output)
    found = map_of(load_tokenizer(tokenizer), load_tokenizer(other))
    found.save(output)
    values = {"old_ids": found.old_size, "new_ids": len(found), "changed": len(found.changed), "saved": str(output)}
    print_values(values, as_json)
