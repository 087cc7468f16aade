import { cost, frame, seal, type Speech } from "./speech.ts";

/** Gemini. */
export class GeminiSpeech implements Speech {
  #thought = false;

  #response(parts: object[], finish?: string): string {
    const thoughts = 2;
    return frame({
      candidates: [
        {
          index: 0,
          content: { role: "model", parts },
          ...(finish === undefined ? {} : { finishReason: finish }),
        },
      ],
      usageMetadata: {
        promptTokenCount: cost.input,
        cachedContentTokenCount: cost.cached,
        thoughtsTokenCount: thoughts,
        candidatesTokenCount: cost.output - thoughts,
        totalTokenCount: cost.input + cost.output,
      },
      modelVersion: "scripted",
    });
  }

  /** The signature is on the part after the reasoning. */
  #signed(part: object): object {
    const signed = this.#thought ? { ...part, thoughtSignature: seal } : part;
    this.#thought = false;
    return signed;
  }

  begin(): string {
    return "";
  }

  say(text: string): string {
    return this.#response([this.#signed({ text })]);
  }

  think(text: string): string {
    this.#thought = true;
    return this.#response([{ text, thought: true }]);
  }

  call(name: string, args: string): string {
    const functionCall = { id: `call_${crypto.randomUUID()}`, name, args: JSON.parse(args) as unknown };
    return this.#response([this.#signed({ functionCall })]);
  }

  end(): string {
    return this.#response([{ text: "" }], "STOP");
  }
}
