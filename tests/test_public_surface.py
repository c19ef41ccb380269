"""The public names of each package, listed so that a change is deliberate."""

import importlib
import pkgutil

import pytest

import halo_weave

PUBLIC = {
    "engine": """Abilities Ability Attention AttentionChoice Cancellation Engine EngineContext FinishReason
        GenerationSettings ModelFacts Placed SpecialTokens Step SyncReport Token""",
    "engine.kobold_client": "KoboldContext KoboldEngine Timeouts",
    "engine.openai_client": "OpenAIContext OpenAIEngine",
    "memory": "Embedder EmbedderSettings Hit Memory MemorySettings Store open_embedder open_memory",
    "records": """AuditEntry BurialRecord Chunk ChunkKey NotesRecord ROLES Reservation Role SnapshotChunk Stats Stored
        Token TreeEntry TreeVersion WindowRecord number_of_text text_of_number utc_now""",
    "session": "Hub Reply Window WindowSettings continue_reply send",
    "text": "ChatTemplate Chunker StopFinder chatml chunks_of from_jinja",
    "tools": "MemoryTree Notes Toolbox Toolboxes opened_toolboxes",
    "transfer": "Exported Imported Progress ProgressCallback export_memory import_file",
    "weave": """Candidate Captured Context ContextPlan Layout LiveChunk PruningPlan ResurrectionPlan WeaveSettings
        lay_out""",
    "weave.brightness": "NEW_BRIGHTNESS Scorer ScorerName ScorerSettings Sight State make_scorer problem",
}
PACKAGES = [one.name for one in pkgutil.walk_packages(halo_weave.__path__, "halo_weave.") if one.ispkg]


@pytest.mark.parametrize("name", PACKAGES)
def test_every_package_says_in_a_paragraph_what_it_is_for(name: str) -> None:
    said = importlib.import_module(name).__doc__ or ""
    assert len(said.split()) >= 8


@pytest.mark.parametrize("name", PUBLIC)
def test_a_package_offers_just_the_names_that_are_listed_here(name: str) -> None:
    package = importlib.import_module(f"halo_weave.{name}")
    offered = PUBLIC[name].split()
    assert sorted(getattr(package, "__all__", offered)) == sorted(offered)
    for public in offered:
        assert getattr(package, public) is not None


@pytest.mark.parametrize("name", ["memory", "records", "session", "tools"])
def test_a_name_that_is_not_public_is_refused_with_those_that_are(name: str) -> None:
    package = importlib.import_module(f"halo_weave.{name}")
    with pytest.raises(AttributeError, match="there are"):
        package.no_such_name  # noqa: B018
