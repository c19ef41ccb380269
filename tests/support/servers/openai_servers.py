"""Loopback handlers that imitate OpenAI-compatible servers, well-behaved and not."""

import json
from collections.abc import Iterable
from typing import Any

from support.servers.loopback_server import Answer, Body, Handler


def event(content: Any) -> bytes:
    return f"data: {content if isinstance(content, str) else json.dumps(content)}\n\n".encode()


def delta(text: str | None = None, finish: str | None = None) -> bytes:
    return event({"choices": [{"index": 0, "delta": {"content": text} if text else {}, "finish_reason": finish}]})


def says(*texts: str, finish: str = "stop") -> Handler:
    """Answer a chat request with these pieces of text."""

    def handler(_: Body) -> Answer:
        return Answer(iter([*map(delta, texts), delta(finish=finish), event("[DONE]")]))

    return handler


def streams(pieces: Iterable[bytes]) -> Handler:
    """Answer a chat request with these raw bytes, once."""
    return lambda _: Answer(iter(pieces))


def refuses(status: int, error: Any) -> Handler:
    return lambda _: Answer({"error": error}, status)


def llama_server(chat: Handler) -> dict[str, Handler]:
    """llama.cpp's server, with tokens of up to three bytes."""

    def tokenize(body: Body) -> Answer:
        if "content" not in body:
            return Answer({"tokens": []})
        pieces = _three_bytes_each(body["content"])
        return Answer({"tokens": [{"id": _number(piece), "piece": _as_text_or_bytes(piece)} for piece in pieces]})

    def detokenize(body: Body) -> Answer:
        return Answer({"content": b"".join(map(_bytes_of, body["tokens"])).decode(errors="replace")})

    meta = {"n_vocab": 49152, "n_ctx_train": 8192, "n_embd": 576}
    return {
        "/v1/models": lambda _: Answer({"data": [{"id": "/models/small.gguf", "meta": meta}]}),
        "/props": lambda _: Answer({"default_generation_settings": {"n_ctx": 2048}}),
        "/tokenize": tokenize,
        "/detokenize": detokenize,
        "/v1/chat/completions": chat,
    }


def vllm_in_bytes(chat: Handler) -> dict[str, Handler]:
    """vLLM with a byte-level vocabulary."""

    def tokenize(body: Body) -> Answer:
        if "prompt" not in body:
            return Answer({"error": {"message": "prompt is missing"}}, 400)
        pieces = _three_bytes_each(body["prompt"])
        names = ["".join(map(_visible, piece)) for piece in pieces]
        return Answer({"count": len(pieces), "tokens": [*map(_number, pieces)], "token_strs": names})

    def detokenize(body: Body) -> Answer:
        return Answer({"prompt": b"".join(map(_bytes_of, body["tokens"])).decode(errors="replace")})

    return _vllm(chat, tokenize, detokenize)


def vllm_in_words(chat: Handler) -> dict[str, Handler]:
    """vLLM with a SentencePiece vocabulary, which adds a space before the first word and removes it again."""
    vocabulary: list[str] = []

    def tokenize(body: Body) -> Answer:
        if "prompt" not in body:
            return Answer({"error": {"message": "prompt is missing"}}, 400)
        names = []
        for word in (" " + body["prompt"]).replace(" ", "\0▁").split("\0"):
            for part in word.replace("\n", "\0<0x0A>\0").split("\0"):
                if part:
                    names.append(part)
        vocabulary.extend(name for name in dict.fromkeys(names) if name not in vocabulary)
        return Answer({"count": len(names), "tokens": [*map(vocabulary.index, names)], "token_strs": names})

    def detokenize(body: Body) -> Answer:
        joined = "".join(vocabulary[number] for number in body["tokens"])
        return Answer({"prompt": joined.replace("<0x0A>", "\n").replace("▁", " ").removeprefix(" ")})

    return _vllm(chat, tokenize, detokenize)


def bare(chat: Handler) -> dict[str, Handler]:
    """Ollama: a model list and chat, but no tokenizer."""
    return {
        "/v1/models": lambda _: Answer({"object": "list", "data": [{"id": "tiny:latest"}, {"id": "other:7b"}]}),
        "/v1/chat/completions": chat,
    }


def _vllm(chat: Handler, tokenize: Handler, detokenize: Handler) -> dict[str, Handler]:
    return {
        "/v1/models": lambda _: Answer({"data": [{"id": "org/model", "max_model_len": 1024}]}),
        "/tokenize": tokenize,
        "/detokenize": detokenize,
        "/v1/chat/completions": chat,
    }


def _three_bytes_each(text: str) -> list[bytes]:
    encoded = text.encode()
    return [encoded[start : start + 3] for start in range(0, len(encoded), 3)]


def _number(piece: bytes) -> int:
    return int.from_bytes(bytes([len(piece)]) + piece, "big")


def _bytes_of(number: int) -> bytes:
    return number.to_bytes(4, "big").lstrip(b"\0")[1:]


def _as_text_or_bytes(piece: bytes) -> str | list[int]:
    try:
        return piece.decode()
    except UnicodeDecodeError:
        return list(piece)


def _visible(byte: int) -> str:
    """Return the character for a byte: byte-level vocabularies map unprintable bytes to U+0100 and up."""
    hidden = [*range(0x21), *range(0x7F, 0xA1), 0xAD]
    return chr(0x100 + hidden.index(byte)) if byte in hidden else chr(byte)
