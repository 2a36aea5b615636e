"""Object stores: what is read from and written to URLs equals what is read from and written to files."""

from __future__ import annotations

import gzip
import io
import json
import logging
import os
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import subwords
from in_shards import count_to
from inside import Remote, atomic_write, is_remote, local_copy, place_of, version_of
from subwords import CorpusError, InputError, Reading, SubwordsError, files
from subwords.cli import main
from subwords.machine import files_and_texts
from subwords.scale import Run

BUCKET = "s3://bucket"
ROWS = [{"text": f"Rays of Light {n % 7} né {n}"} for n in range(400)]
# Warnings of the libraries of a store are not ours.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    """A store that answers as S3, and its files; worker processes find it by their environment."""
    for name in ("upath", "s3fs", "moto.server", "pyarrow"):
        pytest.importorskip(name)
    import s3fs
    from moto.server import ThreadedMotoServer

    running = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        patch.setenv("NO_PROXY", host)
        logging.getLogger("werkzeug").setLevel(logging.ERROR)  # it logs every request
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            patch.setenv(name, "nobody")
        s3fs.S3FileSystem.clear_instance_cache()
        yield s3fs.S3FileSystem()
        s3fs.S3FileSystem.clear_instance_cache()
    running.stop()


@pytest.fixture
def store(server: Any) -> Iterator[Any]:
    """The store with one empty bucket."""
    server.invalidate_cache()
    server.mkdir("bucket")
    yield server
    server.invalidate_cache()
    server.rm("bucket", recursive=True)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A folder of JSON Lines at two depths and Parquet, with hidden files and a compressed text beside."""
    import pyarrow as pa
    from pyarrow import parquet

    folder = tmp_path / "in"
    (folder / "deep").mkdir(parents=True)
    (folder / ".hidden").mkdir()
    lines = "".join(json.dumps(row) + "\n" for row in ROWS)
    for name in ("a.jsonl", "deep/b.jsonl", ".hidden/c.jsonl", ".d.jsonl"):
        (folder / name).write_text(lines.replace("Light", name), "utf-8")
    parquet.write_table(pa.Table.from_pylist(ROWS[::-1]), folder / "e.parquet", row_group_size=50)
    (folder / "f.txt.gz").write_bytes(gzip.compress(b"a Prism and a Ray\n" * 500))
    with (
        pa.OSFile(str(folder / "g.arrow"), "wb") as sink,
        pa.ipc.new_file(sink, pa.schema([("text", pa.string())])) as out,
    ):
        out.write_table(pa.Table.from_pylist(ROWS[:99]))
    return folder


@pytest.fixture
def uploaded(store: Any, corpus: Path) -> str:
    """The URL of the same folder."""
    for file in corpus.rglob("*"):
        if file.is_file():
            store.put_file(str(file), f"bucket/in/{file.relative_to(corpus).as_posix()}")
    return f"{BUCKET}/in"


def tokenizer() -> subwords.Tokenizer:
    return subwords.train([row["text"] for row in ROWS], vocab_size=300, special_tokens=["<end>"])


def objects(store: Any, folder: str = "bucket/out") -> dict[str, bytes]:
    store.invalidate_cache()
    return {key.rpartition("/")[2]: store.cat_file(key) for key in store.find(folder)}


def bytes_in(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}


def without_inputs(made: dict[str, bytes]) -> dict[str, Any]:
    """Files, of a manifest all but the names of its inputs."""
    found: dict[str, Any] = dict(made)
    for name in found:
        if name.endswith(".manifest.json"):
            found[name] = json.loads(found[name])
            found[name]["contents"]["inputs"] = [row["bytes"] for row in found[name]["contents"]["inputs"]]
    return found


SOURCES = [
    "",
    "/",
    "/*.jsonl",
    "/**/*.jsonl",
    "/a.jsonl",
    "/e.parquet",
    "/f.txt.gz",
    "/g.arrow",
    "/.hidden/*",
    "/[ae].*",
]


@pytest.mark.parametrize("source", SOURCES)
def test_a_url_is_counted_as_the_same_files(
    tmp_path: Path, corpus: Path, uploaded: str, source: str, store: Any
) -> None:
    names = [str(file).removeprefix(str(corpus)) for file in files_and_texts(f"{corpus}{source}")[0]]
    assert [str(file).removeprefix(uploaded) for file in files_and_texts(f"{uploaded}{source}")[0]] == names
    subwords.count(f"{corpus}{source}").save(tmp_path / "counts")
    subwords.count(f"{uploaded}{source}").save(f"{BUCKET}/out/counts")
    assert objects(store) == {"counts": (tmp_path / "counts").read_bytes()}


def test_bounded_memory_lines_and_skipping_are_the_same(corpus: Path, uploaded: str, store: Any) -> None:
    (corpus / "h.txt").write_bytes(b"good\nbad \xff\ngood\n")
    store.put_file(str(corpus / "h.txt"), "bucket/in/h.txt")
    for memory, reading in (
        ("2GB", Reading(errors="replace")),
        (None, Reading(documents="line", errors="skip")),
        (None, Reading(errors="replace")),
    ):
        for name in ("h.txt", "a.jsonl"):
            places = (f"{place}/{name}" for place in (uploaded, corpus))
            found, expected = (subwords.count(place, reading=reading, memory=memory) for place in places)
            assert dict(found) == dict(expected)


def test_counts_are_saved_and_loaded(uploaded: str) -> None:
    counts = subwords.count(uploaded)
    counts.save(f"{BUCKET}/out/counts")
    assert dict(subwords.WordCounts.load(f"{BUCKET}/out/counts")) == dict(counts)
    assert subwords.train(uploaded, vocab_size=290).vocab_size == subwords.train(counts, vocab_size=290).vocab_size


@pytest.mark.parametrize("form", ["npy", "bin", "megatron", "parquet", "datatrove", "llmc"])
def test_token_files_are_those_of_files(tmp_path: Path, corpus: Path, uploaded: str, store: Any, form: Any) -> None:
    tok, out = tokenizer(), tmp_path / "out"
    out.mkdir()
    for source, target in ((str(corpus), f"{out}/x.bin"), (uploaded, f"{BUCKET}/out/x.bin")):
        tok.encode_files(source, target, format=form, eos="<end>", shard_size=3000, shuffle=1)
    found = objects(store)
    assert len(found) > 3
    assert without_inputs(found) == without_inputs(bytes_in(out))
    assert files.check(f"{BUCKET}/out/x.manifest.json") == []
    store.pipe_file(f"bucket/out/{sorted(found)[0]}", b"")
    assert files.check(f"{BUCKET}/out/x.manifest.json") == sorted(found)[:1]


RUNS = [{"workers": 2}, {}, {"rank": 0, "world_size": 1}]


@pytest.mark.parametrize("options", RUNS, ids=str)
def test_a_job_with_all_its_folders_in_a_store(
    tmp_path: Path, corpus: Path, uploaded: str, store: Any, options: dict[str, Any]
) -> None:
    run, tok, out = Run(shard_bytes=5000, **options), tokenizer(), tmp_path / "out"
    out.mkdir()
    subwords.count(corpus).save(out / "counts")
    tok.encode_files(corpus, out / "x.npy", eos="<end>")
    counts = count_to(uploaded, f"{BUCKET}/out/counts", run=run)
    assert counts is not None
    assert dict(counts) == dict(subwords.count(corpus))
    tok.encode_files(uploaded, f"{BUCKET}/out/x.npy", eos="<end>", run=run)
    found = objects(store)
    if run.rank is not None:  # ranks keep their parts
        found = {name: data for name, data in found.items() if name in bytes_in(out)}
    expected, made = without_inputs(bytes_in(out)), without_inputs(found)
    inputs = [manifest.pop("contents")["inputs"] for manifest in (expected["x.manifest.json"], made["x.manifest.json"])]
    assert made == expected
    assert sum(inputs[1]) == sum(file.stat().st_size for file in files_and_texts(corpus)[0])


def test_a_job_goes_on_and_reads_a_changed_object_again(corpus: Path, uploaded: str, store: Any) -> None:
    run = Run(shard_bytes=5000, keep=True, folder=f"{BUCKET}/parts")
    count_to(uploaded, f"{BUCKET}/out/counts", run=run)
    marks = {name for name in objects(store, "bucket/parts") if name.endswith(".json")}
    times = {key: store.info(key)["LastModified"] for key in store.find("bucket/parts")}
    count_to(uploaded, f"{BUCKET}/out/again", run=run)
    store.invalidate_cache()
    assert {key: store.info(key)["LastModified"] for key in store.find("bucket/parts")} == times
    size = store.size("bucket/in/a.jsonl")
    store.pipe_file("bucket/in/a.jsonl", json.dumps({"text": "other"}).encode().ljust(size))
    counts = count_to(uploaded, f"{BUCKET}/out/third", run=run)
    assert counts is not None
    assert b"other" in dict(counts)
    assert objects(store, "bucket/parts").keys() > marks


def test_an_error_leaves_no_object(store: Any) -> None:
    def texts() -> Iterator[str]:
        yield "some text"
        raise RuntimeError("planted")

    with pytest.raises(RuntimeError, match="planted"):
        tokenizer().encode_files(texts(), f"{BUCKET}/out/x.npy")
    store.pipe_file("bucket/out/old", b"old")
    with pytest.raises(RuntimeError, match="planted"), atomic_write(f"{BUCKET}/out/old") as file:
        file.write(b"new")
        raise RuntimeError("planted")
    assert objects(store) == {"old": b"old"}


FAILING: dict[str, Callable[[], Any]] = {
    "s3://bucket/in/missing.jsonl": lambda: subwords.count("s3://bucket/in/missing.jsonl"),
    "s3://bucket/in/*.missing": lambda: subwords.count("s3://bucket/in/*.missing"),
    "s3://missing/in/a.jsonl": lambda: subwords.count("s3://missing/in/a.jsonl"),
    "s3://missing/*.jsonl": lambda: subwords.count("s3://missing/*.jsonl"),
    "s3://missing/counts": lambda: subwords.count(["a"]).save("s3://missing/counts"),
    "s3://bucket/in/counts": lambda: subwords.WordCounts.load("s3://bucket/in/counts"),
    "s3://missing/x.": lambda: tokenizer().encode_files(["a"], "s3://missing/x.npy"),
    "s3://missing/c.parts": lambda: count_to("s3://bucket/in", "s3://missing/c"),
    "s3://missing/parts": lambda: count_to("s3://bucket/in", "s3://bucket/c", run=Run(folder="s3://missing/parts")),
    "s3://bucket/x.npy": lambda: files.open("s3://bucket/x.npy"),
    "s3://bucket/tok.json": lambda: tokenizer().save("s3://bucket/tok.json"),
}


@pytest.mark.parametrize("url", FAILING)
def test_errors_name_the_url_and_say_what_to_do(uploaded: str, store: Any, url: str) -> None:
    with pytest.raises(SubwordsError, match=r"check the name|copy it") as caught:
        FAILING[url]()
    assert url in str(caught.value)
    assert not store.exists("missing")


def test_the_command_line_takes_urls(tmp_path: Path, uploaded: str, store: Any) -> None:
    def run(*arguments: str) -> Any:
        got = CliRunner().invoke(main, [*arguments, "--json"], prog_name="subwords")
        assert got.exit_code == 0, (got.output, got.exception)
        return json.loads(got.stdout)

    saved = f"{tmp_path}/tok.json"
    counts = run("count", f"{uploaded}/*.jsonl", "-q", "-o", f"{BUCKET}/out/counts")
    assert counts["saved"] == f"{BUCKET}/out/counts"
    run("train", f"{BUCKET}/out/counts", "-q", "--vocab-size", "280", "-o", saved)
    job = ("--shard-bytes", "9000", "--workers", "2", "--parts", f"{BUCKET}/parts", "--keep-parts")
    made = run("tokens", saved, uploaded, "-q", "--format", "megatron", "-o", f"{BUCKET}/out/x.bin", *job)
    assert made["saved"] == f"{BUCKET}/out/x.bin"
    assert objects(store).keys() == {"counts", "x.bin", "x.idx", "x.manifest.json"}
    assert objects(store, "bucket/parts")
    assert run("tokens", saved, "--count", uploaded)["tokens"] == made["total"]
    run("encode", saved, f"{uploaded}/f.txt.gz", "-o", f"{BUCKET}/out/one.txt")
    assert objects(store)["one.txt"].split()[0].isdigit()
    got = CliRunner().invoke(main, ["train", uploaded, "--vocab-size", "280", "-o", f"{BUCKET}/tok.json"])
    assert got.exit_code == 2
    assert "use a local file, and copy it" in got.output


def test_paths_of_universal_pathlib_are_paths(uploaded: str, corpus: Path) -> None:
    from upath import UPath

    expected = dict(subwords.count(corpus / "a.jsonl"))
    for source in (UPath(f"{uploaded}/a.jsonl"), [UPath(f"{uploaded}/a.jsonl")], UPath(corpus / "a.jsonl")):
        assert dict(subwords.count(source)) == expected  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"pass upath\.UPath objects"):
        subwords.count([f"{uploaded}/a.jsonl"])
    assert len(subwords.count(["https://example.org/a", "https://example.org/b"]))
    with pytest.raises(CorpusError, match=r"not a pathlib\.Path"):
        subwords.count(Path(f"{uploaded}/a.jsonl"))


# ------------------------------------------------------------------ without a server


@pytest.fixture
def memory() -> Iterator[Any]:
    pytest.importorskip("upath")
    import fsspec

    found = fsspec.filesystem("memory")
    yield found
    found.store.clear()
    found.pseudo_dirs[:] = [""]


def test_memory_is_a_store(memory: Any, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"Rays of Light\n" * 99)
    memory.pipe_file("/in/a.txt", b"Rays of Light\n" * 99)
    tok = tokenizer()
    subwords.count("memory://in").save("memory://out/counts")
    subwords.count(tmp_path / "a.txt").save(tmp_path / "counts")
    tok.encode_files("memory://in/*.txt", "memory://out/x.bin", format="megatron", reading=Reading(documents="line"))
    tok.encode_files(tmp_path / "a.txt", tmp_path / "x.bin", format="megatron", reading=Reading(documents="line"))
    for name in ("counts", "x.bin", "x.idx"):
        assert memory.cat_file(f"/out/{name}") == (tmp_path / name).read_bytes()
    reading = Reading(documents="line")
    counts = count_to("memory://in", "memory://out/job", reading=reading, run=Run(shard_bytes=200))
    assert counts is not None
    assert dict(counts) == dict(subwords.count(tmp_path / "a.txt", reading=Reading(documents="line")))
    assert sorted(memory.find("/out")) == [
        "/out/counts",
        "/out/job",
        "/out/x.bin",
        "/out/x.idx",
        "/out/x.manifest.json",
    ]
    with pytest.raises(InputError, match="only this process sees it"):
        count_to("memory://in", "memory://out/job", run=Run(workers=2))


class ConnectError(Exception):
    """As libraries of stores name it, which is no OSError."""


@pytest.mark.parametrize(
    ("planted", "expected"),
    [
        (PermissionError("AccessDenied"), r"no permission \(AccessDenied\): check the credentials"),
        (ConnectError("refused"), r"no connection \(refused\): check the network"),
        (RuntimeError("odd"), r"RuntimeError: odd"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_a_store_raises_is_an_error_of_ours(
    memory: Any, monkeypatch: pytest.MonkeyPatch, planted: Exception, expected: str
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise planted

    memory.pipe_file("/in/a.txt", b"text")
    memory.pipe_file("/in/b.jsonl", b"{}")
    for name in ("put_file", "open", "info"):
        monkeypatch.setattr(type(memory), name, fails)
        with pytest.raises(InputError, match=f"^cannot write memory://out/c: {expected}"):
            subwords.count(["a"]).save("memory://out/c")
        if name != "put_file":
            with pytest.raises(CorpusError, match=f"^memory://in/a.txt: cannot [a-z ]*: {expected}"):
                subwords.count("memory://in/a.txt")


class Answer(io.BytesIO):
    """The store announces another size of an object than it sends."""

    size = 999


@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "counts"])
def test_an_answer_shorter_than_announced_is_an_error(memory: Any, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A part of a corpus or of a file is never taken for the whole."""
    memory.pipe_file(f"/in/{name}", b'{"text": "Rays of Light"}\n' * 9)
    monkeypatch.setattr(type(memory), "open", lambda *_, **__: Answer(b'{"text": "Rays"}\n'))
    monkeypatch.setattr(type(memory), "get_file", lambda _, key, file, **__: Path(file).write_bytes(b"{"))
    with pytest.raises(SubwordsError, match="as the store announced, got"):
        if name == "counts":
            subwords.WordCounts.load(f"memory://in/{name}")
        else:
            subwords.count(f"memory://in/{name}")


