"""How each model server is spoken to: what a request names and holds, and how an answer to it is written."""

import json
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

Body = Mapping[str, Any]
USAGE = 10
OPENCLAW_CONTEXT = "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>"


@dataclass(frozen=True)
class Say:
    """The model answers in words, and the turn is over."""

    text: str


@dataclass(frozen=True)
class Call:
    """The model asks for a tool by the end of its name, which each client prefixes in its own way."""

    tool: str
    arguments: Mapping[str, Any]


Answer = Say | Call


class Wire(Protocol):
    """One format of requests and answers."""

    def tools(self, body: Body) -> list[str]:
        """The names of the tools that the request offers."""

    def prompt(self, body: Body) -> str:
        """What stands in the last message of the person."""

    def results(self, body: Body) -> list[str]:
        """What tools have answered since then, as the model sees it."""

    def write(self, answer: Answer, body: Body) -> tuple[str, bytes]:
        """The content type and the bytes of an answer."""


def texts(value: object) -> Iterator[str]:
    """Each string in a JSON value, in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts(item)


def full_name(call: Call, tools: list[str]) -> str:
    """The name under which the client offers the tool."""
    return next((name for name in tools if name.endswith(call.tool)), call.tool)


def _events(events: list[dict[str, Any]], *, named: bool) -> tuple[str, bytes]:
    """A stream of server-sent events."""
    lines = []
    for event in events:
        if named:
            lines.append(f"event: {event['type']}\n")
        lines.append(f"data: {json.dumps(event)}\n\n")
    return "text/event-stream", "".join(lines).encode()


def _whole(value: object) -> tuple[str, bytes]:
    return "application/json", json.dumps(value).encode()


class Anthropic:
    """`POST /v1/messages`."""

    def tools(self, body: Body) -> list[str]:
        return [tool["name"] for tool in body.get("tools") or ()]

    def prompt(self, body: Body) -> str:
        for message in reversed(body.get("messages") or ()):
            if message["role"] == "user" and not _has_results(message["content"]):
                return "\n".join(texts(message["content"]))
        return ""

    def results(self, body: Body) -> list[str]:
        found: list[str] = []
        for message in reversed(body.get("messages") or ()):
            if message["role"] != "user":
                continue
            if not _has_results(message["content"]):
                break
            parts = [part for part in message["content"] if part.get("type") == "tool_result"]
            found += ["\n".join(texts(part.get("content"))) for part in parts]
        return found[::-1]

    def write(self, answer: Answer, body: Body) -> tuple[str, bytes]:
        if isinstance(answer, Say):
            block: dict[str, Any] = {"type": "text", "text": answer.text}
            empty, delta = ({**block, "text": ""}, {"type": "text_delta", "text": answer.text})
        else:
            name = full_name(answer, self.tools(body))
            block = {
                "type": "tool_use",
                "id": f"toolu_{uuid.uuid4().hex}",
                "name": name,
                "input": answer.arguments,
            }
            empty = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(answer.arguments)}
        reason = "end_turn" if isinstance(answer, Say) else "tool_use"
        usage = {"input_tokens": USAGE, "output_tokens": USAGE}
        message = {
            "id": f"msg_{uuid.uuid4().hex}",
            "type": "message",
            "role": "assistant",
            "model": body.get("model", "scripted"),
            "content": [block],
            "stop_reason": reason,
            "stop_sequence": None,
            "usage": usage,
        }
        if not body.get("stream"):
            return _whole(message)
        return _events(
            [
                {
                    "type": "message_start",
                    "message": {**message, "content": [], "stop_reason": None},
                },
                {"type": "content_block_start", "index": 0, "content_block": empty},
                {"type": "content_block_delta", "index": 0, "delta": delta},
                {"type": "content_block_stop", "index": 0},
                {
                    "type": "message_delta",
                    "delta": {"stop_reason": reason, "stop_sequence": None},
                    "usage": usage,
                },
                {"type": "message_stop"},
            ],
            named=True,
        )


def _has_results(content: object) -> bool:
    return isinstance(content, list) and any(part.get("type") == "tool_result" for part in content)


class Responses:
    """`POST /v1/responses`."""

    def tools(self, body: Body) -> list[str]:
        return list(_names_in(body.get("tools") or ()))

    def prompt(self, body: Body) -> str:
        said = [
            item
            for item in body.get("input") or ()
            if item.get("type") == "message" and item["role"] == "user"
        ]
        return "\n".join(texts(said[-1]["content"])) if said else ""

    def results(self, body: Body) -> list[str]:
        found: list[str] = []
        for item in reversed(body.get("input") or ()):
            if item.get("type") == "message" and item["role"] == "user":
                break
            if str(item.get("type")).endswith("_output"):
                found.append("\n".join(texts(item.get("output"))))
        return found[::-1]

    def write(self, answer: Answer, body: Body) -> tuple[str, bytes]:
        if isinstance(answer, Say):
            content = [{"type": "output_text", "text": answer.text, "annotations": []}]
            item: dict[str, Any] = {"type": "message", "role": "assistant", "content": content}
        else:
            item = {
                "type": "function_call",
                "call_id": f"call_{uuid.uuid4().hex}",
                **_place(answer, body),
            }
            item["arguments"] = json.dumps(answer.arguments)
        item |= {"id": f"item_{uuid.uuid4().hex}", "status": "completed"}
        usage = {
            "input_tokens": USAGE,
            "output_tokens": USAGE,
            "total_tokens": 2 * USAGE,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        }
        answered = {
            "id": f"resp_{uuid.uuid4().hex}",
            "object": "response",
            "output": [item],
            "usage": usage,
        }
        answered |= {"status": "completed", "model": body.get("model", "scripted")}
        if not body.get("stream"):
            return _whole(answered)
        begun = {**answered, "status": "in_progress", "output": [], "usage": None}
        return _events(
            [
                {"type": "response.created", "response": begun},
                {"type": "response.output_item.added", "output_index": 0, "item": item},
                {"type": "response.output_item.done", "output_index": 0, "item": item},
                {"type": "response.completed", "response": answered},
            ],
            named=True,
        )


def _names_in(tools: Any) -> Iterator[str]:
    """The names of tools; those of a namespace come with its name."""
    for tool in tools:
        if tool.get("type") == "namespace":
            yield from (f"{tool['name']}{name}" for name in _names_in(tool["tools"]))
        else:
            yield tool.get("name") or tool["type"]


def _place(call: Call, body: Body) -> dict[str, str]:
    """Name, and namespace where the client has one."""
    for tool in body.get("tools") or ():
        inner = tool.get("tools") if tool.get("type") == "namespace" else None
        for part in inner or ():
            if part["name"].endswith(call.tool):
                return {"name": part["name"], "namespace": tool["name"]}
    return {"name": full_name(call, list(_names_in(body.get("tools") or ())))}


class Chat:
    """`POST /v1/chat/completions`."""

    def tools(self, body: Body) -> list[str]:
        return [tool["function"]["name"] for tool in body.get("tools") or ()]

    def prompt(self, body: Body) -> str:
        prompts = [message for message in body.get("messages") or () if _is_prompt(message)]
        return "\n".join(texts(prompts[-1]["content"])) if prompts else ""

    def results(self, body: Body) -> list[str]:
        found: list[str] = []
        for message in reversed(body.get("messages") or ()):
            if _is_prompt(message):
                break
            if message["role"] == "tool":
                found.append("\n".join(texts(message.get("content"))))
        return found[::-1]

    def write(self, answer: Answer, body: Body) -> tuple[str, bytes]:
        message: dict[str, Any] = {"role": "assistant"}
        if isinstance(answer, Say):
            message["content"] = answer.text
        else:
            function = {
                "name": full_name(answer, self.tools(body)),
                "arguments": json.dumps(answer.arguments),
            }
            call = {
                "index": 0,
                "id": f"call_{uuid.uuid4().hex}",
                "type": "function",
                "function": function,
            }
            message |= {"content": None, "tool_calls": [call]}
        reason = "stop" if isinstance(answer, Say) else "tool_calls"
        about = {
            "id": f"chatcmpl-{uuid.uuid4().hex}",
            "created": 1,
            "model": body.get("model", "scripted"),
        }
        usage = {"prompt_tokens": USAGE, "completion_tokens": USAGE, "total_tokens": 2 * USAGE}
        if not body.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": reason}
            return _whole(
                {**about, "object": "chat.completion", "choices": [choice], "usage": usage}
            )
        about["object"] = "chat.completion.chunk"
        kind, raw = _events(
            [
                {**about, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
                {
                    **about,
                    "choices": [{"index": 0, "delta": {}, "finish_reason": reason}],
                    "usage": usage,
                },
            ],
            named=False,
        )
        return kind, raw + b"data: [DONE]\n\n"


def _is_prompt(message: Mapping[str, Any]) -> bool:
    """Whether the person said this; OpenClaw puts a message about itself behind it, in their name."""
    if message["role"] != "user":
        return False
    return not any(text.startswith(OPENCLAW_CONTEXT) for text in texts(message["content"]))


class Gemini:
    """`POST /v1beta/models/NAME:streamGenerateContent`."""

    def tools(self, body: Body) -> list[str]:
        groups = body.get("tools") or ()
        return [
            tool["name"] for group in groups for tool in group.get("functionDeclarations") or ()
        ]

    def prompt(self, body: Body) -> str:
        for message in reversed(body.get("contents") or ()):
            if message.get("role") == "user" and not _responses(message):
                return "\n".join(texts(message["parts"]))
        return ""

    def results(self, body: Body) -> list[str]:
        found: list[str] = []
        for message in reversed(body.get("contents") or ()):
            if message.get("role") != "user":
                continue
            if not _responses(message):
                break
            found += ["\n".join(texts(response)) for response in _responses(message)]
        return found[::-1]

    def write(self, answer: Answer, body: Body) -> tuple[str, bytes]:
        if isinstance(answer, Say):
            part: dict[str, Any] = {"text": answer.text}
        else:
            part = {
                "functionCall": {
                    "name": full_name(answer, self.tools(body)),
                    "args": answer.arguments,
                }
            }
        candidate = {
            "content": {"role": "model", "parts": [part]},
            "finishReason": "STOP",
            "index": 0,
        }
        usage = {
            "promptTokenCount": USAGE,
            "candidatesTokenCount": USAGE,
            "totalTokenCount": 2 * USAGE,
        }
        answered = {"candidates": [candidate], "usageMetadata": usage}
        return _events([answered], named=False)


def _responses(message: Mapping[str, Any]) -> list[Any]:
    return [
        part["functionResponse"]["response"]
        for part in message["parts"]
        if "functionResponse" in part
    ]
