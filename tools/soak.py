"""Soak: a gateway (FastAPI, uvicorn) under many clients, whose every answer is compared with that of another library.

    pip install --group soak
    python tools/soak.py --minutes 30 --clients 64 --workers 2 --data ../shared/data

Routes encode, count, chat, stream the ids of an answer as text, and encode prompts that grow. Meanwhile the tokenizer's
file is replaced by those of two others, now and then by half a file; all workers but the first are replaced by new
forks (`--start spawn`: new processes); clients go away in the middle of an answer, and send what must be refused.

Expected ids are those of HF tokenizers, and of transformers for chats, computed before. It fails if an answer differs,
a status is 5xx, a refusal is missing, a worker dies, or the first worker's memory grows after a warm-up.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import random
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

import httpx  # noqa: E402
import uvicorn  # noqa: E402
from fastapi import FastAPI, HTTPException, Request  # noqa: E402
from fastapi.exceptions import RequestValidationError  # noqa: E402
from fastapi.responses import JSONResponse, StreamingResponse  # noqa: E402
from pydantic import BaseModel  # noqa: E402

import subwords  # noqa: E402

LIMIT, LARGEST = 1 << 15, 1 << 18  # characters: longer texts are encoded in a thread, and refused
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
FILES = ("gpt2/tokenizer.json", "converted/qwen3.tokenizer.json", "t5/tokenizer.json")
SPECIAL = ("<|im_start|>", "<|im_end|>")

# ---------------------------------------------------------------------------------------------------------------------
# The gateway: the recipe of docs/serving.md with all its routes.


class Serving:
    """What answers requests: a tokenizer and its cache of prompts. Another file makes another one."""

    def __init__(self, path: Path) -> None:
        self.version = version_of(path)
        self.tok = subwords.load(path).with_(chat_template=TEMPLATE)
        self.cache = subwords.PromptCache(self.tok, max_bytes=8 << 20)
        self.name = self.tok.vocab_size


class Texts(BaseModel):
    text: str | list[str] | None = None
    messages: list[dict[str, Any]] | None = None
    salt: str = ""


class Ids(BaseModel):
    tokenizer: int | None = None
    prompt: list[int] = []
    ids: list[int]
    stop: list[str] = []


def version_of(path: Path) -> tuple[int, ...]:
    found = path.stat()
    return found.st_ino, found.st_mtime_ns, found.st_size


def gateway(path: Path, first: Serving) -> FastAPI:
    now = first

    async def follow() -> None:
        nonlocal now
        known = first.version
        while True:
            if (version := version_of(path)) != known:
                known = version
                with suppress(subwords.SubwordsError):  # half a file: the tokenizer before it goes on
                    now = await asyncio.to_thread(Serving, path)
            await asyncio.sleep(0.25)

    @asynccontextmanager
    async def running(_: FastAPI) -> AsyncIterator[None]:
        task = asyncio.create_task(follow())
        yield
        task.cancel()

    app = FastAPI(lifespan=running)

    @app.exception_handler(subwords.InputError)
    def refused(_: Request, error: subwords.InputError) -> JSONResponse:
        return JSONResponse({"detail": str(error)}, status_code=400)

    @app.exception_handler(RequestValidationError)
    def malformed(_: Request, error: RequestValidationError) -> JSONResponse:
        # FastAPI's own handler repeats the input: a megabyte, or a lone surrogate, which it cannot send.
        return JSONResponse({"detail": ascii([(one["loc"], one["msg"]) for one in error.errors()])}, status_code=422)

    def checked(body: Texts) -> Texts:
        texts = [body.text] if isinstance(body.text, str) else body.text or []
        if sum(map(len, texts)) + sum(len(str(one.get("content"))) for one in body.messages or []) > LARGEST:
            raise HTTPException(413, f"expected at most {LARGEST} characters")
        return body

    @app.post("/encode")
    async def encode(body: Texts) -> JSONResponse:
        using, text = now, checked(body).text or ""
        ids = using.tok.encode(text) if len(text) <= LIMIT else await asyncio.to_thread(using.tok.encode, text)
        return JSONResponse({"tokenizer": using.name, "ids": ids})

    @app.post("/count")
    async def count(body: Texts) -> JSONResponse:
        using, what = now, checked(body).messages or body.text or ""
        if isinstance(what, str) and len(what) <= LIMIT:
            found: Any = using.tok.count_tokens(what)
        else:
            found = await asyncio.to_thread(using.tok.count_tokens, what)
        return JSONResponse({"tokenizer": using.name, "tokens": found if isinstance(found, int) else found.tolist()})

    @app.post("/chat")  # functions without `async` run in threads
    def chat(body: Texts) -> JSONResponse:
        using = now
        made = using.tok.chat(checked(body).messages or [])
        return JSONResponse({"tokenizer": using.name, "ids": made.ids.tolist(), "text": made.text})

    @app.post("/prompt")
    def prompt(body: Texts) -> JSONResponse:
        using = now
        text = checked(body).text
        return JSONResponse({"tokenizer": using.name, "ids": using.cache.encode(text, salt=body.salt)})

    @app.post("/stream")
    def stream(body: Ids) -> StreamingResponse:
        using = now
        if body.tokenizer not in (None, using.name):
            raise HTTPException(409, f"these are ids of another tokenizer than {using.name}")
        using.tok.decode(body.ids)  # refuses wrong ids before the answer begins
        decoder = using.tok.stream(prompt=body.prompt, stop=body.stop)

        async def events() -> AsyncIterator[str]:
            for index in body.ids:
                if piece := decoder.step(index):
                    yield f"data: {json.dumps(piece)}\n\n"
                if decoder.stopped:
                    break
                await asyncio.sleep(0.001)  # the model
            yield f"data: {json.dumps(decoder.finish())}\n\ndata: [DONE]\n\n"

        return StreamingResponse(events(), media_type="text/event-stream")

    return app


def work(path: Path, listening: socket.socket, first: Serving | None) -> None:
    """A worker. A fork has the tokenizer of its parent, a new process loads it."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    app = gateway(path, first or Serving(path))
    config = uvicorn.Config(app, log_level="warning", timeout_keep_alive=75, timeout_graceful_shutdown=10)
    uvicorn.Server(config).run(sockets=[listening])


