"""Settings that no longer exist. Their names are still recognised, so an old file gets a notice instead of an error."""

FORMER_SETTINGS = {
    "brightness.half_life": "it is always 512 steps now",
    "brightness.half_weight_distance": "it is always 64 tokens now",
    "engine.kept_rows_on_disk": "cached model state stays in memory now; engine.kept_rows_mb sets how much",
    "memory.exact_up_to_chunks": "the vector index is always used above 50,000 chunks now",
    "preview.tokens": "a preview always has 24 tokens now",
    "reflection.after_messages": "reflection always waits for 6 messages now",
    "search.candidates": "search chooses the number of candidates itself now",
    "search.common_words_share": "search chooses which words are too common itself now",
    "tools.description_tokens": "the description of the tools always has up to 600 tokens now",
    "tools.seconds": "a tool call may always take 10 seconds now",
    "tools.tree_levels": "the description of the tools always shows 2 levels of the memory tree now",
    "weave.budget_share": "use weave.budget_tokens instead; 0 stands for half of the context",
    "weave.resurrection_cap": "how much returns depends on how likely the message needs it now",
}
"""Each former name, with its replacement or the reason why it is no longer needed."""


def former_setting_notice(name: str, source: str) -> str:
    """Return the notice for a former setting; `source` follows the name, such as "from the command line"."""
    return f"{name} {source} is no longer a setting and is ignored: {FORMER_SETTINGS[name]}."
