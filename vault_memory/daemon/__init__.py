"""The process that runs beside a chat bot: the loop, the lock, the socket, and its threads."""
