"""AWS CloudFormation: stacks of resources, deployed, updated, rolled back and deleted as their templates say.

AWS documents it at https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/Welcome.html. Resources are made
by calling the other services' own operations. Left out on purpose, and refused in clear words: templates by URL,
transforms, nested stacks, stack sets, imports of existing resources, drift detection. Our readings of AWS's rules stand
in docs/semantics/cloudformation.md, those of the template language in docs/semantics/cloudformation-templates.md.
"""
