"""Kept files: a tokenizer that was used before encodes as always, without NumPy, and whatever happens to the file."""

from __future__ import annotations

import gc
import gzip
import json
import os
import pickle
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import subwords
from inside import engine_kept as kept_files
from inside import formats_read
from inside import kernels_entry as entry
from inside import kernels_machine_code as machine_code
from inside import kernels_stored as store
from small_data import file_of
from without_waiting import at_once

FILES = (
    *("gpt2/tokenizer.json", "bert/bert-base-uncased-tokenizer.json", "phi-3/tokenizer.json", "t5/tokenizer.json"),
    *("t5/spiece.model", "mistral/tokenizer.model.v1", "clip/tokenizer.json", "falcon/tokenizer.json"),
)
LINE = "The café costs 12,50 €; 中文 isn't  simple.\n\tİstanbul ﬁne <s> Straße ...   "

pytestmark = pytest.mark.skipif(not entry.available(), reason="kept files are for the fast path")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(store, "cache_root", lambda: str(tmp_path / "cache"))
    monkeypatch.setenv(store.SWITCH, "on")
    at_once(monkeypatch)
    return tmp_path / "cache" / store.FOLDER


def kept_of(tok: subwords.Tokenizer) -> bool:
    return "_kept" in vars(tok)


def twice(path: Path) -> tuple[subwords.Tokenizer, subwords.Tokenizer]:
    """A tokenizer as it is read, and the same from its kept file."""
    made = subwords.load(path)
    made.encode("a")
    return made, subwords.load(path)


@pytest.mark.parametrize("name", FILES)
def test_all_calls_have_the_same_results(data: Path, name: str) -> None:
    made, again = twice(file_of(data, name))
    assert kept_of(again) and not kept_of(made)
    texts = [LINE, "", "a", " ", "▁a ▁", "<s>a</s>", "[MASK] x", LINE * 80, "e\u0301 \ud7a3", "x" * 300]
    for text in texts:
        assert again.encode(text) == made.encode(text) or text == LINE * 80
        assert again.count_tokens(text) == made.count_tokens(text)
    found = again.encode(LINE * 80)  # too long for the fast path: everything is read now
    assert found == made.encode(LINE * 80)
    assert [again.encode(text) for text in texts] == [made.encode(text) for text in texts]
    assert again == made and again.spec.digest == made.spec.digest and repr(again) == repr(made)


@pytest.mark.rotating(4)
@pytest.mark.parametrize(
    "use",
    [
        lambda tok: tok.decode([1, 2, 3]),
        lambda tok: tok.encode("a b", template=True),
        lambda tok: tok.encode("a <s> b", special="allow"),
        lambda tok: tok(LINE).tokens,
        lambda tok: tok.encode_batch([LINE, "a"]).to_lists(),
        lambda tok: tok.tokenize(LINE),
        lambda tok: (tok.vocab_size, tok.roles, tok.special_tokens, tok.lossless),
        lambda tok: pickle.loads(pickle.dumps(tok)),
        lambda tok: hash(tok),
    ],
)
@pytest.mark.parametrize("name", FILES[:3])
def test_any_call_may_be_the_first(data: Path, name: str, use: Any) -> None:
    made, again = twice(file_of(data, name))
    assert kept_of(again) and use(again) == use(made)


@given(texts=st.lists(st.text(max_size=60), min_size=1, max_size=9))
def test_ids_of_any_text(data: Path, texts: list[str]) -> None:
    for name in FILES[:4]:
        made, again = TOKS.get(name) or TOKS.setdefault(name, twice(file_of(data, name)))
        for text in texts:
            fast = vars(again)["_fast_encode"](text)
            assert fast is None or fast == made.encode(text)


TOKS: dict[str, tuple[subwords.Tokenizer, subwords.Tokenizer]] = {}


def run(path: Path, *texts: str) -> Any:
    program = Path(__file__).parents[1] / "programs" / "kept.py"
    done = subprocess.run([sys.executable, str(program), str(path), *texts], check=True, capture_output=True)
    return json.loads(done.stdout)


