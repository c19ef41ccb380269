"""The roles that may speak in a turn."""

from typing import Literal, get_args

Role = Literal["system", "user", "assistant"]
ROLES: tuple[Role, ...] = get_args(Role)
