"""The limits of CloudFormation."""

from __future__ import annotations

from redrive.core.clock import DAY_MS, SECOND_MS

STACK_NAME_LENGTH_MAX = 128  # https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_CreateStack.html
TEMPLATE_BYTES_MAX = 51_200  # https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html
UPLOADED_BYTES_MAX = (
    1_000_000  # https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html
)
PROCESSED_BYTES_MAX = (
    1_048_576  # https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html
)
STACKS_MAX = 2_000  # https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html
POLICY_BYTES_MAX = 16_384  # https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_SetStackPolicy.html
INLINE_CODE_BYTES_MAX = 4_194_304  # https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-properties-lambda-function-code.html
PAGE_ITEMS_MAX = 100  # https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_ListExports.html
DELETED_KEPT_MS = 90 * DAY_MS  # https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_ListStacks.html
MACRO_MARGIN_MS = 60 * SECOND_MS  # Ours: added to a function's timeout, before its macro is called again.
STACKS_PER_CLAIM = 10  # Ours: how many stacks one transaction advances by a step.
PENDING_POLL_MS = SECOND_MS // 4  # Ours: the pause before asking a service again whether it has finished.
TEMPLATES_READ_KEPT = 64  # Ours: how many parsed templates are cached between steps.
DESCRIPTION_HELD_MS = 10 * SECOND_MS  # Ours: how long DescribeStacks waits for a stack under way.
ANSWER_BYTES_MAX = 4_096  # https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/crpg-ref-responses.html
SERVICE_TIMEOUT_S_MAX = 3_600  # https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-cloudformation-customresource.html
WAIT_TIMEOUT_S_MAX = 43_200  # https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-cloudformation-waitcondition.html
HANDLE_MS = DAY_MS  # https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-cloudformation-waitconditionhandle.html
