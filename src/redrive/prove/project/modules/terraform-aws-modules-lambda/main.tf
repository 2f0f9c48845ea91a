# What a proof needs of the module terraform-aws-modules/lambda/aws: the function, and what feeds it.
# Source: https://registry.terraform.io/modules/terraform-aws-modules/lambda/aws/latest
variable "function_name" {}
variable "handler" {}
variable "runtime" {}
variable "timeout" {}
variable "memory_size" {}
variable "local_existing_package" {}
variable "environment_variables" { default = {} }
variable "event_source_mapping" { default = {} }
variable "allowed_triggers" { default = {} }
variable "create_lambda_function_url" { default = false }

resource "aws_lambda_function" "this" {
  function_name = var.function_name
  handler       = var.handler
  runtime       = var.runtime
  timeout       = var.timeout
  memory_size   = var.memory_size
  filename      = var.local_existing_package
  environment {
    variables = var.environment_variables
  }
}

resource "aws_lambda_event_source_mapping" "this" {
  for_each                = var.event_source_mapping
  function_name           = aws_lambda_function.this.arn
  event_source_arn        = try(each.value.event_source_arn, null)
  batch_size              = try(each.value.batch_size, null)
  starting_position       = try(each.value.starting_position, null)
  maximum_retry_attempts  = try(each.value.maximum_retry_attempts, null)
  function_response_types = try(each.value.function_response_types, null)
}

resource "aws_lambda_permission" "triggers" {
  for_each      = var.allowed_triggers
  function_name = aws_lambda_function.this.function_name
  principal     = try(each.value.principal, "${each.value.service}.amazonaws.com")
  source_arn    = try(each.value.source_arn, null)
}

resource "aws_lambda_function_url" "this" {
  count         = var.create_lambda_function_url ? 1 : 0
  function_name = aws_lambda_function.this.function_name
}

output "lambda_function_arn" { value = aws_lambda_function.this.arn }
output "lambda_function_name" { value = aws_lambda_function.this.function_name }
output "lambda_function_qualified_arn" { value = aws_lambda_function.this.qualified_arn }
output "lambda_function_invoke_arn" { value = aws_lambda_function.this.invoke_arn }
