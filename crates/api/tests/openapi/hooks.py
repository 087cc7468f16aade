"""Lets half of the calls name things that are there."""

import os
import random

import schemathesis

# Recordings are bytes, like any file.
schemathesis.serializer.alias("audio/webm", "application/octet-stream")


@schemathesis.hook
def map_path_parameters(context, path_parameters):
    if path_parameters and "id" in path_parameters and random.random() < 0.5:
        name = "CHAT" if "/sessions/" in context.operation.path else "CONNECTION"
        path_parameters["id"] = os.environ[name] or path_parameters["id"]
    return path_parameters


@schemathesis.hook
def map_body(_context, body):
    if isinstance(body, dict) and isinstance(body.get("sessionId"), str) and random.random() < 0.5:
        body["sessionId"] = os.environ["CHAT"] or body["sessionId"]
    return body
