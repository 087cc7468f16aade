import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** A server of llama.cpp, which speaks the wires of OpenAI and of Anthropic. */
export interface LlamaServer {
  /** Its origin. */
  url: string;
  stop: () => void;
}

/** Starts one with the weights that `SMALL_WEIGHTS` names and room for so many tokens, with the Python of `LLAMA_PYTHON`. */
export async function startLlama(context: number): Promise<LlamaServer> {
  const [python, weights] = [process.env["LLAMA_PYTHON"], process.env["SMALL_WEIGHTS"]];
  if (!python || !weights) {
    throw new Error("LLAMA_PYTHON and SMALL_WEIGHTS must be set; `cargo xtask test` does that");
  }
  const script = fileURLToPath(new URL("llama-server.py", import.meta.url));
  // It ends with its input, and so with this process.
  const child = spawn(python, [script, weights, String(context)], { stdio: ["pipe", "pipe", "inherit"] });
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  child.once("error", reject);
  child.once("close", () => reject(new Error("the server of llama.cpp did not start")));
  createInterface({ input: child.stdout }).once("line", resolve);
  return { url: await promise, stop: () => child.stdin.end() };
}
