"""Addresses of servers as they may be shown: a name and a password before the host stay hidden."""

HIDDEN = "(hidden)"


def without_password(address: str) -> str:
    """Everything up to the last @ is hidden, because a password that is not escaped may hold any character."""
    before, at, host = address.rpartition("@")
    scheme, slashes, _ = before.partition("://")
    return f"{scheme if slashes else ''}{slashes}{HIDDEN}@{host}" if at else address
