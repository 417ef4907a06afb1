"""A provider of language models on this machine, for tests and benchmarks: it fails, hangs, and counts what it charges.

    python -m benchmarks.provider --port 0 --seed 1          # prints its address, serves until Ctrl-C

Its API is OpenAI's: `/v1/chat/completions`, streams too, and `/v1/models`. `GET /charged` says what was billed so far,
to the last digit, and `POST /reset` begins anew. In a program it is a process of its own:

    with Provider([Model("small", 0.15, 0.6), Model("large", 2.5, 10, quality=0.9)], seed=1) as provider:
        client = openai.OpenAI(base_url=provider.base_url, api_key="any")
        ...
        provider.charged()["dollars"]

What comes of a request depends on the seed, the model, the request and how often this model had it before, not on when
it comes.
"""

import argparse
import asyncio
import hashlib
import json
import random
import subprocess
import sys
import threading
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

ROOT = Path(__file__).parents[1]
USUAL = 1000  # tokens of an answer at most, where a request does not say
IMAGE = 1000  # tokens of a part of a message that is no text, in whatever few bytes
PIECES = 8  # of a stream, at most
LEFT = ("generated", "all")


class Model(NamedTuple):
    """A model: dollars per million tokens, how often its answer is good, how long it takes, how often it fails.

    Quality may depend on what a request says as its `kind`, which is in no API.
    """

    name: str
    input: float
    output: float
    quality: float | Mapping[str, float] = 0.5
    seconds: float = 0.0  # mean time of an answer
    fails: float = 0.0  # share answered with 500, not billed
    rate_limited: float = 0.0  # share answered with 429, not billed
    hangs: float = 0.0  # share that takes `hang` seconds of the provider, and is billed
    longest: Mapping[str, int] | None = None  # tokens of an answer, where it is not as long as the request allows

    def dollars(self, prompt: int, completion: int) -> Decimal:
        """The price of so many tokens, exactly."""
        return (Decimal(str(self.input)) * prompt + Decimal(str(self.output)) * completion) / 1_000_000


MODELS = (
    Model("small", 0.15, 0.6, quality=0.5, seconds=0.05),
    Model("medium", 0.8, 4.0, quality=0.7, seconds=0.1),
    Model("large", 2.5, 10.0, quality=0.9, seconds=0.2),
)


class Provider:
    """The provider as a process, from `with` on; `base_url` is what clients are given, `/v1` included.

    Args:
        models: what it offers.
        seed: of all chance.
        left: what a stream costs that its client has left: the tokens "generated" until then, or "all".
        hang: seconds that a call takes that hangs.
        key: what clients must send as their key; None for any.
    """

    def __init__(
        self,
        models: Iterable[Model] = MODELS,
        *,
        seed: int = 0,
        left: str = "generated",
        hang: float = 60.0,
        key: str | None = None,
    ) -> None:
        said = [f"--models={json.dumps([model._asdict() for model in models])}", f"--seed={seed}", f"--left={left}"]
        said += [f"--hang={hang}", "--ends-with-parent"] + ([] if key is None else [f"--key={key}"])
        self._command = [sys.executable, "-m", "benchmarks.provider", *said]

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
        )
        assert self._process.stdout is not None
        self.address = self._process.stdout.readline().strip()
        if not self.address:
            self.__exit__(None, None, None)
            raise RuntimeError("the provider did not start: see above")
        self.base_url = f"{self.address}/v1"
        return self

    def charged(self) -> dict[str, Any]:
        """What was billed so far: `dollars` as a Decimal, `calls`, `good`, calls `under_way`, and each of `models`."""
        with urllib.request.urlopen(f"{self.address}/charged", timeout=30) as answer:
            said: dict[str, Any] = json.loads(answer.read())
        for each in (said, *said["models"].values()):
            each["dollars"] = Decimal(each["dollars"])
        return said

    def reset(self, seed: int = 0) -> None:
        """Forget what was billed, and begin anew with this seed."""
        asked = urllib.request.Request(f"{self.address}/reset", json.dumps({"seed": seed}).encode(), method="POST")
        urllib.request.urlopen(asked, timeout=30).close()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()


class Billed:
    """What one model has billed, and what became of its calls."""

    def __init__(self) -> None:
        self.dollars, self.count = Decimal(0), Counter[str]()

    def said(self) -> dict[str, object]:
        """As JSON has it."""
        names = ("calls", "good", "failed", "rate_limited", "hung", "left")
        return {"dollars": str(self.dollars), **{name: self.count[name] for name in names}}


