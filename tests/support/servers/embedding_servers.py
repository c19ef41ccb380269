"""Loopback servers whose vectors depend on the text alone, so that a vector reveals which text was embedded."""

import hashlib

from support.servers.loopback_server import Answer, Body, Handler, LoopbackServer
from support.servers.openai_servers import llama_server, says

EMBEDDINGS = "/v1/embeddings"


def made_up_vector(text: str) -> list[float]:
    return [byte - 127.5 for byte in hashlib.sha256(text.encode()).digest()]


def embeds(body: Body) -> Answer:
    if "" in body["input"]:
        return Answer({"error": {"message": "input cannot be an empty string"}}, 400)
    entries = [{"index": index, "embedding": made_up_vector(text)} for index, text in enumerate(body["input"])]
    return Answer({"data": entries[::-1]})


def embedding_server(answer: Handler = embeds, *, model: str = "small") -> LoopbackServer:
    handlers = llama_server(says(""))
    meta = {"n_vocab": 49152, "n_ctx_train": 8192, "n_embd": 576}
    handlers["/v1/models"] = lambda _: Answer({"data": [{"id": f"/models/{model}.gguf", "meta": meta}]})
    return LoopbackServer({**handlers, EMBEDDINGS: answer})
