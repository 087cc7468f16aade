import { cost, named, pieces, seal, type Open, type Speech } from "./speech.ts";

/** Anthropic messages. */
export class MessagesSpeech implements Speech {
  #index = 0;
  #open: Open["kind"] | undefined;
  #called = false;

  #begin(block: object): string {
    return named({ type: "content_block_start", index: this.#index, content_block: block });
  }

  #delta(delta: object): string {
    return named({ type: "content_block_delta", index: this.#index, delta });
  }

  #stop(): string {
    return named({ type: "content_block_stop", index: this.#index++ });
  }

  #close(): string {
    const open = this.#open;
    this.#open = undefined;
    if (!open) return "";
    const signed = open === "think" ? this.#delta({ type: "signature_delta", signature: seal }) : "";
    return signed + this.#stop();
  }

  #start(kind: Open["kind"], block: object): string {
    if (this.#open === kind) return "";
    const before = this.#close();
    this.#open = kind;
    return before + this.#begin(block);
  }

  begin(): string {
    const usage = {
      input_tokens: cost.input - cost.cached,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: cost.cached,
      output_tokens: 1,
    };
    const message = {
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: "scripted",
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage,
    };
    return named({ type: "message_start", message });
  }

  say(text: string): string {
    return this.#start("say", { type: "text", text: "" }) + this.#delta({ type: "text_delta", text });
  }

  think(thinking: string): string {
    const start = this.#start("think", { type: "thinking", thinking: "", signature: "" });
    return start + this.#delta({ type: "thinking_delta", thinking });
  }

  call(name: string, args: string): string {
    this.#called = true;
    const before = this.#close();
    const block = { type: "tool_use", id: `toolu_${crypto.randomUUID()}`, name, input: {} };
    const deltas = pieces(args).map((piece) =>
      this.#delta({ type: "input_json_delta", partial_json: piece }),
    );
    return [before, this.#begin(block), ...deltas, this.#stop()].join("");
  }

  end(): string {
    const delta = { stop_reason: this.#called ? "tool_use" : "end_turn", stop_sequence: null };
    const usage = { output_tokens: cost.output };
    return this.#close() + named({ type: "message_delta", delta, usage }) + named({ type: "message_stop" });
  }
}