class Answers:
    """The routes."""

    def __init__(self, models: Sequence[Model], seed: int, left: str, hang: float, key: str | None) -> None:
        self._models = {model.name: model for model in models}
        self._left, self._hang, self._key = left, hang, key
        self._begin(seed)

    def app(self) -> Starlette:
        """The application."""
        return Starlette(
            routes=[
                Route("/v1/chat/completions", self.complete, methods=["POST"]),
                Route("/v1/models", self.models),
                Route("/charged", self.charged),
                Route("/reset", self.reset, methods=["POST"]),
            ]
        )

    def _begin(self, seed: int) -> None:
        self._seed, self._under_way, self._number = seed, 0, 0
        self._billed = {name: Billed() for name in self._models}
        self._times: Counter[bytes] = Counter()  # that a model had the same request

    async def models(self, _: Request) -> Response:
        """All models."""
        models = [{"id": name, "object": "model", "created": 0, "owned_by": "here"} for name in self._models]
        return said({"object": "list", "data": models})

    async def charged(self, _: Request) -> Response:
        """What was billed so far."""
        all_of_them = self._billed.values()
        total: dict[str, object] = {"dollars": str(sum((each.dollars for each in all_of_them), Decimal(0)))}
        total |= {name: sum(each.count[name] for each in all_of_them) for name in ("calls", "good")}
        by_model = {name: each.said() for name, each in self._billed.items()}
        return said({**total, "under_way": self._under_way, "models": by_model})

    async def reset(self, request: Request) -> Response:
        """Begin anew."""
        self._begin(int((await request.json()).get("seed", 0)))
        return said({})

    async def complete(self, request: Request) -> Response:
        """Answer, fail or hang, as chance has it."""
        body = await request.body()
        asked = msgspec.json.decode(body)
        model = self._models.get(asked["model"])
        if self._key is not None and request.headers.get("authorization") != f"Bearer {self._key}":
            return refused(401, "invalid_api_key", "Incorrect API key provided.")
        if model is None:
            return refused(404, "model_not_found", f"The model {asked['model']!r} does not exist.")
        most = asked.get("max_completion_tokens") or asked.get("max_tokens") or USUAL
        billed, count = self._billed[model.name], self._billed[model.name].count
        mark = hashlib.sha256(model.name.encode() + b"\0" + body).digest()
        self._times[mark] += 1
        self._number += 1
        chance = random.Random(f"{self._seed} {mark.hex()} {self._times[mark]}")
        fate, seconds = chance.random(), min(chance.expovariate(1.0), 4.0) * model.seconds
        most = min(most, model.longest[asked["kind"]]) if model.longest else most
        quality = model.quality[asked["kind"]] if isinstance(model.quality, Mapping) else model.quality
        answers = [(chance.randint(1, most), chance.random() < quality) for _ in range(asked.get("n") or 1)]
        prompt = tokens_of(asked["messages"])
        self._under_way += 1
        try:
            if fate < model.fails + model.rate_limited:
                await asyncio.sleep(seconds / 2)
                if fate < model.fails:
                    count["failed"] += 1
                    return refused(500, "server_error", "The server had an error while processing your request.")
                count["rate_limited"] += 1
                return refused(429, "rate_limit_exceeded", "Rate limit reached.", {"retry-after": "1"})
            if fate < model.fails + model.rate_limited + model.hangs:
                count["hung"] += 1
                seconds = self._hang
            stream = Stream(f"chatcmpl-{self._number}", model, asked, prompt, answers, seconds, billed, self._left)
            if asked.get("stream"):
                self._under_way += 1
                stream.ended = self._ended
                return stream
            stream.bill(1.0)
            await asyncio.sleep(seconds)
            return said(stream.whole())
        finally:
            self._under_way -= 1

    def _ended(self) -> None:
        self._under_way -= 1


