"""The files a definition names, cut or repeated as it says; the development data is read in place and may be absent."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.definition import Case, Definition
from benchmarks.process import Launcher
from benchmarks.ranks import document_of_ranks, read_ranks

__all__ = ["ROOT", "Inputs", "MissingDataError", "cut"]

ROOT = Path(__file__).resolve().parents[1]
OPTICKS = ROOT / "examples" / "opticks.txt"
MULTILINGUAL = "multilingual.model"
BETWEEN_TOKENS = 100_000  # bytes
ADDED = " with added tokens"
LANGUAGES = "ar+de+english+es+fr+hi+ja+ko+my+ru+th+tr+vi+zh"


class MissingDataError(Exception):
    """A file that a definition needs is not there; what needs it is skipped."""


class Inputs:
    """Input files and tokenizer files; what is made is made once, in the temporary folder `work`."""

    def __init__(self, data: Path, work: Path, launcher: Launcher) -> None:
        self.data = data
        self.work = work
        self.launcher = launcher
        self._alphabets: dict[Path, int] = {}

    def cases(self, definition: Definition) -> list[Case]:
        """Return the definition's cases; one that names a folder becomes one for each of its files."""
        found: list[Case] = []
        for case in definition.cases:
            if not case.corpus.endswith("/*"):
                found.append(case)
                continue
            folder = self.data / case.corpus[:-2]
            files = sorted(path for path in folder.glob("*") if path.suffix in (".txt", ".bin"))
            if not files:
                raise MissingDataError(f"no files in {case.corpus[:-2]} of the data folder (--data)")
            found += [replace(case, name=path.name, corpus=f"{folder.name}/{path.name}") for path in files]
        return found

    def file(self, corpus: str, limit: int | None = None) -> Path:
        """Return the path of a corpus, or of several joined by "+". At most `limit` bytes of each are used.

        "fresh/code with <|endoftext|>" is a corpus with that special token in it, every 100 KB.
        """
        if " with " in corpus:
            path = self._with_token(*corpus.split(" with "))
        else:
            path = self._joined(corpus) if "+" in corpus else self._corpus(corpus)
        if limit is None or path.stat().st_size <= limit:
            return path
        made = self.work / f"{path.parent.name}-{path.stem}-{limit}.txt"
        if not made.exists():
            made.write_bytes(cut(path.read_bytes(), limit))
        return made

    def alphabet(self, path: Path) -> int:
        """Return how many different bytes a file has."""
        if path not in self._alphabets:
            self._alphabets[path] = len({*path.read_bytes()})
        return self._alphabets[path]

    def _joined(self, corpus: str, each: int | None = None) -> Path:
        """Several corpora in one file, of each at most `each` bytes."""
        paths = [self.file(name, each) for name in corpus.split("+")]
        made = self.work / f"joined-{hashlib.sha256(corpus.encode()).hexdigest()[:8]}-{each}.txt"
        if not made.exists():
            with made.open("wb") as file:
                for path in paths:
                    file.write(path.read_bytes())
        return made

    def _with_token(self, corpus: str, token: str) -> Path:
        """A corpus with a special token after the line in which each 100 KB of it end."""
        made = self.work / f"tokens-{hashlib.sha256(f'{corpus} {token}'.encode()).hexdigest()[:8]}.txt"
        if not made.exists():
            rest, parts = self.file(corpus).read_bytes(), []
            while rest:
                parts.append(cut(rest, BETWEEN_TOKENS))
                rest = rest[len(parts[-1]) :]
            made.write_bytes(token.encode().join(parts))
        return made

    def tokenizer(self, name: str) -> Path:
        """Return a tokenizer.json without added tokens, so that all text is text to all; or a .model as it is.

        "gpt2 with added tokens" keeps them.
        """
        name, added, _ = name.partition(ADDED)
        if (model := self.data / "tokenizers" / name).is_file():
            return model
        if name == MULTILINGUAL:
            return self._multilingual()
        made = self.work / f"{name.replace('/', '-')}{added.replace(' ', '-')}.tokenizer.json"
        if not made.exists():
            document = self._document(name)
            document["added_tokens"] = document["added_tokens"] if added else []
            made.write_text(json.dumps(document, ensure_ascii=False), "utf-8")
        return made

    def _document(self, name: str) -> dict[str, Any]:
        """The tokenizer.json of a name as it is, or made from a rank file of tiktoken."""
        folder = self.data / "tokenizers"
        found = [self._trained()] if name == "trained" else []
        found += [folder / name / "tokenizer.json", folder / "converted" / f"{name}.tokenizer.json"]
        found += [folder / f"{name}.json"]
        for path in found:
            if path.exists():
                return dict(json.loads(path.read_bytes()))
        ranks, patterns = (folder / "tiktoken" / file for file in (f"{name}.tiktoken", "specs.json"))
        if ranks.exists() and patterns.exists():
            return document_of_ranks(read_ranks(ranks), json.loads(patterns.read_bytes())[name]["pat_str"])
        raise MissingDataError(f"no tokenizers/{name}/tokenizer.json, nor one to convert, in the data folder (--data)")

    def _corpus(self, name: str) -> Path:
        if name == "opticks":
            return OPTICKS
        path = self.data / (name if "/" in name else f"corpora/{name}")
        path = path if path.suffix else path.with_suffix(".txt")
        if not path.exists():
            raise MissingDataError(f"no {path.relative_to(self.data).as_posix()} in the data folder (--data)")
        return path

    def _multilingual(self) -> Path:
        """A Unigram model of as many pieces as XLM-R, trained on 2 MB of each language; none of it is in fresh/."""
        output = self.work / MULTILINGUAL
        if not output.exists():
            job = {
                "task": "train",
                "file": str(self._joined(LANGUAGES, 2_000_000)),
                "output": str(output),
                "algorithm": "unigram",
            }
            options = {"vocab_size": 250_000, "special_tokens": ["<unk>", "<s>", "</s>"], "threads": 2}
            answer = self.launcher.run("subwords", {**job, **options}, timeout=900)
            if answer["status"] != "ok":
                raise MissingDataError(f"no {MULTILINGUAL}: subwords could not train it ({answer.get('message')})")
        return output

    def _trained(self) -> Path:
        output = self.work / "trained.json"
        job = {"task": "train", "file": str(OPTICKS), "output": str(output), "vocab_size": 1_000, "threads": 1}
        answer = self.launcher.run("subwords", {**job, "special_tokens": []}, timeout=300)
        if answer["status"] != "ok":
            raise MissingDataError(f"no tokenizer: subwords could not train one ({answer.get('message')})")
        return output


def cut(data: bytes, limit: int | None) -> bytes:
    """Return at most `limit` bytes of a text, whole lines if it has any, whole characters otherwise."""
    if limit is None or len(data) <= limit:
        return data
    if end := data.rfind(b"\n", 0, limit) + 1:
        return data[:end]
    while limit and data[limit] & 0xC0 == 0x80:
        limit -= 1
    return data[:limit]
