"""The article's staged recovery, as it is printed; nothing was added.

Its waits, 60, 300 and 900 seconds, are right, and SQS can wait so long (900 at most). Where it is wrong:
four methods are called that it does not have, and `errorMessage` is not in the event: a dead letter has the event as its
body, and the error in its message attributes. recovery.py adds both.
"""


# fmt: off
class ErrorRecoveryManager:
    def __init__(self):
        self.max_retry_attempts = 3
        self.retry_delays = [60, 300, 900]  # 1分、5分、15分
    
    def handle_failed_event(self, event, attempt_count=0):
        """失敗したイベントの処理"""
        
        if attempt_count >= self.max_retry_attempts:
            return self.escalate_to_manual_intervention(event)
        
        failure_type = self.classify_failure(event)
        
        if failure_type == 'TRANSIENT':
            return self.schedule_retry(event, attempt_count)
        elif failure_type == 'CONFIGURATION':
            return self.attempt_auto_remediation(event)
        else:
            return self.escalate_to_manual_intervention(event)
    
    def classify_failure(self, event):
        """失敗の種類を分類"""
        error_message = event.get('errorMessage', '')
        
        transient_errors = [
            'ThrottlingException',
            'InternalServerError',
            'ServiceUnavailable'
        ]
        
        config_errors = [
            'ResourceNotFoundException',
            'InvalidParameterValue'
        ]
        
        for error in transient_errors:
            if error in error_message:
                return 'TRANSIENT'
        
        for error in config_errors:
            if error in error_message:
                return 'CONFIGURATION'
        
        return 'PERMANENT'
    
    def attempt_auto_remediation(self, event):
        """自動修復の試行"""
        # 設定エラーの場合、自動的に修正を試行
        if 'ResourceNotFoundException' in event.get('errorMessage', ''):
            return self.recreate_missing_resource(event)
        
        return False
# fmt: on