def serve(path: Path, workers: int, start: Any, listening: socket.socket) -> int:
    """Run the workers until SIGTERM. SIGHUP replaces all but the first. A worker that ends by itself is a failure."""
    subwords.warmup()
    first = Serving(path) if start == "fork" else None
    context, flags = multiprocessing.get_context(start), {"replace": False, "end": False}
    signal.signal(signal.SIGHUP, lambda *_: flags.update(replace=True))
    signal.signal(signal.SIGTERM, lambda *_: flags.update(end=True))

    def worker() -> Any:
        made = context.Process(target=work, args=(path, listening, first))
        made.start()
        return made

    running, parent = [worker() for _ in range(workers)], os.getppid()
    while not flags["end"] and os.getppid() == parent:
        time.sleep(0.2)
        if flags["replace"]:
            flags["replace"] = False
            for number in range(1, workers):
                old, running[number] = running[number], worker()
                time.sleep(1 if start == "fork" else 4)  # until it listens
                old.terminate()
                old.join()
        if dead := [one.exitcode for one in running if not one.is_alive()]:
            print("workers ended with", dead, file=sys.stderr)
            return 1
    for one in running:
        one.terminate()
    for one in running:
        one.join()
    return 0


# ---------------------------------------------------------------------------------------------------------------------
# What is asked, and the answers that another library gives.


class Ask(NamedTuple):
    """A request, and for each tokenizer (by the size of its vocabulary) what the answer has to be."""

    route: str
    body: bytes
    answers: dict[int, Any]


def _json(body: object) -> bytes:
    return json.dumps(body).encode()  # ASCII only: lone surrogates are escapes


