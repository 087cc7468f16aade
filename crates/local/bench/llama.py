"""How fast llama.cpp reads and writes with the same file, and what it takes: llama.py FILE WORDS TOKENS THREADS."""

import json
import sys
import time

from llama_cpp import Llama

path, words, tokens, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
model = Llama(path, n_ctx=8192, n_threads=threads, n_threads_batch=threads, verbose=False)
text = "the quick brown fox jumps over the lazy dog " * -(-words // 9)
prompt = (
    "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n<|im_start|>user\n"
    f"{text}\nCount from one to five hundred in words, one number a line.<|im_end|>\n<|im_start|>assistant\n"
)
ids = model.tokenize(prompt.encode(), add_bos=False, special=True)
model.eval(model.tokenize(b"Hello", add_bos=False))
model.reset()
began = time.monotonic()
model.eval(ids)
read = time.monotonic() - began
token = model.sample(temp=0.0)
began = time.monotonic()
for _ in range(tokens):
    model.eval([token])
    token = model.sample(temp=0.0)
written = time.monotonic() - began


def memory(name):
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith(name + ":"))
    return int(line.split()[1]) // 1000


print(
    json.dumps(
        {
            "prefill": round(len(ids) / read, 1),
            "decode": round(tokens / written, 1),
            "mb": memory("VmRSS"),
            "peak_mb": memory("VmHWM"),
            "read": len(ids),
            "written": tokens,
        }
    )
)
