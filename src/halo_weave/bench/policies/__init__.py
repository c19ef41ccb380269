"""`bench policies`: compares ways to fill a context of the same size, with the same chats and questions."""