def _texts(data: Path, rng: random.Random) -> list[str]:
    """Return pieces of real texts of many lengths, and texts made to be slow or odd."""
    made = list[str]()
    for file in sorted((data / "corpora").glob("*.txt")):
        text = file.read_bytes()[: 2 << 20].decode(errors="ignore")
        for size in (20, 60, 200, 1000, 4000, 20_000, 60_000):
            for _ in range(max(1, 4000 // size)) if size < 4000 else range(1):
                at = rng.randrange(len(text) - size)
                made.append(text[at : at + size])
    for file in sorted((data / "adversarial").glob("*.txt")):
        if len(text := file.read_bytes()[:50_000].decode(errors="ignore")) and file.name != "special_tokens.txt":
            made.append(text)
    return [
        text for text in made if not any(one in text for one in ("<|", "</s>", "<pad>", "<unk>", "<extra", "think>"))
    ]


def asks(data: Path, folder: Path, rng: random.Random) -> tuple[list[list[Ask]], list[Path]]:
    """Return requests of each kind with their answers, and the tokenizer files."""
    from tokenizers import AddedToken, Tokenizer
    from transformers import PreTrainedTokenizerFast

    texts, oracles, files = _texts(data, rng), dict[int, Any](), list[Path]()
    for number, name in enumerate(FILES):
        oracle = Tokenizer.from_file(str(data / "tokenizers" / name))
        oracle.add_special_tokens([AddedToken(one, special=True, normalized=False) for one in SPECIAL])
        oracle.save(str(folder / f"{number}.json"))
        files.append(folder / f"{number}.json")
        oracles[oracle.get_vocab_size()] = oracle
    encoded = {
        name: [one.encode(text, add_special_tokens=False).ids for text in texts] for name, one in oracles.items()
    }
    chats = {name: PreTrainedTokenizerFast(tokenizer_object=one) for name, one in oracles.items()}
    short = [number for number, text in enumerate(texts) if len(text) <= 1000]

    def encode() -> Iterator[Ask]:
        for number, text in enumerate(texts):
            yield Ask("encode", _json({"text": text}), {name: {"ids": ids[number]} for name, ids in encoded.items()})

    def count() -> Iterator[Ask]:
        for number, text in enumerate(texts):
            yield Ask("count", _json({"text": text}), {n: {"tokens": len(ids[number])} for n, ids in encoded.items()})
        for _ in range(100):
            some = rng.sample(short, rng.choice([2, 10, 40]))
            counts = {name: {"tokens": [len(ids[one]) for one in some]} for name, ids in encoded.items()}
            yield Ask("count", _json({"text": [texts[one] for one in some]}), counts)

    def chat() -> Iterator[Ask]:
        for number in range(200):
            turns = rng.sample(short, 2 * rng.randrange(1, 8))
            messages = [
                {"role": ("user", "assistant")[turn % 2], "content": texts[one]} for turn, one in enumerate(turns)
            ]
            answers = dict[int, Any]()
            for name, one in chats.items():
                text = one.apply_chat_template(
                    messages, chat_template=TEMPLATE, tokenize=False, add_generation_prompt=True
                )
                ids = oracles[name].encode(text, add_special_tokens=False).ids
                answers[name] = {"tokens": len(ids)} if number % 4 == 0 else {"ids": ids, "text": text}
            yield Ask("count" if number % 4 == 0 else "chat", _json({"messages": messages}), answers)

    def prompt() -> Iterator[Ask]:
        for number in range(30):
            text = f"Session {number}. " + rng.choice(texts)[:2000]
            for _ in range(15):
                text += "\n" + rng.choice(texts)[:4000]
                answers = {
                    name: {"ids": one.encode(text, add_special_tokens=False).ids} for name, one in oracles.items()
                }
                yield Ask("prompt", _json({"text": text, "salt": f"tenant {number % 3}"}), answers)

    def stream() -> Iterator[Ask]:
        for number in rng.sample(short, 100):
            for name, one in oracles.items():
                ids = encoded[name][number]
                body = {"tokenizer": name, "ids": ids}
                yield Ask("stream", _json(body), {name: one.decode(ids, skip_special_tokens=False)})
                text = one.decode(ids, skip_special_tokens=False)
                if len(text) > 40 and "\ufffd" not in text:  # a stop that the text has
                    stop = text[30:33]
                    yield Ask("stream", _json({**body, "stop": [stop]}), {name: text[: text.index(stop)]})

    return [[*kind()] for kind in (encode, count, chat, prompt, stream)], files


def hostile() -> list[Ask]:
    """Requests that must be refused with 4xx."""
    bad, megabyte = "a\ud800b", "word " * 210_000
    bodies: list[tuple[str, Any]] = [
        *((route, {"text": bad}) for route in ("encode", "count", "prompt")),
        *((route, {"text": megabyte}) for route in ("encode", "count", "prompt")),
        *(("count", {"text": texts}) for texts in (["fine", bad], [megabyte, ""], ["fine", 7], {"a": "b"})),
        *((route, {"messages": [{"role": "user", "content": bad}]}) for route in ("chat", "count")),
        *((route, {"messages": [{"role": bad, "content": "fine"}]}) for route in ("chat", "count")),
        *((route, {"messages": [{"role": "user", "content": megabyte}]}) for route in ("chat", "count")),
        *(("chat", {"messages": what}) for what in ([], [{}], [7], "fine", [{"content": "no role"}], [{"role": 7}])),
        ("chat", {"messages": [{"role": "user", "content": "fine", bad: bad}, {"role": "user", "content": bad}]}),
        ("prompt", {"text": ["fine"]}),
        ("encode", {"text": {bad: bad}}),
        *(("stream", {"ids": ids}) for ids in ([-1], [10**6], [10**30], [-(2**63)], [1.5], [bad], [None], "1", [[1]])),
        *(("stream", {"ids": [1], "prompt": ids}) for ids in ([-1], [10**6], [10**30])),
        *(("stream", {"ids": [1], "stop": stop}) for stop in ([bad], [""], [7])),
    ]
    raw = [b"", b"{", b'{"text": "\xff\xfe"}', b'{"text": "\\ud800"}', b"[" * 100_000, b'{"text": ' + b'{"a":' * 50_000]
    return [Ask(route, _json(body), {}) for route, body in bodies] + [Ask("encode", body, {}) for body in raw]


# ---------------------------------------------------------------------------------------------------------------------
# Clients.


CONTEXT = ssl.create_default_context()  # unused, but to make one takes 20 ms


class Record:
    """What came back."""

    def __init__(self) -> None:
        self.times: dict[str, list[float]] = {}
        self.counts, self.faults = Counter[str](), list[str]()
        self.replacing, self.recent, self.latest = 0.0, list[float](), 0  # the tokenizer of the latest answer

    def fault(self, text: str) -> None:
        self.counts["faults"] += 1
        if len(self.faults) < 20:
            self.faults.append(text)
            print("FAULT", text, flush=True)

    def time(self, route: str, seconds: float) -> None:
        self.times.setdefault(route, []).append(seconds)
        self.recent.append(seconds)


async def _streamed(http: httpx.AsyncClient, ask: Ask, cancel: bool, rng: random.Random) -> tuple[int, str]:
    left, text = rng.randrange(1, 6), ""
    async with http.stream("POST", "/stream", content=ask.body) as response:
        if response.status_code != 200:
            return response.status_code, (await response.aread()).decode()
        async for line in response.aiter_lines():
            if line == "data: [DONE]":
                return 200, text
            if line.startswith("data: "):
                text += json.loads(line[6:])
                left -= 1
                if cancel and not left:
                    raise asyncio.CancelledError
    return 200, text + " without its end"


async def _once(http: httpx.AsyncClient, ask: Ask, record: Record, rng: random.Random, cancel: bool) -> None:
    if ask.route == "stream":
        status, answer = await _streamed(http, ask, cancel, rng)
    else:
        call = http.post(f"/{ask.route}", content=ask.body)
        response = await (asyncio.wait_for(call, rng.uniform(0.0005, 0.02)) if cancel else call)
        status, answer = response.status_code, response.text
    record.counts[f"{status // 100}xx"] += 1
    if not ask.answers:
        record.counts["hostile"] += 1
        if not 400 <= status < 500:
            record.fault(f"{status} for {ask.route} {ask.body[:200]!r}: {answer[:300]}")
    elif status == 409 and ask.route == "stream":
        record.counts["ids of the tokenizer before"] += 1
    elif status != 200:
        record.fault(f"{status} for {ask.route} {ask.body[:200]!r}: {answer[:300]}")
    elif ask.route == "stream":
        (expected,) = ask.answers.values()
        if answer != expected:
            record.fault(f"stream {ask.body[:300]!r}: expected {expected!r}, not {answer!r}")
    else:
        found = json.loads(answer)
        record.latest = name = found.pop("tokenizer")
        record.counts[f"answers of tokenizer {name}"] += 1
        if found != ask.answers.get(name):
            record.fault(f"{ask.route} of {name} {ask.body[:300]!r}: {answer[:300]}")


def connect(port: int) -> httpx.AsyncClient:
    headers = {"content-type": "application/json"}
    return httpx.AsyncClient(
        base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=120, trust_env=False, verify=CONTEXT
    )


async def client(port: int, kinds: list[list[Ask]], record: Record, seed: str, end: float, pause: float) -> None:
    http, rng, refused = connect(port), random.Random(seed), hostile()
    while time.monotonic() < end:
        await asyncio.sleep(rng.expovariate(1 / pause))
        bad = rng.random() < 0.05
        some = refused if bad else rng.choices(kinds, (30, 20, 15, 20, 15))[0]
        ask = rng.choice([one for one in rng.sample(some, 9) if record.latest in one.answers] or some)
        cancel = rng.random() < 0.05
        began = time.monotonic()
        try:
            await _once(http, ask, record, rng, cancel)
        except (asyncio.CancelledError, TimeoutError):
            if not cancel:
                raise
            record.counts["cancelled"] += 1
            await http.aclose()  # a shared pool loses the connection: with 64, nearly all were gone after ten minutes
            http = connect(port)
        except httpx.TransportError as error:
            # A worker that is being replaced closes its connections, perhaps while a request is on its way.
            record.counts["connections lost"] += 1
            if time.monotonic() - record.replacing > 30:
                record.fault(f"{type(error).__name__} {error} for {ask.route} {ask.body[:100]!r}")
        else:
            record.time("hostile" if bad else ask.route, time.monotonic() - began)
        record.counts["requests"] += 1
    await http.aclose()


# ---------------------------------------------------------------------------------------------------------------------
# The tokenizer's file and the workers are replaced, and memory is read.


def children(pid: int) -> list[int]:
    """Return the workers, the oldest first; spawn has another child, the tracker of resources."""
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(one) for one in found if b"resource_tracker" not in Path(f"/proc/{one}/cmdline").read_bytes()]


def memory_of(pid: int) -> dict[str, float]:
    """MB of a process, its threads and its open files."""
    lines = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":" in line)
    mb = int(lines["VmRSS"].split()[0]) / 1024
    return {"MB": mb, "threads": int(lines["Threads"]), "files": len([*Path(f"/proc/{pid}/fd").iterdir()])}


