"""What a project says of its functions: templates of several kinds, read as one; code, packages, variables.

Nothing here runs the user's code. It must not know the stage or how histories are played.
"""
