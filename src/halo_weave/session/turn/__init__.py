"""One message and its reply, step by step; `turn` has the steps in order."""
