"""Compare the ids of tokenizer files with those of their own libraries, on texts by the million, on every path to ids.

    python -m tools.campaign ../shared/data/tokenizers --data ../shared/data --hours 8 --jobs 2 --out campaign
    python -m tools.campaign --evidence campaign      # the record of the package, and the table of COMPATIBILITY

A manifest for each file says what ran: digests of the file and of the kernels, versions, texts and characters on each
path, differences. A campaign can be stopped and started again; it goes on with other texts, drawn by the next seed.
`--ray` gives turns to the machines of a Ray cluster, which see the same folders. With node, the exported tokenizer is a
path, too.
Texts are windows of corpora and of hard files, mutations of such windows, and runs of characters of many alphabets.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import sha256
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]
OURS = os.pathsep.join(sys.path[:2])  # for processes of its own

import subwords  # noqa: E402
from subwords.interop.evidence import RECORD  # noqa: E402
from subwords.interop.verify import Original, open_original  # noqa: E402
from subwords.machine import sources_digest  # noqa: E402

Rows = tuple[Any, Any]  # the ids of texts one after the other, and where each text's begin and the last one's end
Encode = Callable[[Sequence[str]], Rows]
FEW = 4096  # texts of a batch, at most
MANY = 1 << 21  # characters of a batch, at most
LONG = 1 << 18  # characters of the text that threads share
MOST_SEEN = 0x323B0  # code points from here on are rare: they differ between versions of Unicode
MOST_EXAMPLES = 5  # differences that a manifest holds
BEGIN, END = "<!-- campaign: made by `python -m tools.campaign --evidence FOLDER` -->", "<!-- /campaign -->"
SUFFIXES = (".json", ".model", ".v1", ".v3", ".spm", ".tiktoken", ".txt")

GROUPS: tuple[Sequence[str], ...] = (
    "etaoinshrdlu",
    "ABCXYZ",
    "0123456789²½٣",
    (" ", "  ", "\n", "\r\n", "\t", "\n\n", "\u00a0", "\u3000", "\u2028", "\x85", "\x1c", "\u200b", "   "),
    ".,;:!?-_'\"()[]{}<>/\\|@#$%^&*+=~`",
    ("'s", "'T", "'re", "'VE", "'ll", "'ſ", "n't", "’s"),
    "éüñçøßıİſŉǅﬁ\u0301\u0308\u0323",
    "αβγσςΣабвіїЙ",
    "中文字東京、。！「」々〇",
    "한국어ㄱ\u1100\u1161\u11a8กิ์คำक्षिمُعَ\u0640שּ",
    ("😀", "👩\u200d👩\u200d👧", "👍🏽", "🇩🇪", "❤\ufe0f", "\u20e3", "🏴\U000e0067\U000e007f"),
    ("\0", "\x01", "\x7f", "\u202e", "\u2066", "\ufeff", "\ufffd", "\ufffe", "\u00ad", "\ue000", "\U0010ffff"),
    ("<|endoftext|>", "<|end", "</s>", "<unk>", "[UNK]", "▁", "##a", "Ġ", "<0x41>", "\u0120", "http://a.b/c?d=1"),
    ("the", " of", " and", "ing", " token", "izer", " 1,234.5", "camelCase", "__init__", "    return"),
)


# ------------------------------------------------------------------ texts


class Maker:
    """Makes texts from atoms: runs of one group, some of them of one atom; and sometimes any character."""

    def __init__(self, groups: Sequence[Sequence[str]], seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self._firsts = np.cumsum([0, *map(len, groups)])
        codes = [[*map(ord, atom)] for group in groups for atom in group]
        self._lengths = np.array([*map(len, codes)])
        self._starts = np.cumsum(self._lengths) - self._lengths
        self._codes = np.array([*chain.from_iterable(codes)], np.uint32)

    def texts(self, count: int, mean: int, strange: float = 0.01) -> list[str]:
        """Return texts of about so many atoms; strange: the share of characters that are replaced by any other."""
        rng, total = self.rng, count * mean
        runs = rng.geometric(0.35, total)
        runs = runs[: int(np.searchsorted(np.cumsum(runs), total)) + 1]
        group = np.repeat(rng.integers(0, len(self._firsts) - 1, len(runs)), runs)[:total]
        first, stop = self._firsts[group], self._firsts[group + 1]
        share = rng.random(len(group))
        of_run = np.repeat(rng.random(len(runs)), runs)[:total]
        share = np.where(np.repeat(rng.random(len(runs)) < 0.2, runs)[:total], of_run, share)
        atoms = first + (share * (stop - first)).astype(np.int64)
        lengths = self._lengths[atoms]
        ends = np.cumsum(lengths)
        codes = self._codes[np.repeat(self._starts[atoms] - ends + lengths, lengths) + np.arange(ends[-1])]
        odd = np.flatnonzero(rng.random(len(codes)) < strange)
        any_code = rng.integers(0, MOST_SEEN, len(odd), dtype=np.uint32)
        codes[odd] = np.where((any_code >= 0xD800) & (any_code < 0xE000), 0xFFFD, any_code)
        return self._cut(codes.astype("<u4").tobytes().decode("utf-32-le"), count)

    def windows(self, text: str, count: int, mean: int, *, changed: bool) -> list[str]:
        """Return parts of a text, one after the other from a place of it; changed: with characters moved and lost."""
        size = min(count * mean, len(text))
        start = int(self.rng.integers(0, len(text) - size + 1))
        part = text[start : start + size]
        if changed:
            codes = np.frombuffer(part.encode("utf-32-le"), "<u4").copy()
            places = self.rng.integers(0, len(codes), (2, max(1, len(codes) // 50)))
            codes[places[0]] = codes[places[1]]
            codes = np.delete(codes, self.rng.integers(0, len(codes), len(codes) // 100))
            part = codes.tobytes().decode("utf-32-le")
        return self._cut(part, count)

    def _cut(self, whole: str, count: int) -> list[str]:
        cuts = np.sort(self.rng.integers(0, len(whole) + 1, count - 1)).tolist()
        return [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]


def batches(data: Path | None, seed: int) -> Iterator[tuple[str, list[str]]]:
    """Yield a kind of text and texts of it, without end."""
    maker, sources = Maker(GROUPS, seed), dict[str, list[str]]()
    for kind, folder in (("corpora", "corpora"), ("hard", "adversarial")) if data else ():
        paths = sorted((data / folder).glob("*.txt")) if data else []
        sources[kind] = [text for path in paths if (text := path.read_bytes()[: 2 << 20].decode("utf-8", "ignore"))]
    while True:
        yield "alphabets", maker.texts(FEW, 5)
        for kind, texts in sources.items():
            mean = int(maker.rng.choice([12, 40, 120, 1000, 8000]))
            text, count = texts[int(maker.rng.integers(len(texts)))], min(FEW, MANY // mean)
            yield kind, maker.windows(text, count, mean, changed=False)
            yield f"{kind}, changed", maker.windows(text, count, mean, changed=True)


# ------------------------------------------------------------------ paths


def rows_of(texts: Sequence[Any]) -> Rows:
    """Return the ids of texts as two arrays."""
    offsets = np.zeros(len(texts) + 1, np.int64)
    np.cumsum([*map(len, texts)], out=offsets[1:])
    return np.fromiter(chain.from_iterable(texts), np.int64, int(offsets[-1])), offsets


def paths_of(path: Path, tok: subwords.Tokenizer, original: Original) -> dict[str, Encode]:
    """Return every way to the ids of texts."""
    special = original.special
    kept = subwords.load(path)  # its tables are on disk now, or are made again

    def whole(tok: subwords.Tokenizer, texts: Sequence[Any], **options: Any) -> Rows:
        batch = tok.encode_batch(texts, **options)
        return batch.ids, batch.offsets

    def grown(text: str) -> Any:
        half = len(text) // 2
        return tok.growing(text[:half], special=special).append(text[half:]).ids

    def streamed(text: str) -> list[int]:
        stream, data = tok.encode_stream(special=special), text.encode()
        found = [stream.feed(data[: len(data) // 2]), stream.feed(data[len(data) // 2 :]), stream.finish()]
        return [index for part in found for index in part.tolist()]

    found: dict[str, Encode] = {
        "batch": lambda texts: whole(tok, texts, special=special, threads=1),
        "list": lambda texts: rows_of([tok.encode(text, special=special) for text in texts]),
        "array": lambda texts: rows_of([tok.encode_to_numpy(text, special=special) for text in texts]),
        "object": lambda texts: rows_of([tok(text, special=special, template=False).ids for text in texts]),
        "threads": lambda texts: whole(tok, texts, special=special, threads=2),
        "bytes": lambda texts: whole(tok, [text.encode() for text in texts], special=special),
        "kept": lambda texts: whole(kept, texts, special=special, threads=1),
        "growing": lambda texts: rows_of([*map(grown, texts)]),
        "stream": lambda texts: rows_of([*map(streamed, texts)]),
    }
    if special == "text":
        found["parts"] = lambda texts: whole(tok, [[subwords.Text(text)] for text in texts])
    return found


IN_NODE = """
import { createInterface } from "node:readline";
const { load } = await import(process.argv[1]);
const tok = await load();
for await (const line of createInterface({ input: process.stdin })) {
  const { texts, special } = JSON.parse(line);
  try {
    const rows = tok.encodeBatch(texts, { special });
    console.log(JSON.stringify([rows.flatMap((ids) => [...ids]), rows.map((ids) => ids.length)]));
  } catch (error) {
    console.log(JSON.stringify(String(error)));
  }
}
"""


@contextmanager
def in_node(node: str | None, tok: subwords.Tokenizer, special: str) -> Iterator[Encode | str]:
    """Run the exported tokenizer in node; give what encodes with it, or the reason why it cannot."""
    if node is None:
        yield "there is no node"
        return
    with tempfile.TemporaryDirectory() as folder:
        try:
            subwords.files.export(tok, folder)
        except subwords.SubwordsError as error:
            yield str(error)
            return
        command = [node, "--input-type=module", "--eval", IN_NODE, (Path(folder) / "index.js").as_uri()]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:

            def encode(texts: Sequence[str]) -> Rows:
                assert process.stdin is not None and process.stdout is not None
                print(json.dumps({"texts": texts, "special": special}), file=process.stdin, flush=True)
                found = json.loads(process.stdout.readline())
                if isinstance(found, str):
                    raise subwords.InputError(found)
                return np.array(found[0], np.int64), np.cumsum([0, *found[1]])

            try:
                encode(["a"])
            except subwords.InputError as error:  # CLIP: special tokens cannot be read
                yield str(error)
            else:
                yield encode


def owner_of(path: Path, tok: subwords.Tokenizer) -> tuple[Original, Encode, dict[int, int]]:
    """Return the library that a file is for, its ids of texts without those of a template, and ids it gives anew.

    The last: HF numbers added tokens that are not in the vocabulary after it, whatever the file says.
    """
    original = open_original(path, tok, threads=1)
    if not original.template:
        return original, lambda texts: rows_of(original.encode([*texts])), {}
    import tokenizers

    if path.suffix == ".txt":
        peer: Any = tokenizers.BertWordPieceTokenizer(str(path), lowercase="-cased" not in path.name)
    else:
        peer = tokenizers.Tokenizer.from_file(str(path))
        peer.no_padding()
        peer.no_truncation()
    known = {peer.token_to_id(token.content): token.id for token in tok.spec.added_tokens}
    renamed = {index: other for index, other in known.items() if index != other}
    fast = getattr(peer, "encode_batch_fast", None) or peer._tokenizer.encode_batch_fast  # without spans
    return original, lambda texts: rows_of([one.ids for one in fast([*texts], add_special_tokens=False)]), renamed


def compared(path: Path, data: Path | None, seed: int, node: str | None = None) -> Iterator[dict[str, Any]]:
    """Compare batch after batch; yield the texts, characters and differences of each."""
    tok = subwords.load(path).with_(padding=None, truncation=None)
    original, encode, renamed = owner_of(path, tok)
    paths = paths_of(path, tok, original)
    about = {"library": original.library, "family": type(tok.model).__name__}
    with in_node(node, tok, original.special) as web:
        about |= {"not on web": web} if isinstance(web, str) else {}
        paths |= {} if isinstance(web, str) else {"web": web}
        for turn, (kind, texts) in enumerate(batches(data, seed), 1):
            wanted, found = encode(texts), []
            anew = np.isin(wanted[0], [*renamed])
            for name, ours in paths.items():
                found += differences(name, kind, texts, ours(texts), wanted, renamed)
            row = {**about, "paths": [*paths], "texts": len(texts), "characters": sum(map(len, texts)), "long": 0}
            if turn % 8 == 0:
                whole = "".join(texts)[:LONG]
                ids = tok.encode_to_numpy(whole, special=original.special, threads=2)
                found += differences("long", kind, [whole], rows_of([ids]), encode([whole]), renamed)
                row["long"] = len(whole)
            yield row | {"renamed": int(np.count_nonzero(anew)), "differ": found}


def differences(
    path: str, kind: str, texts: Sequence[str], rows: Rows, wanted: Rows, renamed: dict[int, int]
) -> list[dict[str, Any]]:
    """Return the texts whose ids are not those of the owner."""
    theirs, at = wanted
    for index, other in renamed.items():
        theirs = np.where(wanted[0] == index, other, theirs)
    if np.array_equal(rows[1], at) and np.array_equal(rows[0], theirs):
        return []
    found = []
    for text, (begin, stop), (first, last) in zip(texts, pairwise(rows[1]), pairwise(at), strict=True):
        own, other = rows[0][begin:stop].tolist(), theirs[first:last].tolist()
        if own != other:
            found.append({"path": path, "kind": kind, "text": text, "ids": own, "not": other})
    return found


# ------------------------------------------------------------------ manifests


def manifest_of(folder: Path, path: Path, kernels: str) -> dict[str, Any]:
    """Return the manifest of a file: the one that is kept, or a new one if the file or the kernels are others."""
    digest = sha256(path.read_bytes()).hexdigest()
    place = folder / f"{path.parent.name}-{path.name}.json"
    if place.exists() and (kept := json.loads(place.read_bytes()))["sha256"] == digest and kept["kernels"] == kernels:
        return dict(kept)
    made = {"file": f"{path.parent.name}/{path.name}", "sha256": digest, "kernels": kernels}
    return made | {
        "seed": 0,
        "seconds": 0,
        "checked": 0,
        "paths": {},
        "different": 0,
        "renamed": 0,
        "examples": [],
        "versions": {},
    }


def add(manifest: dict[str, Any], row: dict[str, Any]) -> None:
    """Add what was compared to a manifest."""
    sizes = dict.fromkeys(row["paths"], (row["texts"], row["characters"]))
    sizes |= {"long": (1, row["long"])} if row["long"] else {}
    for name, (texts, characters) in sizes.items():
        counts = manifest["paths"].setdefault(name, {"texts": 0, "characters": 0})
        counts["texts"] += texts
        counts["characters"] += characters
    manifest["different"] += len(row["differ"])
    manifest["renamed"] += row["renamed"]
    manifest["examples"] = [*manifest["examples"], *row["differ"]][:MOST_EXAMPLES]
    manifest |= {name: row[name] for name in ("library", "family", "not on web") if name in row}


def run_file(path: Path, data: Path | None, folder: Path, seconds: float) -> dict[str, Any]:
    """Compare one file for some seconds in a process of its own, whose end ends only this file's turn."""
    manifest = manifest_of(folder, path, sources_digest())
    manifest["seed"] += 1
    command = [sys.executable, "-m", "tools.campaign", str(path), "--seed", str(manifest["seed"])]
    command += ["--seconds", str(seconds), *(["--data", str(data)] if data else [])]
    began = time.monotonic()
    settings = {**os.environ, "TOKENIZERS_PARALLELISM": "false", "PYTHONPATH": OURS}
    checked = manifest["seed"] % 10 == 0  # a tenth of the turns; kernels that check every index are slower
    settings |= {"SUBWORDS_KERNELS": "checked"} if checked else {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=settings, cwd=ROOT) as process:
        for line in process.stdout or ():
            row = json.loads(line)
            add(manifest, row)
            manifest["checked"] += row["texts"] * checked
    manifest["seconds"] += round(time.monotonic() - began)
    manifest |= {"date": datetime.now(UTC).date().isoformat(), "versions": {"python": sys.version.split()[0]}}
    if process.returncode:
        manifest["ended"] = f"the process ended with {process.returncode}"
    place = folder / f"{path.parent.name}-{path.name}.json"
    place.write_text(json.dumps(manifest, indent=1, ensure_ascii=True) + "\n", "ascii")
    return manifest


