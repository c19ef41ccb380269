"""`bench policies`: ways to fill a context of the same size, in the same chats, asked the same questions."""
