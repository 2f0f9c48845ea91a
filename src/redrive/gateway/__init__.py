"""The gateway: HTTP requests in, answers out. The only room with asynchronous code."""
