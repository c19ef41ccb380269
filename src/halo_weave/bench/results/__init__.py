"""`bench results`: turns saved figures into the page docs/results.md and the table in the README."""
