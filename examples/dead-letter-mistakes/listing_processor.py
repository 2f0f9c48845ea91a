"""The article's processor of a dead-letter queue, as it is printed; imports, the URL and short functions were added.

Where it is wrong: the body of a dead letter is the event, and has no `Message`; the error stands in the message
attributes ERROR_CODE and ERROR_MESSAGE. Each letter raises KeyError, that is caught, the function returns without an
error, and Lambda deletes the letters.
"""

import json
import os

import boto3


def is_recoverable_error(failure_reason):
    return failure_reason == "THROTTLING"


def escalate_to_manual_review(failed_event, failure_reason):
    print("escalated", failure_reason)


def log_dlq_processing_failure(record, error):
    print("failed", error)


# fmt: off
def process_dlq_messages(event, context):
    """DLQメッセージの処理"""

    for record in event['Records']:
        try:
            # DLQメッセージの解析
            message_body = json.loads(record['body'])
            failed_event = json.loads(message_body['Message'])

            # 失敗原因の分析
            failure_reason = analyze_failure_reason(failed_event)

            # 回復可能なエラーかチェック
            if is_recoverable_error(failure_reason):
                schedule_retry(failed_event)
            else:
                escalate_to_manual_review(failed_event, failure_reason)

        except Exception as e:
            # DLQ処理自体の失敗をログ記録
            log_dlq_processing_failure(record, str(e))

def analyze_failure_reason(failed_event):
    """失敗原因を分析"""
    error_code = failed_event.get('errorCode')
    error_message = failed_event.get('errorMessage', '')

    if error_code == 'ThrottlingException':
        return 'THROTTLING'
    if 'ResourceNotFoundException' in error_message:
        return 'RESOURCE_NOT_FOUND'
    if 'AccessDeniedException' in error_message:
        return 'PERMISSION_ERROR'
    return 'UNKNOWN_ERROR'

def schedule_retry(failed_event):
    """失敗したイベントの再試行をスケジュール"""
    sqs = boto3.client('sqs')

    # 少し遅延させて再試行キューに送信
    retry_delay = 300  # 5分後

    sqs.send_message(
        QueueUrl=os.environ['RETRY_QUEUE'],
        MessageBody=json.dumps(failed_event),
        DelaySeconds=retry_delay
    )
# fmt: on
