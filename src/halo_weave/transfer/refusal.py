"""The errors of an import, each as one sentence."""

from pathlib import Path

from halo_weave.errors import HaloError, InputError, StoreConflict

_LONGEST_REASON = 400


def refusal(path: Path, reason: str) -> InputError:
    return InputError(_sentence(path, reason))


def conflict(path: Path, reason: str) -> StoreConflict:
    return StoreConflict(_sentence(path, reason))


def reason_of(error: HaloError) -> str:
    """Return an error's message in a form that fits inside another sentence, shortened if it quotes too much."""
    sentence = str(error).rstrip(".")
    if len(sentence) > _LONGEST_REASON:
        sentence = sentence[: _LONGEST_REASON - 3] + "..."
    return sentence[:1].lower() + sentence[1:]


def _sentence(path: Path, reason: str) -> str:
    return f"{path} cannot be imported: {reason}; nothing was changed."
