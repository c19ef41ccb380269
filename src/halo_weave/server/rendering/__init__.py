"""Markdown as sanitised HTML, made in a child process with a time limit."""
