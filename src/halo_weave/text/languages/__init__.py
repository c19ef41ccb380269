"""Text functions that depend on the language: dates, wishes, and names of speakers."""
