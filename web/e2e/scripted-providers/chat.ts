import { cost, frame, pieces, type Speech } from "./speech.ts";

/** OpenAI chat completions. */
export class ChatSpeech implements Speech {
  #calls = 0;

  #chunk(more: object): string {
    return frame({
      id: "chatcmpl-1",
      object: "chat.completion.chunk",
      created: 1,
      model: "scripted",
      ...more,
    });
  }

  #delta(delta: object, finish: string | null = null): string {
    return this.#chunk({ choices: [{ index: 0, delta, finish_reason: finish }] });
  }

  begin(): string {
    return this.#delta({ role: "assistant", content: "" });
  }

  say(content: string): string {
    return this.#delta({ content });
  }

  think(piece: string): string {
    return this.#delta({ reasoning_content: piece });
  }

  call(name: string, args: string): string {
    const index = this.#calls++;
    const fn = { name, arguments: "" };
    const head = { index, id: `call_${crypto.randomUUID()}`, type: "function", function: fn };
    const rest = pieces(args).map((piece) => ({ index, function: { arguments: piece } }));
    return [head, ...rest].map((part) => this.#delta({ tool_calls: [part] })).join("");
  }

  end(): string {
    const usage = {
      prompt_tokens: cost.input,
      completion_tokens: cost.output,
      total_tokens: cost.input + cost.output,
      prompt_tokens_details: { cached_tokens: cost.cached },
    };
    const finish = this.#delta({}, this.#calls > 0 ? "tool_calls" : "stop");
    return `${finish}${this.#chunk({ choices: [], usage })}data: [DONE]\n\n`;
  }
}