def test_a_name_of_a_store_is_no_path_here(memory: Any, tmp_path: Path) -> None:
    memory.pipe_file("/in/..\\up:x", b"text")
    with local_copy(place_of("memory://in/..\\up:x")) as copy:
        assert copy.name == ".._up_x" and copy.read_bytes() == b"text"


def test_a_full_disk_is_an_error_of_the_temporary_file(memory: Any) -> None:
    with pytest.raises(InputError, match=r"cannot write a temporary file for memory://out/c to .*: full"):  # noqa: SIM117
        with atomic_write("memory://out/c"):
            raise OSError(28, "full")


def test_without_universal_pathlib_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "upath", None)
    for call in (
        lambda: subwords.count("s3://bucket/a.txt"),
        lambda: subwords.count(["a"]).save("s3://bucket/counts"),
        lambda: tokenizer().encode_files(["a"], "gs://bucket/x.npy"),
        lambda: count_to(Path(__file__), "s3://bucket/counts"),
        lambda: count_to(Path(__file__), "counts", run=Run(folder="s3://bucket/parts")),
    ):
        with pytest.raises(InputError, match=r'bucket/.* needs universal-pathlib: pip install .*\[files\]"'):
            call()


@pytest.mark.skipif(find_spec("gcsfs") is not None, reason="the library is here")
def test_without_the_library_of_a_store_the_error_names_it() -> None:
    pytest.importorskip("upath")
    with pytest.raises(InputError, match=r"the library of this store is not installed: .*gcsfs"):
        subwords.count("gs://bucket/a.txt")
    with pytest.raises(InputError, match=r"nope://bucket/a\.txt: expected the URL of an object store"):
        subwords.count("nope://bucket/a.txt")


