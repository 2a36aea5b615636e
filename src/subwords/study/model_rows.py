"""undertrained: tokens whose rows in a model look like those of tokens that training never met."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from subwords.machine import tokenizer_of
from subwords.study.checks import NOT_UTF8, Subject, check_reach
from subwords.study.findings import Finding, Findings, by_severity
from subwords.support.checks import as_list
from subwords.support.errors import FormatError, InputError, unreadable
from subwords.support.files import check_pointer, place_of
from subwords.support.names import install_hint
from subwords.support.report import Table

if TYPE_CHECKING:
    from subwords.machine import TokenizerLike

Matrix: TypeAlias = "NDArray[Any] | str | PathLike[str]"

FEWEST = 4  # known unused rows for a threshold: quartiles need four
BLOCK = 1 << 22  # numbers of a matrix that are read at once
SLACK = 1e-6  # of a threshold: unused rows may be equal but for rounding
# The ends of tensor names in the files of transformers' models.
NAMES = {
    "embeddings": ("embed_tokens", "wte", "embed_in", "word_embeddings", "tok_embeddings"),
    "output": ("lm_head", "embed_out", "output"),
}


@dataclass(frozen=True)
class Indicator:
    """A number for each row, small for rows that look unused (ALGORITHMS.md, V17).

    name: "norm" of input rows, or "distance" of output rows. threshold: the largest value that still looks unused
    (V18); None with fewer than four known unused rows, or if half of the tokens that text yields would look so.
    """

    name: str
    threshold: float | None
    unused_median: float | None
    reached_median: float | None
    values: NDArray[np.float64] = field(repr=False, compare=False)


@dataclass(frozen=True)
class Undertrained(Findings):
    """What `undertrained` found. rows: of the matrices. unused: the ids of the known unused rows.

    indicators: with their values for every row.
    """

    rows: int
    unused: tuple[int, ...]
    indicators: tuple[Indicator, ...]

    def _more(self) -> dict[str, Any]:
        shown = ("name", "threshold", "unused_median", "reached_median")
        told = [{name: getattr(one, name) for name in shown} for one in self.indicators]
        return {"rows": self.rows, "unused": list(self.unused), "indicators": told}

    def tables(self) -> list[Table]:
        """Return the findings, and the indicators."""
        rows = [(one.name, one.threshold, one.unused_median, one.reached_median) for one in self.indicators]
        columns = ("indicator", "threshold", "median of unused", "median of reached")
        return [*super().tables(), Table(columns, rows, "Indicators", "tab:indicators")]

    def notes(self) -> list[str]:
        """Return why an indicator decides nothing."""
        few = f"{len(self.unused)} rows are known to be unused, {FEWEST} are needed: pass more with `unused`"
        mixed = "rows of half of the tokens that text yields look like the unused ones"
        why = few if len(self.unused) < FEWEST else mixed
        return [f"The {one.name} decides nothing: {why}." for one in self.indicators if one.threshold is None]

    def lines(self, limit: int = 5) -> Iterator[str]:
        """Yield the findings by rule, at most `limit` of each, and the notes."""
        yield from super().lines(limit)
        yield from self.notes()


def undertrained(
    tokenizer: TokenizerLike,
    *,
    embeddings: Matrix | None = None,
    output: Matrix | None = None,
    unused: Iterable[int] | None = None,
    threads: int | None = None,
) -> Undertrained:
    """Return the tokens that a model has hardly seen in training, by its embeddings, joined with what text can yield.

    embeddings: the input matrix, a row for each id; its indicator is the norm of a row, for models whose input and
    output are two matrices. output: the output matrix; its indicator is the cosine distance to the mean of rows that
    are known to be unused. A model with one matrix for both has it as `output`. Each is an array, an .npy file, or a
    .safetensors file or folder of them (extra [files]), also as "FILE:TENSOR". Rows beyond the vocabulary are
    padding.
    unused: ids that training cannot have met, in addition to those that are known: padding, ids without a token, tokens
    that the model of the tokenizer never makes, bytes that UTF-8 does not have.
    A finding is a token that text yields and whose row looks unused (`undertrained-token`), or one that no text yields
    and whose row does not (`trained-token`): the model was probably trained with another tokenizer.
    Raises InputError without a matrix and for one of another shape, FormatError for files.
    Hazard: an indicator ranks candidates; whether a model fails on one, only the model tells.

    Source: Land and Bartolo 2024, Fishing for Magikarp.

    >>> import numpy as np
    >>> import subwords
    >>> tok = subwords.train(["low lower"] * 9, vocab_size=259)
    >>> rows = np.random.default_rng(0).normal(size=(264, 32))
    >>> never = [tok.vocab[bytes([byte])] for byte in (0xC0, 0xC1, *range(0xF5, 0x100))]
    >>> rows[[*never, *range(259, 264), 258]] *= 0.01
    >>> [one.ids for one in subwords.study.undertrained(tok, embeddings=rows).findings]
    [(258,)]
    """
    tok = tokenizer_of(tokenizer)
    return undertrained_of(Subject(tok, threads), embeddings, output, unused)


def undertrained_of(
    subject: Subject, embeddings: Matrix | None, output: Matrix | None, unused: Iterable[int] | None = None
) -> Undertrained:
    """Return what `undertrained` returns, for a tokenizer that is looked at already."""
    if embeddings is None and output is None:
        raise InputError(
            "no model was given: expected embeddings or output, a matrix with a row for each id; without a model, "
            "audit says which tokens no text yields"
        )
    size = len(subject.tokens)
    given = {"embeddings": embeddings, "output": output}
    matrices = {name: _opened(name, value, size) for name, value in given.items() if value is not None}
    rows = {name: len(one) for name, one in matrices.items()}
    if len({*rows.values()}) > 1:
        raise InputError(f"expected two matrices of one model, not {rows['embeddings']} and {rows['output']} rows")
    total = next(iter(rows.values()))
    lost = {one.ids[0]: one.rule for one in check_reach(subject)}
    known = _known_unused(subject, lost, total, unused)
    reached = np.zeros(total, np.bool_)
    reached[[index for index in subject.ordinary.tolist() if index not in lost]] = True
    reached[known] = False
    indicators = []
    if "embeddings" in matrices:
        values = np.concatenate([np.sqrt((block * block).sum(axis=1)) for block in matrices["embeddings"].blocks()])
        indicators.append(_indicator("norm", values, values[known], reached))
    if "output" in matrices:
        values, own = _distances(matrices["output"], known)
        indicators.append(_indicator("distance", values, own, reached))
    found = list(_findings(subject, indicators, reached, lost))
    return Undertrained(by_severity(found), total, tuple(known.tolist()), tuple(indicators))


def _known_unused(
    subject: Subject, lost: dict[int, str], total: int, unused: Iterable[int] | None
) -> NDArray[np.int64]:
    """Return the ids of rows that training cannot have met."""
    given = [] if unused is None else as_list(unused, "unused")
    for index in given:
        if not isinstance(index, int | np.integer) or isinstance(index, bool) or not 0 <= index < total:
            raise InputError(f"expected unused as ids below {total}, not {index!r:.60}")
    size, model = len(subject.tokens), subject.model
    holes = [index for index, token in enumerate(subject.tokens) if not token]
    never = [index for index, rule in lost.items() if rule == "unreachable-token"]
    bytes_ = model.byte_ids[list(NOT_UTF8)].tolist()
    if model.byte_level:
        ids = model.vocab.ids
        bytes_ += [ids.get(bytes([byte]), -1) for byte in NOT_UTF8]
    odd = [index for index in bytes_ if index >= 0]
    return np.array(sorted({*map(int, given), *range(size, total), *holes, *never, *odd}), np.int64)


def _findings(
    subject: Subject, indicators: Sequence[Indicator], reached: NDArray[np.bool_], lost: dict[int, str]
) -> Iterator[Finding]:
    """Yield tokens of texts whose rows look unused, and tokens of no text whose rows do not."""
    deciding = [one for one in indicators if one.threshold is not None]
    if not deciding:
        return
    small = np.array([one.values <= (one.threshold or 0.0) for one in deciding])
    for index in np.flatnonzero(small.any(axis=0) & reached).tolist():
        told = [f"{one.name} {one.values[index]:.4g}" for k, one in enumerate(deciding) if small[k, index]]
        message = f"{subject.quoted(index)} (id {index}) looks unused: {', '.join(told)}"
        yield Finding("undertrained-token", message, (index,), (subject.shown(index),))
    for index, rule in lost.items():
        if rule == "unreachable-token" and not small[:, index].any():
            message = f"{subject.quoted(index)} (id {index}) is in no text, but its row was trained"
            yield Finding("trained-token", message, (index,), (subject.shown(index),))


# ---------------------------------------------------------------------------------------------------------------------
# Indicators.


def _indicator(
    name: str, values: NDArray[np.float64], own: NDArray[np.float64], reached: NDArray[np.bool_]
) -> Indicator:
    """Return an indicator with its threshold. own: the values of known unused rows, each compared with the others."""
    unused, usual = (float(np.median(some)) if len(some) else None for some in (own, values[reached]))
    threshold = None
    if len(own) >= FEWEST:
        first, third = np.quantile(own, [0.25, 0.75])
        limit = float(third + 3 * (third - first)) + SLACK * max(1.0, abs(float(third)))
        if usual is None or limit < usual:
            threshold = limit
    return Indicator(name, threshold, unused, usual, values)


def _distances(matrix: _MatrixRows, known: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the cosine distance of each row to the mean of the known unused rows; of these, to that of the others.

    A row of zeros has the distance 0: no training gives it.
    """
    if not len(known):
        return np.full(len(matrix), np.nan), np.zeros(0)
    unused = np.concatenate([matrix.read(index, index + 1) for index in known.tolist()])
    total = unused.sum(axis=0)
    values = np.concatenate([_cosine_distances(block, total) for block in matrix.blocks()])
    own = np.array([_cosine_distances(row[None], total - row)[0] for row in unused])
    return values, own if len(known) > 1 else own[:0]


