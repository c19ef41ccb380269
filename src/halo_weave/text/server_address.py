"""Server addresses in a form that is safe to show: user name and password are hidden."""

HIDDEN = "(hidden)"


def without_password(address: str) -> str:
    """Hide everything up to the last @, because an unescaped password may contain any character."""
    before, at, host = address.rpartition("@")
    scheme, slashes, _ = before.partition("://")
    return f"{scheme if slashes else ''}{slashes}{HIDDEN}@{host}" if at else address