def test_urls_are_told_from_paths(tmp_path: Path) -> None:
    for url in ("s3://bucket/a", "gs://b", "simplecache::s3://b/a", "hf://datasets/a"):
        assert is_remote(url), url
    for path in ("a.txt", "/a/b", "C://a", "file:///a", "see http://a", "://a", "", Path("s3://a"), b"s3://a", None, 1):
        assert not is_remote(path), path
    assert place_of(f"file://{tmp_path.as_posix()}/a") == tmp_path / "a"
    (tmp_path / "a.txt").write_text("text")
    assert version_of(tmp_path / "a.txt") == os.stat(tmp_path / "a.txt").st_mtime_ns  # noqa: PTH116
    assert dict(subwords.count(f"file://{tmp_path.as_posix()}/a.txt")) == {b"text": 1}


def test_a_place_has_the_parts_of_a_path(memory: Any) -> None:
    place: Any = place_of("memory://in/a.tar.gz")
    assert isinstance(place, Remote)
    assert (place.name, place.stem, place.suffix, str(place.parent)) == ("a.tar.gz", "a.tar", ".gz", "memory://in")
    assert str(place.with_name("b")) == "memory://in/b"
    assert str(place.with_suffix(".idx")) == "memory://in/a.tar.idx"
    assert place == place_of("memory://in/a.tar.gz")
    assert len({place, place_of(place)}) == 1
    assert sorted([place.parent / "b-c", place.parent / "b" / "c"])[0] == place.parent / "b" / "c"
    assert repr(place) == "Remote('memory://in/a.tar.gz')"
