"""Exported tokenizers, run by node: the same ids and texts as in Python."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import accumulate
from pathlib import Path
from queue import Queue
from threading import Thread

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import subwords
from subwords import SubwordsError, Tokenizer
from subwords.files import export, export_page
from subwords.machine import json_of

CHECK = Path(__file__).parents[1] / "programs" / "web_check.mjs"
PLACES = [parent / "shared" / "data" for parent in Path(__file__).parents]
DATA = next((place for place in PLACES if place.is_dir()), PLACES[0])
NODE = shutil.which("node")
FILES = {
    "gpt2": "gpt2/tokenizer.json",
    "cl100k": "converted/cl100k_base.tokenizer.json",
    "bert": "bert/bert-base-uncased-tokenizer.json",
    "t5": "t5/tokenizer.json",
    "phi-3": "phi-3/phi-3-mini-tokenizer.json",
}
SIZES = ((15, 40), (200, 15), (9000, 4))  # characters of chunks, and how many of a text
TRICKY = (
    *("", " ", "a", "low lower", "\n \n x", "café e\u0301", "日本語", "\u2581a"),
    *("a\u0000b", "<s>low</s>", "😀" * 9, "\ufeffx"),
)
SOURCE = ["the low lower lowest, the newer widest; café, naïve, 12 34! 日本 語 electroencephalographically"] * 4

pytestmark = [pytest.mark.skipif(NODE is None, reason="node is not installed"), pytest.mark.usefixtures("wasm")]


POLICIES = ("text", "allow")


def different(tok: Tokenizer, folder: Path, texts: list[str], policies: tuple[str, ...] = POLICIES) -> list[str]:
    """What node finds to differ from Python for an exported tokenizer."""
    cases = write_cases(tok, folder, texts, policies)
    command = [str(NODE), str(CHECK), str(folder), str(cases)]
    found = subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout.splitlines()
    assert found[0].endswith(" same")
    return found[1:]


def write_cases(tok: Tokenizer, folder: Path, texts: list[str], policies: tuple[str, ...]) -> Path:
    cases = folder / "cases.jsonl"
    with cases.open("w", encoding="utf-8") as file:
        for text in texts:
            for policy in policies:
                ids = tok.encode(text, special=policy)
                spans = units(text, tok(text, special=policy).spans.ravel().tolist()) if tok.lossless else None
                file.write(json.dumps([text, policy, ids, tok.decode(ids), spans]) + "\n")
    return cases


def units(text: str, characters: list[int]) -> list[int]:
    """Places in characters as places in UTF-16 units."""
    before = [0, *accumulate(1 + (char > "\uffff") for char in text)]
    return [before[place] for place in characters]


def texts_of(file: Path) -> Iterator[str]:
    text = file.read_bytes()[:200_000].decode("utf-8", "ignore")
    for size, most in SIZES:
        yield from (text[k : k + size] for k in range(0, min(len(text), size * most), size))


@pytest.mark.skipif(not DATA.is_dir(), reason="the development data are not there")
@pytest.mark.rotating(2, always=("gpt2",))
@pytest.mark.parametrize("name", FILES)
def test_known_tokenizers_give_the_same_ids(name: str, tmp_path: Path) -> None:
    tok = subwords.load(DATA / "tokenizers" / FILES[name])
    assert export(tok, tmp_path).compressed["tokenizer.bin"] < 400_000
    files = sorted(file for folder in ("corpora", "adversarial") for file in (DATA / folder).glob("*.txt"))
    assert different(tok, tmp_path, [*TRICKY, *(text for file in files for text in texts_of(file))]) == []
    # Whole files: long texts in parts, and words that are longer than any buffer.
    whole = [file.read_bytes()[:1_100_000].decode("utf-8", "ignore") for file in files[::12]]
    assert different(tok, tmp_path, whole, ("text",)) == []


TRAININGS = {
    "bpe": {"vocab_size": 300, "special_tokens": ["<s>", "</s>"]},
    "wordpiece": {"vocab_size": 60, "special_tokens": ["[PAD]", "[UNK]"]},
    "unigram": {"vocab_size": 60, "special_tokens": ["<unk>", "<s>"]},
    "wordlevel": {"vocab_size": 16, "special_tokens": ["<unk>", "<s>"]},
}


@pytest.fixture(scope="module", params=TRAININGS)
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Tokenizer, Path]:
    tok = subwords.train(SOURCE, algorithm=request.param, **TRAININGS[request.param])
    folder = tmp_path_factory.mktemp(request.param)
    export(tok, folder)
    return tok, folder


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.text(st.characters(exclude_categories=["Cs"])) | st.text("low er\n<s>é"), min_size=1))
def test_trained_tokenizers_give_the_same_ids(trained: tuple[Tokenizer, Path], texts: list[str]) -> None:
    tok, folder = trained
    assert different(tok, folder, [*TRICKY, *SOURCE, *texts, " ".join(texts) * 99]) == []


def test_long_texts_and_long_words(trained: tuple[Tokenizer, Path]) -> None:
    tok, folder = trained
    texts = ["lower newest " * 60_000, "é" * 200_000, "a" * 300_000, "".join(map(str, range(90_000))), "\n" * 99_999]
    assert different(tok, folder, texts, ("text",)) == []


def test_two_exports_are_equal(tmp_path: Path) -> None:
    first, again = (export("demo", tmp_path / name) for name in ("first", "again"))
    for name, size in first.sizes.items():
        content = (tmp_path / "first" / name).read_bytes()
        assert len(content) == size == again.sizes[name]
        assert content == (tmp_path / "again" / name).read_bytes()
    assert "subwords.wasm" in (tmp_path / "first" / "README.md").read_text("utf-8")
    [table] = first.tables()
    assert [row[0] for row in table.rows] == [*first.sizes]


def test_what_has_no_kernels_is_refused_by_name(tmp_path: Path) -> None:
    tok = subwords.train(SOURCE, vocab_size=270, splitter=subwords.splitter(r"(?<=o)\w+|\s+|."))
    with pytest.raises(SubwordsError, match="cannot be exported for the web: its splitter"):
        export(tok, tmp_path / "web")
    assert not (tmp_path / "web").exists()


def test_other_modes_than_compiled_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("subwords.engine.web_image.MODE", "checked")
    with pytest.raises(SubwordsError, match=r"expected compiled kernels, .* SUBWORDS_KERNELS is 'checked'"):
        export("demo", tmp_path / "web")


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")
OPTIONS = {CHROMIUM: ["--no-sandbox", "--disable-gpu", "--user-data-dir="], FIREFOX: ["--no-remote", "--profile="]}
POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'; require-trusted-types-for 'script'"
)


class Handler(SimpleHTTPRequestHandler):
    """Serves a folder under a strict policy, and takes one answer."""

    extensions_map = {".html": "text/html", ".js": "text/javascript", ".mjs": "text/javascript"}  # noqa: RUF012
    found: Queue[str] = Queue()
    policy = POLICY

    def end_headers(self) -> None:
        if Handler.policy:
            self.send_header("Content-Security-Policy", Handler.policy)
        super().end_headers()

    def do_POST(self) -> None:
        Handler.found.put(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


@contextmanager
def opened(browser: str | None, folder: Path, page: str) -> Iterator[None]:
    """A browser with a page of a folder."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        (folder / "profile").mkdir()
        *options, profile = OPTIONS[browser]
        address = f"http://127.0.0.1:{server.server_port}/{page}"
        command = [str(browser), "--headless", *options, f"{profile}{folder / 'profile'}", address]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as running:
            yield
            running.terminate()
        server.shutdown()


