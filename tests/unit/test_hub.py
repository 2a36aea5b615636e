"""Repositories of the Hugging Face Hub by name, in a cache that the tests make; the network is never asked."""

from __future__ import annotations

import builtins
import os
from pathlib import Path
from typing import Any

import pytest

import subwords
from inside import formats_read as reading
from subwords import FormatError, InputError, Tokenizer

hub = pytest.importorskip("huggingface_hub")
constants = pytest.importorskip("huggingface_hub.constants")


def trained(size: int = 258) -> Tokenizer:
    return subwords.train(["ab abc"] * 3, vocab_size=size, progress=False)


def put(cache: Path, name: str, commit: str, ref: str = "main") -> Path:
    """The folder of one commit of a repository, in the layout of the cache."""
    root = cache / f"models--{name.replace('/', '--')}"
    folder = root / "snapshots" / commit
    folder.mkdir(parents=True)
    (root / "refs").mkdir(exist_ok=True)
    (root / "refs" / ref).write_text(commit)
    return folder


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    def refuse(*_args: Any, **_options: Any) -> Any:
        raise OSError("no network in tests")

    for name in ("HF_HOME", "HUGGINGFACE_HUB_CACHE", "TRANSFORMERS_CACHE", "SUBWORDS_VOCABULARIES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(hub.HfApi, "repo_info", refuse)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "cache"


def test_a_repository_in_the_cache(cache: Path) -> None:
    tok = trained().with_tokens(["</s>"])
    tok.save(put(cache, "org/name", "a" * 40))
    assert subwords.load("org/name") == tok
    assert subwords.load("org/name", revision="main") == tok
    assert subwords.load("org/name").roles == {"eos": 258}


def test_revisions(cache: Path) -> None:
    first, second = trained(257), trained(258)
    first.save(put(cache, "org/name", "a" * 40, "v1"))
    second.save(put(cache, "org/name", "b" * 40))
    assert subwords.load("org/name") == second
    assert subwords.load("org/name", revision="v1") == first
    assert subwords.load("org/name", revision="a" * 40) == first
    with pytest.raises(
        FormatError, match=r"no cache has org/name at v2 \(looked in .*cache.*\): load\(\.\.\., download=True\)"
    ):
        subwords.load("org/name", revision="v2")


def test_other_files_of_a_repository(cache: Path) -> None:
    tok = subwords.train(["ab abc"] * 3, vocab_size=258, splitter="gpt2", progress=False)
    folder = put(cache, "org/bpe", "c" * 40)
    tok.save(folder / "merges.txt")
    assert subwords.load("org/bpe") == tok
    tok.save(put(cache, "org/ranks", "c" * 40) / "x.tiktoken")
    assert subwords.load("org/ranks", splitter="gpt2").encode("abc") == tok.encode("abc")


def test_what_exists_here_comes_first(cache: Path, tmp_path: Path) -> None:
    trained(258).save(put(cache, "org/name", "a" * 40))
    (tmp_path / "org").mkdir()
    trained(257).save(f"{tmp_path}/org/name/")
    assert subwords.load("org/name").vocab_size == 257
    with pytest.raises(InputError, match=r'download are for repositories .* "org/name", not for org/name'):
        subwords.load("org/name", download=True)


def test_nothing_is_downloaded_unasked(cache: Path) -> None:
    with pytest.raises(FormatError, match=r"no file or folder org/name here, and no cache has org/name \(looked in "):
        subwords.load("org/name")
    with pytest.raises(FormatError, match=r"cannot download org/name from the Hugging Face Hub: .*"):
        subwords.load("org/name", download=True)


def test_only_tokenizer_files_are_asked_for(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}
    tok = trained()

    def download(name: str, **options: Any) -> str:
        asked.update(options, name=name)
        folder = put(cache, name, "d" * 40)
        tok.save(folder)
        return str(folder)

    monkeypatch.setattr(hub, "snapshot_download", download)
    assert subwords.load("org/new", revision="main", download=True) == tok
    assert asked == {
        "name": "org/new",
        "revision": "main",
        "local_files_only": False,
        "allow_patterns": list(reading.FILES),
    }
    assert not any(name.endswith((".bin", ".safetensors", ".gguf", "*")) for name in reading.FILES)


def test_a_repository_without_tokenizer_files(cache: Path) -> None:
    (put(cache, "org/weights", "e" * 40) / "config.json").write_text("{}")
    with pytest.raises(FormatError, match=r"has no tokenizer files of org/weights: load"):
        subwords.load("org/weights")


def test_without_the_package(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def missing(name: str, *args: Any, **options: Any) -> Any:
        if name.startswith("huggingface_hub"):
            raise ImportError(name)
        return real(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", missing)
    tok = trained()
    tok.save(put(cache, "org/name", "a" * 40))
    assert subwords.load("org/name") == tok
    with pytest.raises(FormatError, match=r'download=True needs the huggingface_hub package: pip install .*\[files\]"'):
        subwords.load("org/other", download=True)


def test_every_place_that_a_machine_may_have(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = iter(range(257, 300))
    homes = {
        "HF_HOME": "hub",
        "HUGGINGFACE_HUB_CACHE": "",
        "TRANSFORMERS_CACHE": "",
        "XDG_CACHE_HOME": "huggingface/hub",
    }
    for variable, below in homes.items():
        place, tok = tmp_path / variable.lower(), trained(next(sizes))
        tok.save(put(place / below, f"org/{variable}", "a" * 40))
        with monkeypatch.context() as patch:
            patch.setenv(variable, str(place))
            assert subwords.load(f"org/{variable}") == tok
        with pytest.raises(FormatError, match="no cache has"):
            subwords.load(f"org/{variable}")
    old = trained(next(sizes))
    old.save(put(cache, "bert-of-old", "a" * 40))
    assert subwords.load("bert-of-old") == old
    own = trained(next(sizes))
    (tmp_path / "own" / "org" / "mine").mkdir(parents=True)
    own.save(tmp_path / "own" / "org" / "mine")
    monkeypatch.setenv("SUBWORDS_VOCABULARIES", f"{tmp_path / 'none'}{os.pathsep}{tmp_path / 'own'}")
    assert subwords.load("org/mine") == own
    with pytest.raises(FormatError, match=r"looked in .*none, .*own, .*cache"):
        subwords.load("org/nobody")


@pytest.mark.parametrize("revision", ["../../x", "..", "refs/../.."])
def test_a_revision_stays_in_the_cache(revision: str, cache: Path) -> None:
    trained().save(put(cache, "org/name", "a" * 40))
    with pytest.raises(FormatError, match="no cache has"):
        subwords.load("org/name", revision=revision)


@pytest.mark.parametrize("path", ["a.json", "models/tokenizer.json", "gpt2", "../a/b", "/a/b", "a/b/c", "a//b", "a/-b"])
def test_what_is_no_name(path: str, cache: Path) -> None:
    assert not reading.is_repository_name(path)
    with pytest.raises(InputError, match="revision and download are for repositories"):
        subwords.load(path, revision="main")


def test_options_are_checked(cache: Path) -> None:
    wrong: Any = 7
    with pytest.raises(InputError, match="expected revision as the name"):
        subwords.load("org/name", revision=wrong)
    with pytest.raises(InputError, match="download"):
        subwords.load("org/name", download=wrong)


@pytest.mark.parametrize("commit", ["..", ".", "../../other", "/etc", "a/../../..", "x\0y", ""])
def test_a_reference_leads_nowhere_but_to_a_snapshot(cache: Path, tmp_path: Path, commit: str) -> None:
    trained().save(put(cache, "org/name", "a" * 40))
    for place in ("", "snapshots", "other"):
        trained().save(f"{cache}/models--org--name/{place}/")
    (cache / "models--org--name" / "refs" / "main").write_text(commit)
    with pytest.raises(FormatError, match="no cache has org/name"):
        subwords.load("org/name")