def _cosine_distances(rows: NDArray[np.float64], to: NDArray[np.float64]) -> NDArray[np.float64]:
    norms, length = np.sqrt((rows * rows).sum(axis=1)), float(np.sqrt(to @ to))
    with np.errstate(divide="ignore", invalid="ignore"):
        found = 1 - rows @ to / (norms * length)
    found[~np.isfinite(found)] = 1.0
    found[norms == 0] = 0.0
    return np.asarray(found, np.float64)


# ---------------------------------------------------------------------------------------------------------------------
# Matrices: arrays, .npy files and .safetensors files, read by blocks of rows.


class _MatrixRows:
    """The rows of a matrix, which `read(start, stop)` returns as 64-bit floats."""

    def __init__(self, shape: tuple[int, int], take: Callable[[slice], NDArray[Any]], name: str) -> None:
        self.shape, self._take, self._name = shape, take, name

    def __len__(self) -> int:
        return self.shape[0]

    def read(self, start: int, stop: int) -> NDArray[np.float64]:
        """Return some rows; InputError for numbers that are not finite."""
        found = np.asarray(self._take(slice(start, stop))).astype(np.float64)
        if not np.isfinite(found).all():
            row = start + int(np.flatnonzero(~np.isfinite(found).all(axis=1))[0])
            raise InputError(f"{self._name}: expected finite numbers; row {row} has others")
        return found

    def blocks(self) -> Iterator[NDArray[np.float64]]:
        """Yield all rows in order."""
        step = max(1, BLOCK // max(1, self.shape[1]))
        for start in range(0, len(self), step):
            yield self.read(start, min(start + step, len(self)))


def _opened(name: str, value: Matrix, size: int) -> _MatrixRows:
    """Return the rows of a matrix; InputError unless it has a row for each id."""
    if isinstance(value, np.ndarray):
        rows = _of_array(value, name)
    else:
        path, tensor = _place_and_tensor(value)
        if path.suffix == ".npy":
            if tensor is not None:
                raise InputError(f"{path} holds one array: leave {tensor!r} out")
            rows = _of_array(_npy(path), str(path))
        else:
            rows = _of_safetensors(path, tensor, name, size)
    if len(rows) < size:
        raise InputError(f"expected {name} with at least {size} rows, one for each id, not {len(rows)}")
    return rows


def _of_array(array: NDArray[Any], name: str) -> _MatrixRows:
    if array.ndim != 2 or not (np.issubdtype(array.dtype, np.floating) or array.dtype.name == "bfloat16"):
        raise InputError(f"expected {name} as a matrix of floats, not {array.dtype} of shape {array.shape}")
    return _MatrixRows((array.shape[0], array.shape[1]), array.__getitem__, name)


def _place_and_tensor(value: str | PathLike[str]) -> tuple[Path, str | None]:
    """Return the path and the tensor of "FILE:TENSOR"; a path that exists is one, whatever it contains."""
    path = place_of(value, local=True)
    if path.exists() or ":" not in path.name:
        return path, None
    name, _, tensor = str(path).rpartition(":")
    return Path(name), tensor


def _check_pointer(path: Path) -> None:
    with path.open("rb") as file:
        check_pointer(file.read(32), path)


def _npy(path: Path) -> NDArray[Any]:
    try:
        _check_pointer(path)
        found: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except OSError as error:
        raise unreadable(FormatError, f"cannot read {path}: {error.strerror or error}", error) from None
    except FormatError:
        raise
    except Exception as error:  # NumPy evaluates a header as Python does: a hostile one raises anything
        raise FormatError(f"{path}: expected an .npy file of numbers: {error!s:.100}") from None
    return found


def _of_safetensors(path: Path, tensor: str | None, name: str, size: int) -> _MatrixRows:
    """Return the rows of a tensor of a file, or of the files of a folder."""
    try:
        import ml_dtypes  # noqa: F401  # NumPy then knows bfloat16
        from safetensors import SafetensorError, safe_open
    except ImportError as error:
        raise InputError(f"reading {path} needs safetensors and ml_dtypes: {install_hint('files')} ({error})") from None
    files = sorted(path.glob("*.safetensors")) if path.is_dir() else [path]
    found = dict[str, tuple[Any, tuple[int, ...]]]()
    try:
        for file in files:
            _check_pointer(file)
            opened: Any = safe_open(file, "np")
            for key in opened.keys():  # noqa: SIM118  # it is no mapping
                rows = opened.get_slice(key)
                found[key] = rows, tuple(rows.get_shape())
    except (OSError, SafetensorError) as error:
        message = f"cannot read {path}: expected .npy or .safetensors: {error!s:.100}"
        raise unreadable(FormatError, message, error if isinstance(error, OSError) else OSError(), path) from None
    fitting = [key for key, (_, shape) in found.items() if len(shape) == 2 and shape[0] >= size]
    if tensor is None:
        usual = [key for key in fitting if key.removesuffix(".weight").split(".")[-1] in NAMES[name]]
        if len(usual) != 1:
            listed = ", ".join(fitting[:8]) or "none"
            raise InputError(f"{path}: expected one matrix for {name}; name it as FILE:TENSOR, of {listed}")
        tensor = usual[0]
    if tensor not in fitting:
        listed = ", ".join(fitting[:8]) or "none"
        raise InputError(f"{path}: expected a matrix with at least {size} rows, not {tensor!r}: {listed}")
    rows, shape = found[tensor]
    return _MatrixRows((shape[0], shape[1]), rows.__getitem__, f"{path}:{tensor}")
