"""HTTP/1.1 over asyncio: bytes to requests, answers to bytes, within limits."""
