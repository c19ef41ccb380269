"""jq in a child process without environment, with limits on time, memory and output."""