@pytest.mark.parametrize("browser", [CHROMIUM, FIREFOX], ids=["chromium", "firefox"])
def test_a_page_with_a_strict_policy_gives_the_same_ids(
    browser: str | None, trained: tuple[Tokenizer, Path], tmp_path: Path
) -> None:
    if browser is None:
        pytest.skip("it is not installed")
    tok, folder = trained
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    shutil.copy(CHECK, tmp_path)
    (tmp_path / "page.html").write_text('<!doctype html><script type="module" src="web_check.mjs"></script>', "utf-8")
    texts = [*TRICKY, *SOURCE, "lower newest " * 9_000]
    write_cases(tok, tmp_path, texts, POLICIES)
    Handler.policy = POLICY
    with opened(browser, tmp_path, "page.html"):
        assert Handler.found.get(timeout=60) == f"{2 * len(texts)} same"


SHOWN = """
const seen = () => [...document.querySelectorAll(".column")].map((one) => one.querySelectorAll(".chip").length);
const tell = () => fetch("found", { method: "POST", body: seen().join() });
const wait = () => (document.documentElement.dataset.ready ? tell() : setTimeout(wait, 50));
wait();
"""


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
def test_a_page_in_one_file_shows_tokens_and_connects_to_nothing(
    trained: tuple[Tokenizer, Path], tmp_path: Path
) -> None:
    tok, _ = trained
    given = [tok, subwords.load("demo")]
    page = export_page(given, tmp_path / "page.html", text=SOURCE[0], names=["</script><b>", "demo"])
    html = page.read_text("utf-8")
    # The test asks what the page shows; its policy forbids that.
    assert "connect-src" not in html and "default-src 'none'" in html and "</script><b>" not in html
    (tmp_path / "asked.html").write_text(re.sub("<meta http-equiv.*", "", html) + f"<script>{SHOWN}</script>", "utf-8")
    Handler.policy = ""
    with opened(CHROMIUM, tmp_path, "asked.html"):
        assert Handler.found.get(timeout=60) == ",".join(str(len(each.encode(SOURCE[0]))) for each in given)
    with pytest.raises(SubwordsError, match="expected 1 to 4 tokenizers, not 0"):
        export_page([], page)


