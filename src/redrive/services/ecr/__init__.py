"""ECR: repositories, as deployments expect them. They hold no images: whatever is about images is refused by name.

Source: https://docs.aws.amazon.com/AmazonECR/latest/APIReference/Welcome.html
"""
