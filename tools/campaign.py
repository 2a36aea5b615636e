"""Compare the ids of tokenizer files with those of their own libraries, on texts by the million, on every path to ids.

    python -m tools.campaign ../shared/data/tokenizers --data ../shared/data --hours 8 --jobs 2 --out campaign
    python -m tools.campaign --evidence campaign      # what `subwords verify --evidence` reads, made from the manifests

A manifest for each file says what ran: digests of the file and of the kernels, versions, texts and characters on each
path, differences. A campaign can be stopped and started again; it goes on with other texts, drawn by the next seed.
Texts are windows of corpora and of hard files, mutations of such windows, and runs of characters of many alphabets.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

import subwords  # noqa: E402
from subwords.interop.evidence import RECORD  # noqa: E402
from subwords.interop.verify import Original, open_original  # noqa: E402
from subwords.machine import sources_digest  # noqa: E402

Encode = Callable[[Sequence[str]], Sequence[Sequence[int]]]
FEW = 4096  # texts of a batch
LONG = 1 << 18  # characters of the text that threads share
MOST_SEEN = 0x323B0  # code points from here on are rare: they differ between versions of Unicode
MOST_EXAMPLES = 5  # differences that a manifest holds
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
            mean = int(maker.rng.choice([12, 40, 120]))
            text = texts[int(maker.rng.integers(len(texts)))]
            yield kind, maker.windows(text, FEW, mean, changed=False)
            yield f"{kind}, changed", maker.windows(text, FEW, mean, changed=True)


# ------------------------------------------------------------------ paths


def paths_of(path: Path, tok: subwords.Tokenizer, original: Original) -> dict[str, Encode]:
    """Return every way to the ids of texts; the first two are asked of every batch, the others take turns."""
    special = original.special
    kept = subwords.load(path)  # its tables are on disk now, or are made again

    def parts(texts: Sequence[str]) -> list[list[int]]:
        return tok.encode_batch([[subwords.Text(text)] for text in texts]).to_lists()

    def grown(text: str) -> list[int]:
        half = len(text) // 2
        return tok.growing(text[:half], special=special).append(text[half:]).ids.tolist()

    def streamed(text: str) -> list[int]:
        stream, data = tok.encode_stream(special=special), text.encode()
        found = [stream.feed(data[: len(data) // 2]), stream.feed(data[len(data) // 2 :]), stream.finish()]
        return [index for part in found for index in part.tolist()]

    found: dict[str, Encode] = {
        "batch": lambda texts: tok.encode_batch(texts, special=special, threads=1).to_lists(),
        "list": lambda texts: [tok.encode(text, special=special) for text in texts],
        "array": lambda texts: [tok.encode_to_numpy(text, special=special).tolist() for text in texts],
        "object": lambda texts: [tok(text, special=special, template=False).ids for text in texts],
        "threads": lambda texts: tok.encode_batch(texts, special=special, threads=2).to_lists(),
        "bytes": lambda texts: tok.encode_batch([text.encode() for text in texts], special=special).to_lists(),
        "kept": lambda texts: kept.encode_batch(texts, special=special, threads=1).to_lists(),
        "growing": lambda texts: [*map(grown, texts)],
        "stream": lambda texts: [*map(streamed, texts)],
    }
    return found | ({"parts": parts} if special == "text" else {})


def owner_of(path: Path, tok: subwords.Tokenizer) -> tuple[Original, Encode, dict[int, int]]:
    """Return the library that a file is for, its ids of texts without those of a template, and ids it gives anew.

    The last: HF numbers added tokens that are not in the vocabulary after it, whatever the file says.
    """
    original = open_original(path, tok, threads=1)
    if not original.template:
        return original, lambda texts: original.encode([*texts]), {}
    import tokenizers

    if path.suffix == ".txt":
        peer: Any = tokenizers.BertWordPieceTokenizer(str(path), lowercase="-cased" not in path.name)
    else:
        peer = tokenizers.Tokenizer.from_file(str(path))
        peer.no_padding()
        peer.no_truncation()
    known = {peer.token_to_id(token.content): token.id for token in tok.spec.added_tokens}
    renamed = {index: other for index, other in known.items() if index != other}
    return (
        original,
        lambda texts: [one.ids for one in peer.encode_batch([*texts], add_special_tokens=False)],
        renamed,
    )


def compared(path: Path, data: Path | None, seed: int) -> Iterator[dict[str, Any]]:
    """Compare batch after batch; yield the texts, characters and differences of each."""
    tok = subwords.load(path).with_(padding=None, truncation=None)
    original, encode, renamed = owner_of(path, tok)
    paths = paths_of(path, tok, original)
    names = [*paths]
    about = {"library": original.library, "family": type(tok.model).__name__}
    for turn, (kind, texts) in enumerate(batches(data, seed), 1):
        asked: dict[str, Encode] = {name: paths[name] for name in [*names[:2], names[2 + turn % (len(names) - 2)]]}
        wanted = [[*map(int, ids)] for ids in encode(texts)]
        anew = sum(not renamed.keys().isdisjoint(ids) for ids in wanted) if renamed else 0
        found, size = [], sum(map(len, texts))
        for name, ours in asked.items():
            found += differences(name, kind, texts, ours(texts), wanted, renamed)
        whole = "".join(texts)[:LONG]
        if turn % 8 == 0:
            ids = tok.encode_to_numpy(whole, special=original.special, threads=2)
            found += differences("long", kind, [whole], [ids.tolist()], encode([whole]), renamed)
        row = {"paths": [*asked], "texts": len(texts), "characters": size, "renamed": anew, "differ": found}
        yield {**about, **row, "long": 0 if turn % 8 else len(whole)}


def differences(
    path: str,
    kind: str,
    texts: Sequence[str],
    rows: Sequence[Sequence[int]],
    wanted: Sequence[Sequence[int]],
    renamed: dict[int, int],
) -> list[dict[str, Any]]:
    """Return the texts whose ids are not those of the owner."""
    found = []
    for text, got, ids in zip(texts, rows, wanted, strict=True):
        own, theirs = [*map(int, got)], [renamed.get(int(index), int(index)) for index in ids]
        if own != theirs:
            found.append({"path": path, "kind": kind, "text": text, "ids": own, "not": theirs})
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
    manifest |= {name: row[name] for name in ("library", "family")}


def run_file(path: Path, data: Path | None, folder: Path, seconds: float) -> dict[str, Any]:
    """Compare one file for some seconds in a process of its own, whose end ends only this file's turn."""
    manifest = manifest_of(folder, path, sources_digest())
    manifest["seed"] += 1
    command = [sys.executable, "-m", "tools.campaign", str(path), "--seed", str(manifest["seed"])]
    command += ["--seconds", str(seconds), *(["--data", str(data)] if data else [])]
    began = time.monotonic()
    settings = {**os.environ, "TOKENIZERS_PARALLELISM": "false", "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
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
    """Return the texts of all manifests by family and by path."""
    found = {"family": Counter[str](), "path": Counter[str](), "all": Counter[str]()}
    for place in sorted(folder.glob("*.json")):
        manifest = json.loads(place.read_bytes())
        for name, counts in manifest["paths"].items():
            found["family"][manifest["family"]] += counts["texts"]
            found["path"][name] += counts["texts"]
            found["all"] += {"texts": counts["texts"], "characters": counts["characters"]}
        found["all"]["different"] += manifest["different"]
    return found


def write_evidence(folder: Path) -> None:
    """Write what the package knows of a campaign: a row for each file."""
    rows = []
    for place in sorted(folder.glob("*.json")):
        manifest = json.loads(place.read_bytes())
        sums = {name: sum(one[name] for one in manifest["paths"].values()) for name in ("texts", "characters")}
        kept = {name: manifest[name] for name in ("file", "sha256", "kernels", "library", "date", "different")}
        rows.append(kept | sums | {"paths": [*manifest["paths"]]})
    RECORD.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n", "ascii")


def main() -> None:
    """Run what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("place", type=Path, nargs="?", help="a tokenizer file, or a folder of them")
    parser.add_argument("--data", type=Path, help="the folder with corpora and adversarial; without it, alphabets only")
    parser.add_argument("--hours", type=float, default=0.1, help="of the whole campaign")
    parser.add_argument("--jobs", type=int, default=1, help="files at once")
    parser.add_argument("--out", type=Path, default=ROOT / "campaign", help="the folder of manifests")
    parser.add_argument("--turn", type=float, default=60, help="seconds for one file, before the next has its turn")
    parser.add_argument("--evidence", type=Path, metavar="FOLDER", help="write the package's record from manifests")
    parser.add_argument("--seed", type=int, help="one file, in this process; prints a line of JSON for each batch")
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    if options.evidence:
        write_evidence(options.evidence)
    elif options.seed is not None:
        began = 0.0
        for row in compared(options.place, options.data, options.seed):
            began = began or time.monotonic()  # after loading and compiling
            print(json.dumps(row), flush=True)
            if time.monotonic() - began > options.seconds:
                break
    else:
        _campaign(options)


def _campaign(options: argparse.Namespace) -> None:
    from concurrent.futures import ThreadPoolExecutor

    options.out.mkdir(parents=True, exist_ok=True)
    files = files_of(options.place)
    ends = time.monotonic() + 3600 * options.hours

    def turn(path: Path) -> None:
        if time.monotonic() < ends:
            found = run_file(path, options.data, options.out, options.turn)
            texts = sum(one["texts"] for one in found["paths"].values())
            print(f"{found['file']}: {texts:,} texts, {found['different']} differ", flush=True)

    with ThreadPoolExecutor(options.jobs) as pool:
        while time.monotonic() < ends:
            [*pool.map(turn, files)]
    for name, counts in totals(options.out).items():
        print(name, dict(counts))


if __name__ == "__main__":
    main()
