"""The files a definition names, cut or repeated as it says; the development data is read in place and may be absent."""

from __future__ import annotations

import hashlib
import json
import re
import runpy
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
OWN_CHATS = ROOT / "tests" / "data" / "chat_templates"
CONTROL = re.compile(
    r"<[|\uff5c][^<>|\uff5c\s]+[|\uff5c]>|\[/?[A-Z_]{3,}\]"
    r"|</?(?:s|think|tools|tool_call|tool_response|bos|eos|turn|start_of_turn|end_of_turn|start_of_image)>"
    r"|<(?:\|turn|turn\||seed:[be]os|sep|_user|_bot|reserved_10[67]|end_of_utterance|(?:end|beginning)_of_sentence)>"
)
CLOCK = re.compile(r"strftime_now\([^)]*%[HMSIXcpf]")  # templates that print the minute: engines run at several
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
        """Return the definition's cases; one that names a folder becomes one for each of its files.

        With a list of tokenizer `files` there is a case for each of them.
        """
        if files := definition.parameters.get("files"):
            return [replace(case, name=file) for case in definition.cases for file in files]
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

    def chats(self, parameters: dict[str, Any]) -> dict[str, str]:
        """Return the paths of what a job of chat reads: conversations with templates, and a tokenizer for them.

        "chats" names a folder of the data, or is "own"; "templates" and "conversations" choose some of it by name. The
        tokenizer has every control token that a template of the folder spells. "native": the file it is made of.
        """
        folder = OWN_CHATS if parameters["chats"] == "own" else self.data / parameters["chats"]
        sources = {path.stem: path.read_bytes().decode() for path in sorted(folder.glob("*.jinja"))}
        sources = {name: source for name, source in sources.items() if not (name[:4] == "bad_" or CLOCK.search(source))}
        if not sources:
            raise MissingDataError(f"no {folder.name} in the data folder (--data)")
        key = hashlib.sha256(json.dumps([str(folder), parameters], sort_keys=True).encode()).hexdigest()[:8]
        tokenizer, chats = (self.work / f"{name}-{key}.json" for name in ("chat-tokenizer", "chats"))
        found = {"tokenizer": str(tokenizer), "chats": str(chats)}
        if (native := self.data / "tokenizers" / parameters["tokenizer"]).suffix == ".v3":
            found["native"] = str(native)
        if not chats.exists():
            document = self._native_document(native) if "native" in found else self._document(parameters["tokenizer"])
            spelled = {text for source in sources.values() for text in CONTROL.findall(source)}
            _add_tokens(document, sorted(spelled | {*parameters["roles"].values()}))
            tokenizer.write_text(json.dumps(document, ensure_ascii=False), "utf-8")
            chosen = parameters.get("templates", [*sources])
            data = {
                "templates": {name: sources[name] for name in chosen},
                **_conversations(folder, parameters.get("conversations")),
                "control_ids": [token["id"] for token in document["added_tokens"]],
                "letters": [document["model"]["vocab"][letter] for letter in "rays"],
            }
            chats.write_text(json.dumps(data), "utf-8")
        return found

    def _native_document(self, path: Path) -> dict[str, Any]:
        """A .model file of Mistral as a tokenizer.json that puts no space before text, as their own library."""
        if not path.exists():
            raise MissingDataError(f"no tokenizers/{path.name} in the data folder (--data)")
        import subwords

        made = self.work / f"{path.name}.json"
        subwords.load(path).save(made)
        document = dict(json.loads(made.read_bytes()))
        steps = document["normalizer"]["normalizers"]
        document["normalizer"]["normalizers"] = [step for step in steps if step["type"] != "Prepend"]
        return document

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


def _add_tokens(document: dict[str, Any], contents: list[str]) -> None:
    """Add special tokens that a tokenizer.json lacks."""
    added, vocab = document["added_tokens"], document["model"]["vocab"]
    known = {token["content"] for token in added}
    free = 1 + max([*vocab.values(), *(token["id"] for token in added)])
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    for content in contents:
        if content not in known:
            added.append({"id": vocab.get(content, free), "content": content, **flags})
            free += content not in vocab
    added.sort(key=lambda token: token["id"])
    for token in added:
        token["special"] = True


def _conversations(folder: Path, chosen: list[str] | None) -> dict[str, Any]:
    """The conversations of a folder, as [messages, options]: those of attackers apart.

    Others that spell a control token, such as thoughts in the content, are left out: ids differ there by design.
    """
    if (rows := folder / "conversations.json").exists():
        listed = [(row.pop("name"), row.pop("messages"), row) for row in json.loads(rows.read_text("utf-8"))]
    else:
        listed = runpy.run_path(str(folder / "conversations.py"))["C"]
    listed = [one for one in listed if chosen is None or one[0] in chosen]
    hostile = [one for one in listed if "evil" in one[0] or "hostile" in one[0]]
    plain = [one for one in listed if one not in hostile and not CONTROL.search(json.dumps(one[1:]))]
    masked = [
        *({"role": "user", "content": "What is 2+2?"}, {"role": "assistant", "content": "That makes four."}),
        *({"role": "user", "content": "And 3+3?"}, {"role": "assistant", "content": "Six, of course."}),
    ]
    return {
        "plain": [one[1:] for one in plain],
        "hostile": [[_without_thoughts(each) for each in one[1:]] for one in hostile],
        "masked": masked,
    }


def _without_thoughts(value: Any) -> Any:
    """The same without "<think>no</think>": templates leave thoughts out, and perhaps control tokens with them."""
    if isinstance(value, dict):
        return {key: _without_thoughts(each) for key, each in value.items()}
    if isinstance(value, list):
        return [*map(_without_thoughts, value)]
    return value.replace("<think>no</think>", "") if isinstance(value, str) else value


def cut(data: bytes, limit: int | None) -> bytes:
    """Return at most `limit` bytes of a text, whole lines if it has any, whole characters otherwise."""
    if limit is None or len(data) <= limit:
        return data
    if end := data.rfind(b"\n", 0, limit) + 1:
        return data[:end]
    while limit and data[limit] & 0xC0 == 0x80:
        limit -= 1
    return data[:limit]