GUIDE = (Path(__file__).parents[2] / "docs" / "web.md").read_text("utf-8")
HOOKS = (CHECK.parent / "web_hooks.mjs").as_uri()
# As in a worker: no code is made from strings.
FLAGS = (
    "--disallow-code-generation-from-strings",
    f'--import=data:text/javascript,import{{register}}from"node:module";register("{HOOKS}")',
)
CALLED = """
import worker from "./worker.mjs";
const answer = await worker.fetch(new Request("http://x", { method: "POST", body: "Light is refracted." }));
console.assert((await answer.json()).tokens === 4);
"""


def run_program(folder: Path, name: str, code: str) -> None:
    """Run a module in node; it fails if it says anything, as `console.assert` does."""
    (folder / f"{name}.mjs").write_text(code, "utf-8")
    command = [str(NODE), *FLAGS, str(folder / f"{name}.mjs")]
    assert subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False).stderr == ""


def test_the_code_of_the_guide_runs(tmp_path: Path) -> None:
    sizes = export("demo", tmp_path / "web").compressed
    assert sum(sizes.values()) < 1 << 20  # what a worker may have
    blocks = re.findall(r"^```js\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
    for block in blocks:
        run_program(tmp_path, "worker" if "export default" in block else "block", block)
    run_program(tmp_path, "called", CALLED)
    cells = re.findall(r"^\|[^|]*\| `[^`]+` \| `([^`]+)` \|$", GUIDE, re.MULTILINE)
    head = 'import { load } from "./web/index.js"; const tok = await load(), text = "a", ids = tok.encode(text);'
    around = "const template = false, show = () => {};"
    # The demo has no template.
    code = "\n".join(f"{{ {cell.replace('template: true', 'template')} }}" for cell in cells)
    run_program(tmp_path, "cells", f"{head} {around}\n{code}")
    assert len(blocks) == 3 and len(cells) == 11


def test_trimmed_spans_are_refused(tmp_path: Path) -> None:
    demo = json.loads(json_of(subwords.load("demo").spec))
    demo["post_processor"] = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    (tmp_path / "trims.json").write_text(json.dumps(demo), "utf-8")
    export(subwords.load(tmp_path / "trims.json"), tmp_path)
    program = 'import { load } from "./index.js"; (await load()).encodeWithSpans(" a");'
    (tmp_path / "program.mjs").write_text(program, "utf-8")
    found = subprocess.run([str(NODE), str(tmp_path / "program.mjs")], capture_output=True, text=True, check=False)
    assert "spans are not available: this tokenizer removes whitespace from them" in found.stderr


# A call must not change what the next one gives: sizes of its parts, memory that ran out, a step with a bad id.
LEAVES = """
import { load } from "./index.js";
import { readFileSync } from "node:fs";
const plain = await load(), tok = await load();
const texts = Array.from({ length: 70 }, (_, k) => `low ${k} `.repeat(6000));
tok.encode("x", { special: "allow" });
const wanted = texts.map((text) => plain.encode(text).join());
console.assert(tok.encodeBatch(texts).every((ids, k) => ids.join() === wanted[k]), "texts after allow");
let text = "low lower ".repeat(30000);
const before = process.memoryUsage().rss;
for (let k = 0; k < 300; k++) tok.count((text += " low"));
console.assert(process.memoryUsage().rss - before < 64 << 20, "memory of a growing text");
const { grow } = WebAssembly.Memory.prototype;
WebAssembly.Memory.prototype.grow = () => { throw new RangeError(); };
let said = "";
const words = Array.from({ length: 400000 }, (_, k) => "w" + k * k).join(" ");
try { tok.count(words); } catch (error) { said = error.message; }
console.assert(said.startsWith("expected a text for which there is memory"), said);
WebAssembly.Memory.prototype.grow = grow;
console.assert(tok.encode("hello").join() === plain.encode("hello").join(), "after an error");
const stream = tok.stream(), ids = plain.encode("low lower");
try { stream.step([...ids, 1 << 20]); } catch {}
console.assert(stream.step(ids) + stream.finish() === "low lower", "a stream after an error");
console.assert(tok.decode({ length: 1, 0: ids[0] }) === tok.decode([ids[0]]), "array-likes");
const wasm = readFileSync("subwords.wasm");
wasm[wasm.length - 1] ^= 1;
const other = await load({ module: wasm, image: readFileSync("tokenizer.bin") }).catch((error) => error.message);
console.assert(String(other).startsWith("tokenizer.bin was not made for this"), String(other));
"""


def test_a_call_leaves_nothing_behind(tmp_path: Path) -> None:
    export("demo", tmp_path)
    (tmp_path / "leaves.mjs").write_text(LEAVES, "utf-8")
    command = [str(NODE), "leaves.mjs"]
    assert subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False, cwd=tmp_path).stderr == ""


