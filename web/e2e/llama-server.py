"""Serves a model over HTTP until its input ends, and says where: llama-server.py FILE CONTEXT."""

import os
import sys

import xllamacpp

parameters = xllamacpp.CommonParams()
parameters.model.path = sys.argv[1]
parameters.model_alias = {"small"}
parameters.n_ctx = int(sys.argv[2])
parameters.n_parallel = 1
parameters.port = 0
parameters.use_jinja = True
parameters.verbosity = 0
server = xllamacpp.Server(parameters)
print(server.listening_address, flush=True)
sys.stdin.read()
# Its own end waits for requests that nobody reads.
os._exit(0)