def put(data: bytes, path: Path) -> None:
    path.with_suffix(".new").write_bytes(data)
    path.with_suffix(".new").replace(path)


async def reload(path: Path, files: list[Path], every: float, record: Record, rng: random.Random) -> None:
    number = 0
    while True:
        await asyncio.sleep(every)
        number = (number + 1) % len(files)
        data = files[number].read_bytes()
        if rng.random() < 0.3:
            put(data[: rng.randrange(len(data))], path)
            record.counts["half files"] += 1
            await asyncio.sleep(1)
        put(data, path)
        record.counts["reloads"] += 1


async def replace_workers(server: int, every: float, record: Record) -> None:
    while True:
        await asyncio.sleep(every)
        record.replacing = time.monotonic()
        os.kill(server, signal.SIGHUP)
        record.counts["replacements"] += 1


def percentile(times: list[float], share: float) -> float:
    return sorted(times)[min(len(times) - 1, int(len(times) * share))] * 1000 if times else 0.0


async def watch(server: int, record: Record, series: list[tuple[float, float]], first: int) -> None:
    began = time.monotonic()
    while True:
        times, record.recent = record.recent, []
        states = {pid: memory_of(pid) for pid in children(server) if Path(f"/proc/{pid}/status").exists()}
        series.append((time.monotonic() - began, states[first]["MB"]))
        print(
            f"{series[-1][0]:6.0f} s {len(times) / 10:5.0f} requests/s, median {percentile(times, 0.5):6.1f} ms, "
            f"99 % {percentile(times, 0.99):7.1f} ms |",
            *(f"{one['MB']:.0f} MB {one['threads']:.0f} threads {one['files']:.0f} files" for one in states.values()),
            sep="  ", flush=True,
        )  # fmt: skip
        await asyncio.sleep(10)


