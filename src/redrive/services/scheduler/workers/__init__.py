"""The work that EventBridge Scheduler does without a request."""
