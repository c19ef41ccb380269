"""Places text into contexts."""

from halo_weave.engine import Engine, Placed


def placed(engine: Engine, text: str, first: int = 0, *, special: bool = True) -> list[Placed]:
    return [Placed(first + offset, token.id) for offset, token in enumerate(engine.tokenize(text, special=special))]


def asked(engine: Engine, question: str, first: int = 0) -> list[Placed]:
    """Return a context that ends where the model's answer begins."""
    template = engine.facts.chat_template
    user, assistant = template.user, template.assistant
    return placed(engine, f"{template.start}{user.opening}{question}{user.closing}{assistant.opening}", first)
