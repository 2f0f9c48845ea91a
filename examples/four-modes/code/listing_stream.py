"""The article's handler of a stream's records, as it is printed; only the first line of code was added.

Where it is wrong: it goes on behind a record that failed. Lambda goes on from the lowest number that is reported, so
the records behind it come again at each attempt, are done again each time, and before the record that they stand behind.
"""

from missing import logger, process_stream_record


# fmt: off
def lambda_handler(event, context):
    """ストリームイベントの処理"""
    failed_records = []
    
    for record in event['Records']:
        try:
            # レコード単位で処理
            process_stream_record(record)
            
        except Exception as e:
            # 失敗したレコードを記録
            failed_records.append({
                'itemIdentifier': record['kinesis']['sequenceNumber']
            })
            logger.error(f"Failed to process: {e}")
    
    # 部分的な失敗を報告
    if failed_records:
        return {
            'batchItemFailures': failed_records
        }
    
    return {'statusCode': 200}
