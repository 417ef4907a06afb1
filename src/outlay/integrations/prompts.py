"""What is read off a prompt: numbers by which a campaign tells one chat request from another.

`PROMPT_CONTEXT` has their names and kinds, as `Campaign(context=…)` takes them, and `prompt_context` reads them off a
request. No model is called for this, nothing is learned, and nothing of the text is kept but these numbers.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from math import log, log1p, sqrt
from typing import Any

from outlay.campaign.context import encoded
from outlay.errors import BadParameter
from outlay.text import listed

WORDS = 8
PROMPT_CONTEXT: dict[str, str | int] = {
    "length": "number:1.5",  # log(1 + bytes) of all text
    "turns": "number",  # log of the number of the user's messages
    "not_ascii": "number:0.3",  # of this and the next three: the root of their share of the characters
    "code": "number:0.1",  # brackets and marks that are rare in prose
    "digits": "number:0.1",
    "operators": "number:0.1",  # + = < ^ and the like
    "fence": "number:0.5",  # of this and those that follow, 1 or 0: whether there is a fence around code,
    "question": "number:0.5",  # a question mark in the last 4000 characters
    "picture": "number:0.5",  # anything that is no text
    "tools": "number:0.5",  # tools, in the request or in what came before
    "json": "number:0.5",  # a form that the answer must have
    "words": WORDS,  # words by their hashes
}
TEXTS = ("system", "instructions", "messages", "input", "prompt")  # where a request has its text, first to last
ENDS = 4000  # characters that are looked at, at either end of the text
MOST_PARTS = 5000  # messages, their parts and texts
DEEPEST = 8  # lists and objects in each other
TEXTUAL = (None, "message", "text", "input_text", "output_text", "refusal", "thinking", "tool_use", "tool_result")
CODE, DIGITS, OPERATORS = "{}[]()<>;_\\|&#@`", "0123456789", "+=*/^<>%~±×÷≤≥≠√∑∫∈∀∃→"
_WORD = re.compile(r"[\u3040-\u9fff]|[^\W\d_\u3040-\u9fff]+")  # Chinese and Japanese put no spaces between words


def prompt_context(request: object) -> dict[str, float | list[float]]:
    """The context of a chat request: of its parameters by OpenAI's names, of its messages alone, or of a text.

    Of a long text the first and the last 4000 characters are looked at, and at most 5000 messages and parts of them.
    What is neither text nor a message is passed over.

    >>> found = prompt_context([{"role": "user", "content": "What is 17 * 23?"}])
    >>> found["digits"], found["code"], found["question"], len(found["words"])
    (0.5, 0.0, 1.0, 8)
    >>> from outlay import Campaign
    >>> campaign = Campaign(["small", "large"], budget=10, requests=1000, context=PROMPT_CONTEXT)
    >>> pull = campaign.ask(context=found)
    """
    given = request if isinstance(request, Mapping) else {"messages": request}
    if not isinstance(request, (str, list, tuple, Mapping)) or not any(name in given for name in TEXTS):
        allowed = f"a text, a list of messages, or a mapping with one of {listed(TEXTS, len(TEXTS))}"
        raise BadParameter("prompt_context", "request", allowed, request)
    read = [*islice((each for name in TEXTS for each in _read(given.get(name), DEEPEST)), MOST_PARTS)]
    objects = [each for each in read if not isinstance(each, str)]
    text = "\n".join(each for each in read if isinstance(each, str))
    seen = text if len(text) <= 2 * ENDS else f"{text[:ENDS]}\n{text[-ENDS:]}"
    form = given.get("response_format")
    offered = any(given.get(name) for name in ("tools", "functions"))
    used = any(each.get("tool_calls") or each.get("role") == "tool" for each in objects)
    words = [*dict.fromkeys(_WORD.findall(seen.lower()))]
    hashed = encoded("prompt_context", {"words": f"hashed:{WORDS}"}, {"words": words}) or ()

    def share(count: int) -> float:
        return sqrt(count / max(1, len(seen)))

    return {
        "length": log1p(len(text.encode(errors="surrogatepass"))),
        "turns": log(max(1, sum(each.get("role") == "user" for each in objects))),
        "not_ascii": share(len(seen) - len(seen.encode("ascii", "ignore"))),
        "code": share(sum(map(seen.count, CODE))),
        "digits": share(sum(map(seen.count, DIGITS))),
        "operators": share(sum(map(seen.count, OPERATORS))),
        "fence": float("```" in seen),
        "question": float(any(mark in seen[-ENDS:] for mark in "?？؟")),
        "picture": float(any(each.get("type") not in TEXTUAL for each in objects)),
        "tools": float(offered or used),
        "json": float(bool(form) and not (isinstance(form, Mapping) and form.get("type") == "text")),
        "words": [sqrt(WORDS) * each for each in hashed],  # about as large as if they had variance 1
    }


def _read(said: Any, deepest: int) -> Iterator[str | Mapping[str, Any]]:
    """Texts, messages and their parts, in their order."""
    if isinstance(said, str):
        yield said
    elif deepest and isinstance(said, (list, tuple)):
        for each in said:
            yield from _read(each, deepest - 1)
    elif deepest and (fields := said if isinstance(said, Mapping) else getattr(said, "__dict__", None)):
        yield fields  # the messages of some clients are objects
        for name in ("content", "text"):
            yield from _read(fields.get(name), deepest - 1)
