"""The article's retry of a start, as it is printed; the imports and the branch's end were added.

Where it is wrong: the execution's name is the time of the retry, so two retries of one event are two executions, and two
retries of two events within a second are one: the second is ExecutionAlreadyExists, and goes to people.
"""

import json
import time

import boto3


def escalate_to_ops_team(event, reason=None):
    return {"status": "escalated", "reason": reason}


# fmt: off
def retry_execution(event):
    """実行の再試行"""
    stepfunctions = boto3.client('stepfunctions')
    
    # 元の実行パラメータを再構築
    original_input = event['detail'].get('input', {})
    
    try:
        response = stepfunctions.start_execution(
            stateMachineArn=event['detail']['stateMachineArn'],
            input=json.dumps(original_input),
            name=f"retry-{int(time.time())}"
        )
        return {'status': 'retried', 'executionArn': response['executionArn']}
    except Exception as e:
        return escalate_to_ops_team(event, str(e))
# fmt: on
