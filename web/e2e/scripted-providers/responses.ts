import { cost, named, pieces, seal, type Open, type Speech } from "./speech.ts";

/** OpenAI responses. */
export class ResponsesSpeech implements Speech {
  #sequence = 0;
  #open: Open | undefined;
  readonly #items: object[] = [];

  #event(type: string, more: object): string {
    return named({ type, sequence_number: this.#sequence++, ...more });
  }

  get #place() {
    const index = this.#items.length;
    return { output_index: index, item_id: `item_${index}` };
  }

  #response(status: string, usage: object | null = null): object {
    return {
      id: "resp_1",
      object: "response",
      created_at: 1,
      model: "scripted",
      status,
      output: this.#items,
      usage,
      error: null,
      incomplete_details: null,
      instructions: null,
      metadata: {},
      parallel_tool_calls: true,
      temperature: null,
      tool_choice: "auto",
      tools: [],
      top_p: null,
    };
  }

  #added(item: object): string {
    const { output_index } = this.#place;
    return this.#event("response.output_item.added", { output_index, item });
  }

  #done(item: object): string {
    const { output_index } = this.#place;
    const told = this.#event("response.output_item.done", { output_index, item });
    this.#items.push(item);
    return told;
  }

  #start(kind: Open["kind"]): string {
    if (this.#open?.kind === kind) return "";
    const before = this.#close();
    this.#open = { kind, text: "" };
    const { item_id } = this.#place;
    if (kind === "think") {
      const item = { type: "reasoning", id: item_id, summary: [] };
      const part = { ...this.#place, summary_index: 0, part: { type: "summary_text", text: "" } };
      return before + this.#added(item) + this.#event("response.reasoning_summary_part.added", part);
    }
    const item = { type: "message", id: item_id, role: "assistant", status: "in_progress", content: [] };
    const part = { type: "output_text", text: "", annotations: [], logprobs: [] };
    const added = { ...this.#place, content_index: 0, part };
    return before + this.#added(item) + this.#event("response.content_part.added", added);
  }

  #close(): string {
    const open = this.#open;
    this.#open = undefined;
    if (!open) return "";
    const { text } = open;
    const { item_id } = this.#place;
    if (open.kind === "think") {
      const part = { type: "summary_text", text };
      const at = { ...this.#place, summary_index: 0 };
      return [
        this.#event("response.reasoning_summary_text.done", { ...at, text }),
        this.#event("response.reasoning_summary_part.done", { ...at, part }),
        this.#done({ type: "reasoning", id: item_id, summary: [part], encrypted_content: seal }),
      ].join("");
    }
    const part = { type: "output_text", text, annotations: [], logprobs: [] };
    const at = { ...this.#place, content_index: 0 };
    return [
      this.#event("response.output_text.done", { ...at, text, logprobs: [] }),
      this.#event("response.content_part.done", { ...at, part }),
      this.#done({ type: "message", id: item_id, role: "assistant", status: "completed", content: [part] }),
    ].join("");
  }

  begin(): string {
    return this.#event("response.created", { response: this.#response("in_progress") });
  }

  say(delta: string): string {
    const before = this.#start("say");
    if (this.#open) this.#open.text += delta;
    const at = { ...this.#place, content_index: 0 };
    return before + this.#event("response.output_text.delta", { ...at, delta, logprobs: [] });
  }

  think(delta: string): string {
    const before = this.#start("think");
    if (this.#open) this.#open.text += delta;
    const at = { ...this.#place, summary_index: 0 };
    return before + this.#event("response.reasoning_summary_text.delta", { ...at, delta });
  }

  call(name: string, args: string): string {
    const before = this.#close();
    const item = {
      type: "function_call",
      id: this.#place.item_id,
      call_id: `call_${crypto.randomUUID()}`,
      name,
    };
    return [
      before,
      this.#added({ ...item, arguments: "", status: "in_progress" }),
      ...pieces(args).map((delta) =>
        this.#event("response.function_call_arguments.delta", { ...this.#place, delta }),
      ),
      this.#event("response.function_call_arguments.done", { ...this.#place, name, arguments: args }),
      this.#done({ ...item, arguments: args, status: "completed" }),
    ].join("");
  }

  end(): string {
    const usage = {
      input_tokens: cost.input,
      input_tokens_details: { cached_tokens: cost.cached },
      output_tokens: cost.output,
      output_tokens_details: { reasoning_tokens: 2 },
      total_tokens: cost.input + cost.output,
    };
    return (
      this.#close() + this.#event("response.completed", { response: this.#response("completed", usage) })
    );
  }
}
