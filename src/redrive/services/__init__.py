"""AWS services, one room each, all of one shape. None imports another: see docs/decisions/0005."""
