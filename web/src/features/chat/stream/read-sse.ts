import { type ServerEvent, SseParser } from "@/lib/sse";

/** The events of a response's body, however its bytes are cut, until it ends or breaks. */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const parser = new SseParser();
  const decoder = new TextDecoder();
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield* parser.push(decoder.decode(value, { stream: true }));
    }
  } finally {
    // The connection may already be gone, and then there is nothing left to cancel.
    await reader.cancel().catch(() => undefined);
  }
}
