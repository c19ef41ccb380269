"""All commands other than chat: their arguments (`…_arguments`) and what they do."""
