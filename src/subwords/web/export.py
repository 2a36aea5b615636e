"""export: a tokenizer as a folder that a page, a worker or node imports."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import NamedTuple

from subwords import Tokenizer, __version__
from subwords.machine import TokenizerLike, engine_of, tokenizer_of, web_image, web_module
from subwords.support.files import atomic_write, place_of
from subwords.support.report import Report, Table
from subwords.web.module import mark_of, without_kernels

HERE = Path(__file__).parent
README = """# A tokenizer for JavaScript

```js
import {{ load }} from "./index.js";

const tok = await load();
const ids = tok.encode("text"); // a Uint32Array{allow}
const text = tok.decode(ids);
```

It has {vocabulary} ids, and gives every text the ids that `subwords` {version} gives it in Python. index.d.ts has the
types. subwords.wasm holds the compiled functions, tokenizer.bin the tables of this tokenizer; index.js loads both.
A page with a Content-Security-Policy needs `script-src 'wasm-unsafe-eval'`. A worker that cannot fetch its own files
passes them: `load({{ module, image }})`. LICENSE is for the code; the vocabulary has the licence of the tokenizer.
"""
ALLOW = '; { special: "allow" } reads special tokens as such'
FILES = ("subwords.wasm", "tokenizer.bin")  # what bundlers import besides the module
ENTRIES = {".": {"types": "./index.d.ts", "default": "./index.js"}, **{f"./{name}": f"./{name}" for name in FILES}}


@dataclass(frozen=True)
class Export(Report):
    """The files of an exported tokenizer: bytes of each, and compressed by gzip, as servers send them."""

    folder: Path
    sizes: Mapping[str, int]
    compressed: Mapping[str, int]

    def tables(self) -> list[Table]:
        """Return the files and their sizes."""
        rows = [(name, size, self.compressed[name]) for name, size in self.sizes.items()]
        return [Table(("file", "bytes", "compressed"), rows, "Files of an exported tokenizer", "tab:export")]


class Exported(NamedTuple):
    """tokenizer.bin, kernels that the tokenizer does not need, how many ids it has, and whether "allow" is refused."""

    image: bytes
    unused: frozenset[str]
    vocabulary: int
    refuses: bool


def exported(tok: Tokenizer) -> Exported:
    """Return what is in the files of a tokenizer; SubwordsError for what has no kernels."""
    image = web_image(engine_of(tok), tok.spec)
    around = tok.template.around if tok.template else ((), ())
    more = {"around": around, "trims": bool(tok.template and tok.template.trims), "module": mark_of(web_module())}
    facts = json.dumps({**image.facts, **more}, sort_keys=True, separators=(",", ":")).encode()
    content = gzip.compress(len(facts).to_bytes(4, "little") + facts + image.content, 9, mtime=0)
    return Exported(content, image.unused, image.facts["vocabulary"], "allow" in image.facts["refused"])


def export(tokenizer: TokenizerLike, folder: str | PathLike[str]) -> Export:
    """Write a tokenizer as an ES module with WebAssembly, which gives the same ids: for browsers, workers and node.

    tokenizer: a Tokenizer, a path or a name. folder: is made if it is missing; files of the same names are replaced.
    Needs no compiler, except in a clone. Raises SubwordsError for a tokenizer whose
    splitter, normalizer or decoder needs more than compiled functions.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     "index.js" in export("demo", folder).sizes
    True
    """
    made = exported(tokenizer_of(tokenizer))
    names = {"name": "tokenizer", "version": __version__, "license": "SEE LICENSE IN LICENSE", "type": "module"}
    package = {**names, "private": True, "sideEffects": False, "exports": ENTRIES, "types": "./index.d.ts"}
    about = README.format(vocabulary=made.vocabulary, version=__version__, allow="" if made.refuses else ALLOW)
    files = {
        "subwords.wasm": without_kernels(web_module(), made.unused),
        "tokenizer.bin": made.image,
        **{name: (HERE / name).read_bytes() for name in ("index.js", "index.d.ts", "LICENSE")},
        "package.json": (json.dumps(package, indent=2) + "\n").encode(),
        "README.md": about.encode(),
    }
    place = place_of(folder)
    place.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        with atomic_write(place / name) as file:
            file.write(content)
    sizes = {name: len(content) for name, content in files.items()}
    compressed = {name: len(gzip.compress(content, 9, mtime=0)) for name, content in files.items()}
    return Export(Path(place), sizes, compressed)
