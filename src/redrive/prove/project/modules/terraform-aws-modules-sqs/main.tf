# What a proof needs of the module terraform-aws-modules/sqs/aws: the queue, and its dead-letter queue.
# Source: https://registry.terraform.io/modules/terraform-aws-modules/sqs/aws/latest
variable "name" {}
variable "fifo_queue" { default = false }
variable "content_based_deduplication" {}
variable "visibility_timeout_seconds" {}
variable "message_retention_seconds" {}
variable "delay_seconds" {}
variable "create_dlq" { default = false }
variable "redrive_policy" { default = {} }

resource "aws_sqs_queue" "this" {
  name                        = var.fifo_queue ? "${var.name}.fifo" : var.name
  fifo_queue                  = var.fifo_queue
  content_based_deduplication = var.content_based_deduplication
  visibility_timeout_seconds  = var.visibility_timeout_seconds
  message_retention_seconds   = var.message_retention_seconds
  delay_seconds               = var.delay_seconds
}

resource "aws_sqs_queue" "dlq" {
  count      = var.create_dlq ? 1 : 0
  name       = var.fifo_queue ? "${var.name}-dlq.fifo" : "${var.name}-dlq"
  fifo_queue = var.fifo_queue
}

resource "aws_sqs_queue_redrive_policy" "dlq" {
  count     = var.create_dlq ? 1 : 0
  queue_url = aws_sqs_queue.this.url
  redrive_policy = jsonencode({
    deadLetterTargetArn = aws_sqs_queue.dlq[0].arn
    maxReceiveCount     = 5
  })
}

output "queue_arn" { value = aws_sqs_queue.this.arn }
output "queue_url" { value = aws_sqs_queue.this.url }
output "queue_id" { value = aws_sqs_queue.this.id }
output "queue_name" { value = aws_sqs_queue.this.name }
output "dead_letter_queue_arn" { value = aws_sqs_queue.dlq[0].arn }
output "dead_letter_queue_url" { value = aws_sqs_queue.dlq[0].url }
