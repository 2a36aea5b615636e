"""Plant small faults in a copy of the tree, one at a time, and see whether the default tests catch each.

    python tools/plant_faults.py                     # all faults, in copies of this tree
    python tools/plant_faults.py --tree DIR NAME...  # these faults, in copies of another tree
    python tools/plant_faults.py --tests tests/behaviour  # whether these tests alone catch every fault

A fault is a text to find and a text to put in its place. Exactly one file of src/ must hold the text, once: when the
code has changed, the fault must be written anew. A fault that no test catches fails the run.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COPIED = ("src", "tests", "examples", "tools", "benchmarks", ".ci", "pyproject.toml", "LICENSE")


@dataclass(frozen=True)
class Fault:
    name: str
    old: str
    new: str
    tests: str  # files that should catch it, in this order


FAULTS = (
    Fault(
        "an unknown word: the message shows the buffer after the word (texts of other calls)",
        "word = chunk.text[begin : stops[number]].tobytes()",
        "word = chunk.text[begin : begin + 40].tobytes()",
        "tests/behaviour/test_no_leak.py",
    ),
    Fault(
        "an unknown character: the place of its part in the text is lost",
        "character, byte = part.first + (spot.character or 0), part.at + spot.byte",
        "character, byte = spot.character or 0, spot.byte",
        "tests/behaviour/test_unknown_place.py",
    ),
    Fault(
        "BPE kernel: the first symbol is no left neighbour (off by one)",
        "below = alive & ((ONE << U64(at)) - ONE)",
        "below = alive & ((ONE << U64(at)) - U64(2)) if at > 0 else ZERO",
        "tests/test_encode_equals_reference.py",
    ),
    Fault(
        "BPE training: of equal counts the greater pair first (wrong tie)",
        "((count == other_count) & (tie < other_tie))",
        "((count == other_count) & (tie > other_tie))",
        "tests/test_train_equals_reference.py",
    ),
    Fault(
        "spans: the place of a part in the text is lost",
        "joined(spans.reshape(-1, 2) + shifts[:, None], others)",
        "joined(spans.reshape(-1, 2), others)",
        "tests/unit/test_call.py tests/unit/test_tokenizer.py tests/behaviour/test_every_way_to_ids.py tests/parity",
    ),
    Fault(
        "cuts: within what one character becomes",
        "and self._becomes(text[begin:place], cut, of):",
        ":",
        "tests/test_cuts.py",
    ),
    Fault(
        "spans: bytes instead of characters",
        "moved(spans, chars, [part.span() for part in added])",
        "moved(spans, at, [part.span() for part in added])",
        "tests/unit/test_call.py tests/unit/test_tokenizer.py tests/behaviour/test_every_way_to_ids.py tests/parity",
    ),
    Fault(
        "spans without whitespace: the first token of a text loses the place of its prefix",
        "and (leads or start == 0) else begun",
        "and start == 0 else begun",
        "tests/behaviour/test_byte_letters.py",
    ),
    Fault(
        "added tokens: of several that match, the shortest",
        "sorted(contents, key=len, reverse=True)",
        "sorted(contents, key=len)",
        "tests/unit/test_special.py tests/parity/test_added_tokens.py",
    ),
    Fault(
        "normalizer: one range of capital letters maps one too far",
        '"10D50-10D65": 0x20',
        '"10D50-10D65": 0x21',
        "tests/behaviour/test_every_character.py tests/test_normalize_equals_reference.py "
        "tests/parity/test_normalizers.py",
    ),
    Fault(
        "count: the last word of a block is dropped",
        "words = int(chunk.text_ends[-1])\n        size =",
        "words = max(int(chunk.text_ends[-1]) - 1, 0)\n        size =",
        "tests/test_count_equals_reference.py",
    ),
    Fault(
        "Unigram kernel: sums of SentencePiece are not rounded to 32 bits",
        "value = rounded(m.best[stop - size] + m.scores[found], running)",
        "value = rounded(m.best[stop - size] + m.scores[found], False)",
        "tests/test_unigram_encode_equals_reference.py tests/parity/test_random_sentencepiece.py "
        "tests/parity/test_sentencepiece_models.py",
    ),
    Fault(
        "WordPiece kernel: what follows the first certain pieces is lost (longest match)",
        "while node != after:",
        "while node != after and n == 0:",
        "tests/test_wordpiece_encode_equals_reference.py",
    ),
    Fault(
        "WordPiece kernel: the longest allowed word is one character too long (off by one)",
        "return chars > most",
        "return chars >= most",
        "tests/test_wordpiece_encode_equals_reference.py tests/parity/test_wordpiece_input.py",
    ),
    Fault(
        "tokenizer.json: written without a flag of added tokens",
        'for flag in (*FLAGS[1:], "special")',
        'for flag in (*FLAGS[1:-1], "special")',
        "tests/unit/test_tokenizer_json.py tests/test_round_trips.py tests/parity/test_added_tokens.py",
    ),
    Fault(
        ".model: written without remove_extra_whitespaces",
        "    spec.remove_extra_whitespaces = step.remove_extra_whitespaces\n",
        "",
        "tests/unit/test_sentencepiece.py tests/parity/test_saved_rules.py tests/parity/test_sentencepiece_models.py",
    ),
    Fault(
        "truncation: pieces share one token too few (off by one)",
        "step = most - truncation.stride",
        "step = most - max(0, truncation.stride - 1)",
        "tests/parity/test_truncation_and_padding.py",
    ),
    Fault(
        "many added tokens: what begins inside a token is found too",
        "        upto = end\n",
        "        upto = start + 1\n",
        "tests/test_find_equals_reference.py",
    ),
    Fault(
        "SentencePiece without its normalizer: long texts lose the space before them",
        "if encoder.prefixed and begins:",
        "if encoder.prefixed and not begins:",
        "tests/test_plain_spaces.py tests/behaviour/test_every_way_to_ids.py",
    ),
    Fault(
        "decoding: the last token of BPEDecoder gets a space",
        'token.replace(suffix, "") for token in tokens[-1:]',
        'token.replace(suffix, " ") for token in tokens[-1:]',
        "tests/unit/test_stream.py tests/parity/test_decoders.py",
    ),
    Fault(
        "decoding in a stream: an id without bytes does not end a run of byte tokens",
        "(self._run and data) or index in self._breaks",
        "self._run and data",
        "tests/unit/test_stream.py",
    ),
)


def plant(fault: Fault, tree: Path) -> Path:
    holders = [path for path in (tree / "src").rglob("*.py") if fault.old in path.read_text("utf-8")]
    if len(holders) != 1 or holders[0].read_text("utf-8").count(fault.old) != 1:
        found = ", ".join(str(path.relative_to(tree)) for path in holders) or "no file"
        raise SystemExit(f"{fault.name}: expected one place that reads {fault.old!r}; found: {found}")
    text = holders[0].read_text("utf-8")
    holders[0].write_text(text.replace(fault.old, fault.new), "utf-8")
    return holders[0].relative_to(tree)


def caught(fault: Fault, tests: str, tree: Path, cache: str) -> tuple[str, float]:
    """The first of these tests that fails, or ""; and the seconds it took."""
    start = time.monotonic()
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "SUBWORDS_CACHE_DIR": cache}
    environment.pop("SUBWORDS_KERNELS", None)
    for file in tests.split():
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", file]
        done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)
        if found := re.search(r"^(?:FAILED|ERROR) (.+?)(?= - |$)", done.stdout, re.MULTILINE):
            return found[1], time.monotonic() - start
        if done.returncode not in (0, 5):
            raise SystemExit(f"{fault.name}: the tests did not run:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return "", time.monotonic() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tree", type=Path, default=ROOT)
    parser.add_argument("--tests", help="files or folders, between spaces, instead of those of each fault")
    parser.add_argument("names", nargs="*", help="parts of the names of faults; all by default")
    options = parser.parse_args()
    wanted = [fault for fault in FAULTS if not options.names or any(name in fault.name for name in options.names)]
    missed = []
    print("| fault | file | caught by | seconds |\n|---|---|---|---|")
    # Kernels that a fault does not touch are compiled once: their cache is keyed by their sources.
    cache = os.environ.get("SUBWORDS_CACHE_DIR") or tempfile.mkdtemp()
    for fault in wanted:
        with tempfile.TemporaryDirectory() as place:
            tree = Path(place) / "tree"
            for name in COPIED:
                source = options.tree / name
                if source.is_dir():
                    shutil.copytree(source, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
                elif source.exists():
                    shutil.copy(source, tree / name)
            for document in options.tree.glob("*.md"):
                shutil.copy(document, tree / document.name)
            if (shared := options.tree.parent / "shared").is_dir():
                (Path(place) / "shared").symlink_to(shared.resolve())
            file = plant(fault, tree)
            test, seconds = caught(fault, options.tests or fault.tests, tree, cache)
            print(f"| {fault.name} | `{file}` | {f'`{test}`' if test else 'nothing'} | {seconds:.0f} |", flush=True)
            missed += [] if test else [fault.name]
    if missed:
        raise SystemExit(f"{len(missed)} of {len(wanted)} faults were not caught")


if __name__ == "__main__":
    main()
