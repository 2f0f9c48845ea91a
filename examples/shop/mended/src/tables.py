"""The tables, by the names that the template gives."""

import os

import boto3


def orders():
    return boto3.resource("dynamodb").Table(os.environ["ORDERS_TABLE"])


def stock():
    return boto3.resource("dynamodb").Table(os.environ["STOCK_TABLE"])
