"""How an import says no: one sentence, whatever was wrong."""

from pathlib import Path

from halo_weave.errors import HaloError, InputError, StoreConflict

_LONGEST_REASON = 400


def refusal(path: Path, reason: str) -> InputError:
    return InputError(_sentence(path, reason))


def conflict(path: Path, reason: str) -> StoreConflict:
    return StoreConflict(_sentence(path, reason))


def reason_of(error: HaloError) -> str:
    """An error's sentence, to stand inside of another one; what it quotes from a file may be long."""
    sentence = str(error).rstrip(".")
    if len(sentence) > _LONGEST_REASON:
        sentence = sentence[: _LONGEST_REASON - 3] + "..."
    return sentence[:1].lower() + sentence[1:]


def _sentence(path: Path, reason: str) -> str:
    return f"{path} cannot be imported: {reason}; nothing was changed."
