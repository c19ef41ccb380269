"""What depends on the language of a text: dates that it names, wishes, and names of speakers."""
