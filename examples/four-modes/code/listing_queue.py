"""The article's handler of a queue's messages, as it is printed; only the first line of code was added.

Where it is wrong: a message that was received three times is not reported, and what is not reported is deleted. It
does not go to the dead-letter queue, whatever the comment says. Neither does one with an error that is not retried.
"""

from missing import NonRetryableError, RetryableError, logger, process_message


# fmt: off
def lambda_handler(event, context):
    """SQSメッセージの処理"""
    batch_item_failures = []
    
    for record in event['Records']:
        message_id = record['messageId']
        receipt_handle = record['receiptHandle']
        
        # 受信回数をチェック
        receive_count = int(record['attributes'].get('ApproximateReceiveCount', 1))
        
        try:
            # メッセージ処理
            process_message(record['body'])
            
            # 成功時は自動的にSQSから削除される
            
        except RetryableError as e:
            # リトライ可能なエラー
            if receive_count < 3:
                # 可視性タイムアウト後に再配信
                batch_item_failures.append({
                    'itemIdentifier': message_id
                })
            else:
                # 最大リトライ回数に達した
                logger.error(f"Max retries reached for {message_id}")
                # DLQへ自動的に移動
                
        except NonRetryableError as e:
            # リトライ不可能なエラー
            logger.error(f"Non-retryable error: {e}")
            # メッセージは削除される（DLQがある場合はそちらへ）
    
    # 失敗したメッセージを報告
    return {
        'batchItemFailures': batch_item_failures
    }
