"""How fast llama.cpp reads and writes with the same file, and what it takes: llama.py FILE WORDS TOKENS THREADS."""

import json
import sys

import xllamacpp

path, words, tokens, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
parameters = xllamacpp.CommonParams()
parameters.model.path = path
parameters.n_ctx = 8192
parameters.n_parallel = 1
parameters.cpuparams.n_threads = threads
parameters.cpuparams_batch.n_threads = threads
parameters.port = 0
parameters.verbosity = 0
# The weights are read by then, and tried once.
server = xllamacpp.Server(parameters)
text = "the quick brown fox jumps over the lazy dog " * -(-words // 9)
prompt = (
    "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n<|im_start|>user\n"
    f"{text}\nWrite a story of a thousand words about a fox and a dog.<|im_end|>\n<|im_start|>assistant\n"
)
said = server.handle_completions({"prompt": prompt, "n_predict": tokens, "temperature": 0, "ignore_eos": True})
timings = (said if isinstance(said, dict) else json.loads(said))["timings"]


def memory(name):
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith(name + ":"))
    return int(line.split()[1]) // 1000


print(
    json.dumps(
        {
            "prefill": round(timings["prompt_per_second"], 1),
            "decode": round(timings["predicted_per_second"], 1),
            "mb": memory("VmRSS"),
            "peak_mb": memory("VmHWM"),
            "read": timings["prompt_n"],
            "written": timings["predicted_n"],
        }
    )
)