class Stream(Response):
    """An answer, whole or in pieces."""

    def __init__(
        self,
        name: str,
        model: Model,
        asked: dict[str, Any],
        prompt: int,
        answers: list[tuple[int, bool]],
        seconds: float,
        billed: Billed,
        left: str,
    ) -> None:
        self._head = {"id": name, "created": 1_700_000_000, "model": model.name}
        self._asked, self._model, self._prompt, self._answers = asked, model, prompt, answers
        self._seconds, self._billed, self._left = seconds, billed, left
        self.background = None
        self.ended: Callable[[], None] = lambda: None

    def bill(self, share: float) -> None:
        """Charge the prompt, and this share of what was to be answered."""
        self._billed.dollars += self._model.dollars(self._prompt, self._tokens(share))
        self._billed.count["calls"] += 1
        self._billed.count["good"] += any(good for _, good in self._answers)

    def whole(self) -> dict[str, Any]:
        """The answer in one piece."""
        choices = [
            {"index": i, "message": {"role": "assistant", "content": text(tokens, good)}, "finish_reason": "stop"}
            for i, (tokens, good) in enumerate(self._answers)
        ]
        return {**self._head, "object": "chat.completion", "choices": choices, "usage": self._usage()}

    async def __call__(self, _: Scope, receive: Receive, send: Send) -> None:
        """Send piece after piece until the client leaves, then bill."""
        gone = asyncio.ensure_future(disconnected(receive))
        sent, pieces = 0, PIECES
        try:
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", EVENTS)]})
            while sent < pieces and not gone.done():
                await asyncio.wait({gone}, timeout=self._seconds / pieces)
                if not gone.done():
                    await self._send(send, self._piece(sent, pieces))
                    sent += 1
            if not gone.done():
                if (self._asked.get("stream_options") or {}).get("include_usage"):
                    await self._send(send, [], self._usage())
                await send({"type": "http.response.body", "body": b"data: [DONE]\n\n"})
        finally:
            gone.cancel()
            if sent < pieces:
                self._billed.count["left"] += 1
            self.bill(1.0 if self._left == "all" else sent / pieces)
            self.ended()

    def _piece(self, number: int, pieces: int) -> list[dict[str, Any]]:
        found = []
        for i, (tokens, good) in enumerate(self._answers):
            start, end = (tokens * at // pieces for at in (number, number + 1))
            content = text(tokens, good)[start * WORD : end * WORD] if number else text(max(1, end), good)
            finish = "stop" if number == pieces - 1 else None
            found.append({"index": i, "delta": {"role": "assistant", "content": content}, "finish_reason": finish})
        return found

    async def _send(self, send: Send, choices: list[Any], usage: dict[str, Any] | None = None) -> None:
        chunk = {**self._head, "object": "chat.completion.chunk", "choices": choices}
        if (self._asked.get("stream_options") or {}).get("include_usage"):
            chunk["usage"] = usage
        body = b"data: " + msgspec.json.encode(chunk) + b"\n\n"
        await send({"type": "http.response.body", "body": body, "more_body": True})

    def _tokens(self, share: float) -> int:
        return sum(int(tokens * share) for tokens, _ in self._answers)

    def _usage(self) -> dict[str, int]:
        completion = self._tokens(1.0)
        total = self._prompt + completion
        return {"prompt_tokens": self._prompt, "completion_tokens": completion, "total_tokens": total}


EVENTS = b"text/event-stream; charset=utf-8"
WORD = 5  # letters of a token


async def disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        continue


def text(tokens: int, good: bool) -> str:
    """So many words, the first of which says whether the answer is good."""
    return ("good " if good else "bad  ") + "word " * (tokens - 1)


def tokens_of(messages: list[dict[str, Any]]) -> int:
    """A quarter of the bytes of all text, at least one; what is no text counts for itself."""
    size = images = 0
    for message in messages:
        content = message.get("content") or ""
        for part in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            size += len(part["text"].encode()) if part["type"] == "text" else 0
            images += part["type"] != "text"
    return max(1, size // 4) + images * IMAGE


def said(content: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(content), status, headers, "application/json")


def refused(status: int, code: str, message: str, headers: dict[str, str] | None = None) -> Response:
    """An error as OpenAI tells it."""
    return said({"error": {"message": message, "type": code, "code": code, "param": None}}, status, headers)


class Server(uvicorn.Server):
    """uvicorn, which says where it listens."""

    async def startup(self, sockets: Any = None) -> None:
        """Begin, and print the address."""
        await super().startup(sockets)
        host, port = self.servers[0].sockets[0].getsockname()[:2]
        print(f"http://{host}:{port}", flush=True)


def main() -> None:
    """Serve until Ctrl-C."""
    parser = argparse.ArgumentParser(description="A provider of language models for tests and benchmarks.")
    parser.add_argument("--port", type=int, default=0, help="0 for any that is free")
    parser.add_argument("--models", type=msgspec.json.decode, help="a JSON list of {name, input, output, …}")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--left", choices=LEFT, default="generated", help="what a stream costs that was left")
    parser.add_argument("--hang", type=float, default=60.0, help="seconds that a call takes that hangs")
    parser.add_argument("--key", help="what clients must send as their key; any, if not given")
    parser.add_argument("--ends-with-parent", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    models = MODELS if given.models is None else [Model(**each) for each in given.models]
    app = Answers(models, given.seed, given.left, given.hang, given.key).app()
    settings = uvicorn.Config(app, port=given.port, log_level="error", lifespan="off", timeout_graceful_shutdown=1)
    server = Server(settings)
    if given.ends_with_parent:
        threading.Thread(target=end_with_parent, args=(server,), daemon=True).start()
    server.run()


def end_with_parent(server: Server) -> None:
    """End when the process that started this one is gone, however it went."""
    sys.stdin.read()
    server.should_exit = server.force_exit = True


if __name__ == "__main__":
    main()
