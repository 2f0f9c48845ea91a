"""The gateway: HTTP requests in, answers out. The only room that is asynchronous."""
