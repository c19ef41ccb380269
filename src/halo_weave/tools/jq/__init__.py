"""Runs jq in a child process with an empty environment and limits on time, memory and output."""
