"""S3: buckets, objects and their notifications.

Source: https://docs.aws.amazon.com/AmazonS3/latest/API/Welcome.html
"""
