"""id-map: which old ids make up each id of another tokenizer."""

from __future__ import annotations

from pathlib import Path

import click

from subwords.cli.arguments import INPUT, TOKENIZER
from subwords.cli.console import check_output, json_option, load_tokenizer, print_values, quiet_only

__all__ = ["id_map"]


@click.command("id-map")
@click.argument("old", type=TOKENIZER)
@click.argument("new", type=TOKENIZER)
@click.option("-o", "--output", type=INPUT, required=True, metavar="FILE", help="The file to write.")
@quiet_only
@json_option
def id_map(old: str, new: str, output: Path, as_json: bool) -> None:
    """Write which ids of OLD make up each id of NEW, for the embeddings of a model.

    A token of both has its one old id. A new token has the ids that OLD gives its text, with equal weights.

    \b
    Example:
      subwords id-map tok.json longer.json -o embedding_map.json
    """
    from subwords.adapt.id_map import id_map as map_of

    check_output(output)
    found = map_of(load_tokenizer(old), load_tokenizer(new))
    found.save(output)
    values = {"old_ids": found.old_size, "new_ids": len(found), "changed": len(found.changed), "saved": str(output)}
    print_values(values, as_json)
