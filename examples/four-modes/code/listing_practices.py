"""The article's other classes, as they are printed; only the import of `time` was added.

Where they are wrong: `ThrottlingException`, `CircuitBreakerOpenError`, `_on_success` and `_on_failure` are defined
nowhere, so each error becomes a NameError or an AttributeError. Errors of boto3 are all `ClientError`: their code stands
in `error.response["Error"]["Code"]`, and not in the name of their type. What a breaker remembers in its object, one
execution environment knows, and the others do not.
"""

import time


# fmt: off
class ErrorHandler:
    """エラータイプに応じた処理"""
    
    @staticmethod
    def should_retry(error):
        """リトライ可能なエラーか判定"""
        retryable_errors = [
            'ThrottlingException',
            'ServiceUnavailable',
            'RequestTimeout',
            'TooManyRequestsException'
        ]
        
        error_type = type(error).__name__
        return error_type in retryable_errors
    
    @staticmethod
    def get_retry_delay(attempt, error):
        """リトライ遅延時間を計算"""
        if isinstance(error, ThrottlingException):
            # スロットリングの場合は長めに待機
            return min(60, (2 ** attempt) * 2)
        else:
            # 通常のエラーは指数バックオフ
            return min(30, (2 ** attempt))


class CircuitBreaker:
    """連続的な失敗を防ぐサーキットブレーカー"""
    
    def __init__(self, failure_threshold=5, timeout=60):
        self.failure_threshold = failure_threshold
        self.timeout = timeout
        self.failure_count = 0
        self.last_failure_time = None
        self.state = 'CLOSED'  # CLOSED, OPEN, HALF_OPEN
    
    def call(self, func, *args, **kwargs):
        if self.state == 'OPEN':
            if self._should_attempt_reset():
                self.state = 'HALF_OPEN'
            else:
                raise CircuitBreakerOpenError()
        
        try:
            result = func(*args, **kwargs)
            self._on_success()
            return result
        except Exception as e:
            self._on_failure()
            raise
    
    def _should_attempt_reset(self):
        return (
            self.last_failure_time and
            time.time() - self.last_failure_time >= self.timeout
        )
