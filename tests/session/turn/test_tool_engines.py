"""Tool calls work with models on servers as with one in this process, because only the text counts."""

from contextlib import closing
from pathlib import Path

from halo_weave.engine.echo import EchoEngine
from halo_weave.engine.kobold_client import KoboldEngine
from halo_weave.engine.openai_client import OpenAIEngine
from halo_weave.server.kobold.server import serving
from halo_weave.session.turn.turn import send
from support.servers.loopback_server import Answer, Body, LoopbackServer
from support.servers.openai_servers import llama_server, says
from support.tool_windows import by_tools, hub_with_tools

CALL = "<tool>jq '.scratch.n = 1' notes.json > output</tool>"
RESULT = "⚙️【jq '.scratch.n = 1' notes.json > output】→ ✓ .scratch.n = 1\n"


def test_a_model_behind_the_openai_protocol_reads_the_result_in_its_begun_reply(tmp_path: Path) -> None:
    def chat(body: Body) -> Answer:
        is_begun = body["messages"][-1]["role"] == "assistant"
        return says("It is ", "noted.")(body) if is_begun else says("So: ", "<to", CALL[3:-3], "ol>", " not said")(body)

    with LoopbackServer(llama_server(chat)) as server, closing(OpenAIEngine(server.url)) as engine:
        with hub_with_tools(tmp_path / "halo.db", engine=engine) as hub:
            window = hub.open("main")
            reply = send(window, "Note it.")
            assert reply.text == f"So: {CALL}{RESULT}It is noted."
            assert [chunk.text for chunk in by_tools(window)] == [RESULT]
        messages = server.bodies("/v1/chat/completions")[-1]["messages"]
        assert messages[-1] == {"role": "assistant", "content": f"So: {CALL}{RESULT}"}


def test_a_model_behind_the_kobold_protocol_is_stopped_at_the_call(tmp_path: Path) -> None:
    echo = EchoEngine([f"So: {CALL} not said", "It is noted."])
    with (
        serving(echo) as address,
        closing(KoboldEngine(address)) as engine,
        hub_with_tools(tmp_path / "halo.db", engine=engine) as hub,
    ):
        assert send(hub.open("main"), "Note it.").text == f"So: {CALL}{RESULT}It is noted."
