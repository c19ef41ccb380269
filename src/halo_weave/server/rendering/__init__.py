"""Renders Markdown as sanitised HTML, in a child process with a time limit."""