@pytest.mark.rotating(3)
@pytest.mark.parametrize("name", FILES[:5])
def test_a_process_that_finds_one_imports_no_engine(data: Path, name: str) -> None:
    path = file_of(data, name)
    expected = subwords.load(path)
    texts = LINE, "low lower", " ".join(f"new{k}" for k in range(1500)) + " " + "-" * 300
    ids = [expected.encode(text) for text in texts]
    first, again = run(path, *texts), run(path, *texts)
    assert first == [ids, ["numpy", "subwords.engine.engine"]] or first == again
    assert again[0] == ids and "subwords.engine.engine" not in again[1]
    if machine_code.shipped_address(entry.entry_kernel("fast_text")):
        assert again[1] == []


@pytest.mark.parametrize("length", [0, 5, 30, 1000, -1])
def test_a_damaged_file_is_left_aside(data: Path, folder: Path, length: int) -> None:
    path = file_of(data, FILES[0])
    made, _ = twice(path)
    (file,) = folder.glob("kept-*")
    content = file.read_bytes()
    file.write_bytes(content[:length] + bytes([content[length] ^ 1]) + content[length + 1 :])
    again = subwords.load(path)
    assert not kept_of(again) and again.encode(LINE) == made.encode(LINE)
    file.write_bytes(content[: len(content) // 2])
    assert not kept_of(subwords.load(path))
    file.unlink()
    if hasattr(os, "mkfifo"):
        os.mkfifo(file)  # to open it would wait for a writer
        assert not kept_of(subwords.load(path))


def test_files_that_others_may_write_are_left_aside(data: Path, folder: Path) -> None:
    path = file_of(data, FILES[0])
    twice(path)
    (file,) = folder.glob("kept-*")
    file.chmod(0o666)
    assert kept_of(subwords.load(path)) == (os.name != "posix")


def test_an_edit_of_any_file_of_a_folder_is_seen(data: Path, tmp_path: Path) -> None:
    place = tmp_path / "tok"
    place.mkdir()
    shutil.copy(file_of(data, FILES[0]), place / "tokenizer.json")
    assert kept_of(twice(place)[1])
    for name, text in (("tokenizer_config.json", '{"eos_token": "<|endoftext|>"}'), ("chat_template.jinja", "{{ a }}")):
        (place / name).write_text(text)
        assert not kept_of(subwords.load(place))
        assert kept_of(twice(place)[1])
    assert subwords.load(place).spec.chat_template == "{{ a }}"
    with pytest.raises(subwords.FormatError):
        subwords.load(tmp_path / "none")


def test_a_vocabulary_whose_merges_are_beside_it_has_none(data: Path, tmp_path: Path) -> None:
    subwords.load(file_of(data, FILES[0])).save(tmp_path / "vocab.json")
    assert not kept_of(twice(tmp_path / "vocab.json")[1])
    assert kept_of(twice(tmp_path)[1])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_a_pipe_is_read_once(data: Path, tmp_path: Path) -> None:
    content = file_of(data, FILES[0]).read_bytes()
    for _ in range(2):
        pipe = tmp_path / "tokenizer.json"
        os.mkfifo(pipe)
        writer = threading.Thread(target=pipe.write_bytes, args=(content,))
        writer.start()
        assert subwords.load(pipe).encode("low")
        writer.join()
        pipe.unlink()


def test_options_and_the_switch(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = file_of(data, FILES[0])
    assert kept_of(twice(path)[1])
    monkeypatch.setenv(store.SWITCH, "off")
    assert not kept_of(subwords.load(path))


def test_memory_is_given_back_in_any_order(data: Path) -> None:
    path = file_of(data, FILES[0])
    made, _ = twice(path)
    for number in range(6):
        tok = subwords.load(path)
        encode, count = vars(tok)["_fast_encode"], vars(tok)["_fast_count"]
        vars(tok)["self"] = tok  # a cycle: the garbage collector takes it apart
        if number % 2:
            del tok
            gc.collect()
        assert encode("low") == made.encode("low") and count("low") == len(encode("low"))
    gc.collect()


def many_words(tok: subwords.Tokenizer) -> list[str]:
    """Texts with most tokens, each as a word, and words of several tokens, short and long: more than a table has."""
    random, tokens = Random(3), [bytes(token).decode("utf-8", "ignore") for token in tok.model.vocab]
    made = ["".join(random.choices("aeionrstlcd", k=random.randrange(3, 24))) for _ in range(9000)]
    words = [*tokens[:20_000], *made]
    random.shuffle(words)
    return [" ".join(words[at : at + 500]) for at in range(0, len(words), 500)]


@pytest.mark.rotating(4)
@pytest.mark.parametrize("name", [*FILES[:3], "demo"])
def test_a_table_of_tokens_on_disk_changes_no_id(
    data: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path: Any = name if name == "demo" else file_of(data, name)
    monkeypatch.setenv(store.SWITCH, "off")
    plain = subwords.load(path)
    texts = [*many_words(plain), "a b " * 300_000, LINE]
    expected = plain.encode_batch(texts, threads=1).to_lists()
    assert not len(vars(plain._engine.quick[0].segmenter).get("first_words", ()))
    del plain
    gc.collect()  # with the model's segmenter, which knows its table
    monkeypatch.setenv(store.SWITCH, "on")
    twice(path)
    gc.collect()
    for damaged in (False, True):
        again = subwords.load(path)
        if damaged and (files := [*folder.glob("words-*")]):
            content = bytearray(files[0].read_bytes())
            content[len(content) // 2] ^= 1
            files[0].write_bytes(content)
        assert [again.encode(text) for text in texts] == expected
        assert again.encode_batch(texts, threads=2).to_lists() == expected
        assert [len(again(text, template=False).ids) for text in texts] == [again.count_tokens(text) for text in texts]
        encoder = again._engine.quick[0]
        state = type(encoder.take())(encoder.segmenter)
        for _ in range(5):
            state.grow_slots()
        assert state.has_tokens == (len(again.model.vocab) >= 4096 and not damaged)
        encoder.give(state)
        assert [again.encode(text) for text in texts] == expected
        del again
        gc.collect()


TEMPLATE = "{% for m in messages %}{{ m.content }}{% endfor %}"
FOLDERS: dict[str, dict[str, str]] = {
    "alone": {},
    "template": {"chat_template.jinja": TEMPLATE},
    "named template": {"additional_chat_templates/chat_template.jinja": TEMPLATE},
    "both": {"chat_template.jinja": TEMPLATE, "additional_chat_templates/chat_template.jinja": TEMPLATE + " "},
    "other way round": {
        "chat_template.jinja": TEMPLATE + " ",
        "additional_chat_templates/chat_template.jinja": TEMPLATE,
    },
    "roles": {"special_tokens_map.json": '{"eos_token": "<|endoftext|>"}'},
    "other roles": {"tokenizer_config.json": '{"eos_token": "<|endoftext|>"}'},
    "more tokens": {"added_tokens.json": '{"<x>": 4096}'},
}


def made_folder(place: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    place.mkdir(exist_ok=True)
    shutil.copy(kept_files.DEMO, place / "tokenizer.json")
    return place


def shown(tok: subwords.Tokenizer) -> object:
    return tok.spec.digest, tok.spec.foreign, tok.encode("hi <x>")


@pytest.mark.parametrize("first", FOLDERS)
def test_folders_of_other_names_or_content_share_no_kept_file(tmp_path: Path, first: str) -> None:
    """Whichever of two is used first: A then B, and B then A."""
    expected = {}
    for name, files in FOLDERS.items():
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(store.SWITCH, "off")
            expected[name] = shown(subwords.load(made_folder(tmp_path / name, files)))
    assert len({repr(value) for value in expected.values()}) > 5
    twice(tmp_path / first)
    for name in FOLDERS:
        made, again = twice(tmp_path / name)
        assert shown(made) == shown(again) == expected[name], name


CHANGES: dict[str, Any] = {
    "exchanged": lambda path: path.write_text(
        path.read_text("utf-8").replace("m.content", "m.role").replace("4096", "4097")
    ),
    "deleted": lambda path: path.unlink(),
    "damaged": lambda path: path.write_text("{"),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("file", ["tokenizer.json", *(name for files in FOLDERS.values() for name in files)])
def test_a_file_that_changes_during_load_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, change: str
) -> None:
    """A tokenizer is made from the bytes that name its kept file, whatever a writer does meanwhile."""
    files = next((files for files in FOLDERS.values() if file in files), {})
    place = made_folder(tmp_path / "tok", files)
    monkeypatch.setenv(store.SWITCH, "off")
    expected = shown(subwords.load(place))
    monkeypatch.setenv(store.SWITCH, "on")
    real = kept_files.read_kept

    def meanwhile(name: str) -> Any:
        monkeypatch.setattr(kept_files, "read_kept", real)
        CHANGES[change](place / file)
        (place / "config.json").write_text('{"eos_token_id": 1}')  # a new file
        return real(name)

    monkeypatch.setattr(kept_files, "read_kept", meanwhile)
    assert shown(subwords.load(place)) == expected
    shutil.rmtree(place)
    again = subwords.load(made_folder(place, files))  # put back
    assert kept_of(again) and shown(again) == expected


@pytest.mark.parametrize("name", ["vocab.json", "vocab.json.gz"])
def test_what_is_read_from_more_than_its_name_says_has_none(data: Path, tmp_path: Path, name: str) -> None:
    subwords.load(file_of(data, FILES[0])).save(tmp_path / "vocab.json")
    (tmp_path / "vocab.json.gz").write_bytes(gzip.compress((tmp_path / "vocab.json").read_bytes()))
    assert not kept_of(twice(tmp_path / name)[1])


def test_every_file_that_is_read_is_in_the_name() -> None:
    patterns = {pattern.rpartition(".")[2] for pattern in formats_read.FILES}
    assert patterns | {"bpe", "gz"} <= {ending[1:] for ending in kept_files.READ_ENDINGS}


def test_damage_is_seen_and_mended(folder: Path) -> None:
    """Sectors that change places, and bits that move between words: random, of a seed."""
    made, _ = twice(kept_files.DEMO)
    (file,) = folder.glob("kept-*")
    content, random = file.read_bytes(), Random(1)
    for number in range(40):
        damaged = bytearray(content)
        x, y = (random.randrange(len(content) // 512 - 1) * 512 for _ in range(2))
        if number % 2:
            damaged[x : x + 512], damaged[y : y + 512] = damaged[y : y + 512], damaged[x : x + 512]
        else:
            damaged[x], damaged[y] = damaged[y], damaged[x] ^ 1
        file.write_bytes(damaged)
        again = subwords.load(kept_files.DEMO)
        assert kept_of(again) == (damaged == content)
        assert again.encode(LINE) == made.encode(LINE)
        assert kept_of(subwords.load(kept_files.DEMO))  # it is written anew


@pytest.mark.skipif(os.name != "posix", reason="links and owners")
@pytest.mark.parametrize("planted", ["link", "another owner", "writable folder"])
def test_a_kept_file_of_others_is_left_aside(data: Path, folder: Path, tmp_path: Path, planted: str) -> None:
    path = file_of(data, FILES[0])
    twice(path)
    (file,) = folder.glob("kept-*")
    if planted == "link":
        shutil.move(file, tmp_path / "elsewhere")
        file.symlink_to(tmp_path / "elsewhere")
    elif planted == "writable folder":
        folder.chmod(0o777)
    elif os.geteuid() == 0:
        os.chown(file, 4711, 4711)
    else:
        pytest.skip("only root can give files away")
    assert not kept_of(subwords.load(path))