def files_of(folder: Path) -> list[Path]:
    """Return the tokenizer files that a library reads alone."""
    found = []
    for path in sorted(folder.rglob("*")):
        if path.suffix in SUFFIXES and path.is_file():
            try:
                open_original(path, subwords.load(path))
            except subwords.SubwordsError as error:
                print(f"not compared: {error}"[:200])
            else:
                found.append(path)
    return found


def totals(folder: Path) -> dict[str, Counter[str]]:
    """Return how many texts all manifests have by family and path, and by path alone ("all")."""
    found = dict[str, Counter[str]]()
    for place in sorted(folder.glob("*.json")):
        manifest = json.loads(place.read_bytes())
        for family in (manifest["family"], "all"):
            sums = found.setdefault(family, Counter())
            for name, counts in manifest["paths"].items():
                sums += {name: counts["texts"], "texts": counts["texts"], "characters": counts["characters"]}
            sums["different"] += manifest["different"]
    return found


def write_evidence(folder: Path) -> None:
    """Write what the package knows of a campaign: a row for each file."""
    rows = []
    for place in sorted(folder.glob("*.json")):
        manifest = json.loads(place.read_bytes())
        counts = {name: one["texts"] for name, one in manifest["paths"].items()}
        characters = sum(one["characters"] for one in manifest["paths"].values())
        names = ("file", "sha256", "family", "kernels", "library", "date", "different")
        sums = {"texts": sum(counts.values()), "characters": characters, "paths": counts}
        rows.append({name: manifest[name] for name in names} | sums)
    RECORD.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n", "ascii")
    page = ROOT / "COMPATIBILITY.md"
    before, _, after = page.read_text("utf-8").partition(BEGIN)
    page.write_text(before + BEGIN + table_of(rows) + after[after.index(END) :], "utf-8")


