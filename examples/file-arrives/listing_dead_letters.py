"""The article's way to read dead letters, as it is printed; the imports were added.

Where it is wrong: the body of a dead letter is the event itself and has no `Message`, so it is a KeyError, which its caller
logs and forgets. `errorCode` and `errorMessage` are not in the event, so every reason is UNKNOWN_ERROR.
"""

import json


# fmt: off
def analyze_failure_reason(failed_event):
    """失敗原因を分析"""
    error_code = failed_event.get('errorCode')
    error_message = failed_event.get('errorMessage', '')
    
    if error_code == 'ThrottlingException':
        return 'THROTTLING'
    elif 'ResourceNotFoundException' in error_message:
        return 'RESOURCE_NOT_FOUND'
    elif 'AccessDeniedException' in error_message:
        return 'PERMISSION_ERROR'
    else:
        return 'UNKNOWN_ERROR'
# fmt: on


def failed_event_of(record):
    """The two lines of `process_dlq_messages` that take the event out of a letter, as they are printed."""
    # fmt: off
    message_body = json.loads(record['body'])
    failed_event = json.loads(message_body['Message'])
    # fmt: on
    return failed_event
