"""`bench results`: saved figures as the page docs/results.md and the table of the README."""
