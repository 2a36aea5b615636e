"""Repositories of the Hugging Face Hub by name, "org/name": in the local cache, or downloaded if asked for."""

from __future__ import annotations

import re
from pathlib import Path

from subwords.support.errors import FormatError, InputError
from subwords.support.names import install_hint

# What is fetched: files of tokenizers, no weights.
FILES = (
    *("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"),
    *("chat_template.jinja", "vocab.json", "merges.txt", "vocab.txt", "tokenizer.model", "spiece.model"),
    *("source.spm", "target.spm", "*.tiktoken"),
)
_NAME = re.compile(r"(?=.{3,96}\Z)[A-Za-z0-9_][\w.-]*/[A-Za-z0-9_][\w.-]*", re.ASCII)
_SUFFIXES = (".json", ".model", ".spm", ".txt", ".bpe", ".tiktoken", ".gguf", ".jinja", ".parquet", ".jsonl")


def is_repository_name(path: object) -> bool:
    """Whether a string has the form of a repository's name and is not obviously a file's.

    >>> [is_repository_name(path) for path in ("openai/whisper-tiny", "models/tokenizer.json", "gpt2", "../a/b")]
    [True, False, False, False]
    """
    return isinstance(path, str) and _NAME.fullmatch(path) is not None and not path.lower().endswith(_SUFFIXES)


def folder_of(name: str, *, revision: str | None = None, download: bool = False) -> Path:
    """Return the folder of the cache with a repository's tokenizer files; only `download` asks the network.

    Raises FormatError if huggingface_hub is not installed, if the cache lacks the repository, and if the download
    fails.

    Source: huggingface_hub 2.4, snapshot_download.
    """
    if revision is not None and (not isinstance(revision, str) or not revision):
        raise InputError(f"expected revision as the name of a branch or tag, or a commit, not {revision!r:.60}")
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError
    except ImportError:
        raise FormatError(
            f"no file or folder {name} here; looking it up as a repository of the Hugging Face Hub needs the "
            f"huggingface_hub package: {install_hint('hf')}"
        ) from None
    at = f"{name} at {revision}" if revision else name
    try:
        found = snapshot_download(name, revision=revision, allow_patterns=[*FILES], local_files_only=not download)
    except HFValidationError as error:
        raise FormatError(f"no file or folder {name} here, and no name of a repository: {error}") from None
    except LocalEntryNotFoundError as error:
        if download:
            raise FormatError(f"cannot download {at} from the Hugging Face Hub: {error}") from None
        raise FormatError(
            f"no file or folder {name} here, and the Hugging Face cache lacks {at}: load(..., download=True) downloads "
            f"its tokenizer files, and so does huggingface_hub's command: hf download {name}"
        ) from None
    except Exception as error:  # huggingface_hub passes on errors of several HTTP libraries
        raise FormatError(f"cannot download {at} from the Hugging Face Hub: {error}") from error
    folder = Path(str(found))
    if not any(next(folder.glob(pattern), None) for pattern in FILES):
        hint = "it has none" if download else "load(..., download=True) downloads those that it has"
        raise FormatError(f"the Hugging Face cache has no tokenizer files of {at}: {hint}")
    return folder
