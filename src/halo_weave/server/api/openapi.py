"""Generates the OpenAPI description of all endpoints from their declarations."""

import re
from typing import Any

import msgspec

from halo_weave import __version__
from halo_weave.server.api.shapes import EventShape
from halo_weave.server.http.endpoints import Endpoint, ErrorReply

_REF = "#/components/schemas/{name}"


def description(endpoints: list[Endpoint]) -> dict[str, Any]:
    """An OpenAPI 3.1 document."""
    bodies = [(one, one.body) for one in endpoints if one.body is not None]
    replies = [(one, one.reply) for one in endpoints if one.reply is not None]
    types = [kind for _, kind in (*bodies, *replies)] + [ErrorReply, EventShape]
    schemas, components = msgspec.json.schema_components(types, ref_template=_REF)
    body_of = dict(zip((id(one) for one, _ in bodies), schemas, strict=False))
    reply_of = dict(zip((id(one) for one, _ in replies), schemas[len(bodies) :], strict=False))
    paths: dict[str, dict[str, Any]] = {}
    for one in endpoints:
        operation: dict[str, Any] = {
            "summary": one.sentence,
            "operationId": _operation_id(one),
            "parameters": [*_path_parameters(one), *_query_parameters(one)],
            "responses": {
                str(one.status): _response(one, reply_of.get(id(one))),
                "default": {
                    "description": "The error in one sentence.",
                    "content": {"application/json": {"schema": {"$ref": _REF.format(name="ErrorReply")}}},
                },
            },
        }
        if id(one) in body_of:
            operation["requestBody"] = {"content": {"application/json": {"schema": body_of[id(one)]}}, "required": True}
        if one.takes_file:
            operation["requestBody"] = {"content": {"application/octet-stream": {}}, "required": True}
        paths.setdefault(one.path, {})[one.method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Halo Weave",
            "version": __version__,
            "description": "Requests that change something need the header `X-Halo: 1`. Events are sent over "
            "WebSockets at /api/windows/{window}/events and /api/events.",
        },
        "paths": paths,
        "components": {"schemas": components},
    }


def _operation_id(one: Endpoint) -> str:
    return re.sub(r"[^a-z]+", "_", f"{one.method} {one.path}".lower()).strip("_")


def _path_parameters(one: Endpoint) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in re.findall(r"{(\w+)}", one.path)
    ]


def _query_parameters(one: Endpoint) -> list[dict[str, Any]]:
    if one.query is None:
        return []
    (_,), components = msgspec.json.schema_components([one.query], ref_template=_REF)
    schema = components[one.query.__name__]
    required = schema.get("required", [])
    return [
        {"name": name, "in": "query", "required": name in required, "schema": kind}
        for name, kind in schema["properties"].items()
    ]


def _response(one: Endpoint, schema: dict[str, Any] | None) -> dict[str, Any]:
    return {"description": one.sentence, "content": {one.media_type: {"schema": schema} if schema else {}}}
