"""AWS CloudFormation: create, update, roll back and delete stacks of resources, as their templates describe them.

AWS documents it at https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/Welcome.html. Resources are
created by calls to the other services' own operations. Left out on purpose, and refused with a clear message: templates
at a URL to which no deployment uploaded one, stack sets, imports of existing resources, drift detection.
docs/semantics/cloudformation.md lists AWS's rules as we read them; docs/semantics/cloudformation-templates.md lists the
rules of the template language.
"""