def test_names_of_a_page_are_as_many_as_tokenizers(tmp_path: Path) -> None:
    with pytest.raises(SubwordsError, match="expected 1 names, one for each tokenizer, not 2"):
        export_page(["demo"], tmp_path / "page.html", names=["a", "b"])


PROGRAM = """
import { load } from "./index.js";
const tok = await load(), told = [];
for (const call of [() => tok.encode("a\\ud800"), () => tok.decode([1 << 20]), () => tok.decode([0.5]),
                    () => tok.encode("a", { special: "all" }), () => tok.encode(3), () => tok.decode("1 2")])
  try { call(); } catch (error) { told.push(error.message); }
for (let k = 0; k < 20000; k++) tok.encode("low lower " + k);
const before = process.memoryUsage().rss;
for (let k = 0; k < 100000; k++) tok.encode("low lower " + k);
console.log(JSON.stringify([told, process.memoryUsage().rss - before]));
"""


def test_errors_and_memory(tmp_path: Path) -> None:
    export("demo", tmp_path)
    (tmp_path / "program.mjs").write_text(PROGRAM, "utf-8")
    found = subprocess.run([str(NODE), str(tmp_path / "program.mjs")], capture_output=True, text=True, check=True)
    told, growth = json.loads(found.stdout)
    assert told == [
        "expected text without lone surrogates",
        "expected ids from 0 to 4095; ids[0] is 1048576",
        "expected ids from 0 to 4095; ids[0] is 0.5",
        'expected special to be "text" or "allow", not all',
        "expected text as a string, not number",
        "expected ids as an array of numbers, not a string",
    ]
    assert growth < 64 << 20
