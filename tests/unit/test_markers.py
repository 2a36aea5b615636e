"""The marker mode (SUBWORDS_MARKERS=1) fills what it says, and reports leaks that are planted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import subwords
from inside import MODE, Engine
from inside import engine_encoder as encoder
from inside import kernels_layout as layout
from markers import FAMILIES, MARKER, RUN, holds, live_markers
from subwords import SubwordsWarning

CORPUS = ["the cat sat on the mat", "a dog, a log", "hugs and hugging"] * 30


@pytest.fixture(params=FAMILIES)
def tok(request: pytest.FixtureRequest) -> subwords.Tokenizer:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SubwordsWarning)
        return subwords.train(CORPUS, **FAMILIES[request.param])


def test_a_message_with_the_bytes_after_a_word_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def leaking(self: Any, chunk: Any, words: int, at: int) -> Exception:
        error: Exception = self.segmenter.unknown(chunk.text[at : at + 40].tobytes(), 0)
        return error

    empty = dict.fromkeys(["truncation", "padding", "normalizer", "post_processor", "decoder"])
    model = {"type": "WordLevel", "unk_token": "<unk>", "vocab": {"aa": 0}}
    whole = {"added_tokens": [], **empty, "pre_tokenizer": {"type": "Whitespace"}, "model": model}
    (tmp_path / "tokenizer.json").write_text(json.dumps({"version": "1.0", **whole}), "utf-8")
    tok = subwords.load(tmp_path / "tokenizer.json")
    with live_markers() as markers:
        tok.encode("aa " * 40)
        with pytest.raises(subwords.InputError):
            tok.encode("q")
        assert not markers.found
        tok.encode("aa " * 40)
        monkeypatch.setattr(encoder.Encoder, "_unknown", leaking)
        # The engine words the message by the text of the call, which hides such a leak of the encoder: without that.
        monkeypatch.setattr(Engine, "_unknown", lambda self, text, special, error: subwords.InputError(str(error)))
        with pytest.raises(AssertionError, match="not of its call"):
            tok.encode("q")
        assert markers.found[0].startswith("the error of Tokenizer.encode")


def test_ids_of_a_buffer_of_a_state_are_reported(tok: subwords.Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    def leaking(self: Any, texts: Any, threads: int, *, marked: Any = None) -> Any:
        state = self.take()
        out = state.out[:8].copy()
        self.give(state)
        return out, np.array([0, len(out)], np.int64)

    text = CORPUS[0]
    with live_markers() as markers:
        before = tok.encode_to_numpy(text).tolist()
        assert tok.encode(text) == tok.encode(text) == before and not markers.found and markers.filled
        monkeypatch.setattr(encoder.Encoder, "encoded", leaking)
        with pytest.raises(AssertionError, match=r"encode_to_numpy holds memory that is not of its call"):
            tok.encode_to_numpy(text * (1 + layout.LONG_TEXT // len(text)))  # too long for the fast path


def test_every_way_of_encoding_fills_first(tok: subwords.Tokenizer) -> None:
    with live_markers() as markers:
        for way in (
            tok.encode,
            tok.encode_to_numpy,
            tok,
            tok.tokenize,
            tok.count_tokens,
            lambda t: tok.encode_batch([t]),
        ):
            before = markers.filled
            way(CORPUS[0])
            assert markers.filled > before


def test_the_marker_is_found_in_values_of_every_kind() -> None:
    ids = np.full(3, MARKER * 0x01010101, np.uint32)
    for value in (ids, ids.tolist(), [ids.astype(np.int64)], {"a": (RUN,)}, RUN.decode(), f"{RUN.decode()!r}"):
        assert holds(value)
    assert not holds([1, 2, "a", b"b", np.arange(9)])


def test_a_file_with_the_marker_fails_its_test(tmp_path: Path) -> None:
    (tmp_path / "ids.npy").write_bytes(b"a" + RUN * 2)
    item = type("Item", (), {"funcargs": {"tmp_path": tmp_path}})
    with live_markers() as markers, pytest.raises(AssertionError, match=r"file ids\.npy"):
        markers.pytest_runtest_teardown(item)


# ------------------------------------------------------------------
# The guard mode (SUBWORDS_GUARDS) ends a process whose kernel leaves an array by one element, on its side


TESTS = Path(__file__).parents[1]


@pytest.mark.rotating(2)
@pytest.mark.skipif(MODE != "compiled" or os.name != "posix", reason="compiled kernels, and mprotect")
@pytest.mark.parametrize("side", ["1", "before"])
def test_one_element_beyond_an_array_or_a_text_ends_the_process(side: str, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])}
    environment["SUBWORDS_CACHE_DIR"] = str(tmp_path)  # for the kernels of the program
    program = [sys.executable, str(TESTS / "programs" / "guard_pages.py"), side]
    done = subprocess.run(program, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    ends = {tuple(line.split(",")[:2]): int(line.split(",")[2]) for line in done.stdout.splitlines()}
    assert len(ends) == 5 * 4
    beyond = "-1" if side == "before" else "6"
    for (kind, at), end in ends.items():
        if at == beyond:
            assert os.WIFSIGNALED(end) and os.WTERMSIG(end) in (signal.SIGSEGV, signal.SIGBUS), (kind, at, end)
        elif at in ("0", "5"):
            assert end == 0, (kind, at, end)