def table_of(rows: list[dict[str, Any]]) -> str:
    """Return the Markdown table of a record: what was compared of each family, on all paths and on the rarest."""
    found = ["| family | files | texts | characters | the rarest path | different |", "|---|--:|--:|--:|---|--:|"]
    for family in (*sorted({row["family"] for row in rows}), "all"):
        own = [row for row in rows if family in (row["family"], "all")]
        paths = Counter[str]()
        for row in own:
            paths.update({name: texts for name, texts in row["paths"].items() if name != "long"})
        rarest = min(paths, key=paths.__getitem__)
        sums = {name: sum(row[name] for row in own) for name in ("texts", "characters", "different")}
        cells = f"{len(own)} | {sums['texts']:,} | {sums['characters']:,} | {rarest}: {paths[rarest]:,}"
        found.append(f"| {family} | {cells} | {sums['different']} |")
    return "\n" + "\n".join(found) + "\n"


def main() -> None:
    """Run what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("place", type=Path, nargs="?", help="a tokenizer file, or a folder of them")
    parser.add_argument("--data", type=Path, help="the folder with corpora and adversarial; without it, alphabets only")
    parser.add_argument("--hours", type=float, default=0.1, help="of the whole campaign")
    parser.add_argument("--jobs", type=int, default=1, help="files at once")
    parser.add_argument(
        "--ray", metavar="ADDRESS", help='turns run on a Ray cluster instead; "local": one on this machine'
    )
    parser.add_argument("--out", type=Path, default=ROOT / "campaign", help="the folder of manifests")
    parser.add_argument("--turn", type=float, default=60, help="seconds for one file, before the next has its turn")
    parser.add_argument("--evidence", type=Path, metavar="FOLDER", help="write the record of the package and its table")
    parser.add_argument("--seed", type=int, help="one file, in this process; prints a line of JSON for each batch")
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    if options.evidence:
        write_evidence(options.evidence)
    elif options.seed is not None:
        began = 0.0
        for row in compared(options.place, options.data, options.seed, shutil.which("node")):
            began = began or time.monotonic()  # after loading and compiling
            print(json.dumps(row), flush=True)
            if time.monotonic() - began > options.seconds:
                break
    else:
        _campaign(options)


def _campaign(options: argparse.Namespace) -> None:
    place, data, out = (path and path.resolve() for path in (options.place, options.data, options.out))
    out.mkdir(parents=True, exist_ok=True)
    files, ends, seconds = files_of(place), time.time() + 3600 * options.hours, options.turn

    def turn(path: Path) -> str:
        if time.time() >= ends:
            return ""
        found = run_file(path, data, out, seconds)
        texts = sum(one["texts"] for one in found["paths"].values())
        return f"{found['file']}: {texts:,} texts, {found['different']} differ"

    with _round(options.jobs, options.ray) as each:
        while time.time() < ends:
            for line in filter(None, each(turn, files)):
                print(line, flush=True)
    for name, counts in totals(out).items():
        print(name, dict(counts))


@contextmanager
def _round(jobs: int, address: str | None) -> Iterator[Callable[[Callable[[Path], str], list[Path]], Iterable[str]]]:
    """Give what runs a turn for each file: threads that wait for processes, or the tasks of a Ray cluster."""
    if address is None:
        with ThreadPoolExecutor(jobs) as pool:
            yield pool.map
        return
    import ray

    with ray.init(address=address, log_to_driver=False, runtime_env={"env_vars": {"PYTHONPATH": OURS}}):
        yield lambda turn, files: ray.get([ray.remote(num_cpus=1)(turn).remote(path) for path in files])


if __name__ == "__main__":
    main()