async def run(server: int, port: int, path: Path, files: list[Path], kinds: list[list[Ask]], options: Any) -> int:
    record, series, seconds = Record(), list[tuple[float, float]](), options.minutes * 60
    async with connect(port) as http:
        for _ in range(300):  # until the workers listen
            with suppress(httpx.TransportError):
                if (await http.post("/count", content=b'{"text": "a"}')).status_code == 200:
                    break
            await asyncio.sleep(0.2)
    first, rng = children(server)[0], random.Random(options.seed)
    others = [
        asyncio.create_task(one)
        for one in (
            watch(server, record, series, first),
            reload(path, files, min(10, seconds / 8), record, rng),
            replace_workers(server, max(15, min(60, seconds / 5)), record),
        )
    ]
    end = time.monotonic() + seconds
    seeds = (f"{options.seed} {number}" for number in range(options.clients))
    await asyncio.gather(*(client(port, kinds, record, seed, end, options.pause) for seed in seeds))
    for one in others:
        if one.done():
            one.result()
        one.cancel()
    print()
    print(f"{'route':10} {'answers':>9} {'median ms':>10} {'99 % ms':>9} {'largest':>9}")
    for route, times in sorted(record.times.items()):
        values = (percentile(times, share) for share in (0.5, 0.99, 1))
        print(f"{route:10} {len(times):9,}", *(f"{value:9.1f}" for value in values))
    print(*(f"{count:,} {name}" for name, count in sorted(record.counts.items())), sep=", ")
    for share in (0, 1 / 3, 2 / 3, 1):
        when, mb = min(series, key=lambda one: abs(one[0] - share * seconds))
        print(f"first worker after {when / 60:5.1f} minutes: {mb:.0f} MB")
    if seconds >= 300:  # by then all tokenizers were loaded, and the cache of prompts is full
        warm = max(mb for when, mb in series if seconds / 6 <= when <= seconds / 3)
        last = sorted(mb for when, mb in series if when >= seconds * 0.9 - 10)
        if last[len(last) // 2] > warm * 1.1 + 16:
            record.fault(f"memory grew from {warm:.0f} MB after the warm-up to {last[len(last) // 2]:.0f} MB")
    if children(server)[0] != first:
        record.fault("the first worker died")
    return len(record.faults)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--start", choices=("fork", "spawn"), default="fork")
    parser.add_argument("--pause", type=float, default=0.2, help="mean seconds of a client between two requests")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared/data")
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)  # the server's process: path, descriptor
    options = parser.parse_args()
    if options.serve:
        path, listening = options.serve
        return serve(Path(path), options.workers, options.start, socket.socket(fileno=int(listening)))
    with tempfile.TemporaryDirectory() as place, socket.create_server(("127.0.0.1", 0), backlog=512) as listening:
        folder = Path(place)
        began = time.monotonic()
        kinds, files = asks(options.data, folder, random.Random(options.seed))
        print(f"{sum(map(len, kinds)):,} requests and their answers in {time.monotonic() - began:.0f} s", flush=True)
        path = folder / "tokenizer.json"
        put(files[0].read_bytes(), path)
        listening.set_inheritable(True)
        server = subprocess.Popen(
            [sys.executable, __file__, "--serve", path, str(listening.fileno()), "--workers", str(options.workers),
             "--start", options.start],
            pass_fds=[listening.fileno()],
            env={"MALLOC_ARENA_MAX": "2", **os.environ},  # as docs/serving.md says
        )  # fmt: skip
        port = listening.getsockname()[1]
        try:
            faults = asyncio.run(run(server.pid, port, path, files, kinds, options))
        finally:
            server.terminate()
            status = server.wait(60)
    print(f"{faults} faults, the server ended with {status}")
    return int(faults > 0 or status != 0)


if __name__ == "__main__":
    sys.exit(main())
