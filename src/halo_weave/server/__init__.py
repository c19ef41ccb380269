"""The program as a server: the page, what it asks for over HTTP, and what it is told over WebSockets."""
