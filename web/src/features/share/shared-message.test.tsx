import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { prerender } from "react-dom/static";
import { expect, test, vi } from "vitest";
import { FileUrlContext } from "@/components/files/file-url";
import { SharedMessageView } from "./shared-message";
import type { SharedMessage, SharedPart } from "./snapshot";

// Reading from the server needs a page's globals.
vi.hoisted(() => {
  vi.stubGlobal("document", new EventTarget());
  vi.stubGlobal("location", new URL("http://localhost/"));
});
// The URL of a file takes the place of its bytes.
vi.mock("@/components/files/use-file", () => ({ useFile: (url: string) => ({ src: url, error: null }) }));

const place = (url: string) => url.replace("/v1/files/", "/api/shared/token/files/");

/** Parts of it are loaded lazily. */
async function drawn(role: SharedMessage["role"], parts: readonly SharedPart[]): Promise<string> {
  const message = { role, createdAt: "2026-11-22T10:00:00Z", parts };
  const { prelude } = await prerender(
    <QueryClientProvider client={new QueryClient()}>
      <FileUrlContext value={place}>
        <SharedMessageView message={message} />
      </FileUrlContext>
    </QueryClientProvider>,
  );
  return new Response(prelude).text();
}

test("files of a message are read from the link, or only said to have been there", async () => {
  const picture = { type: "file", id: "7", mediaType: "image/png", filename: "cat.png", size: 9 } as const;
  const shown = await drawn("user", [picture, { type: "text", text: "Look" }]);
  expect(shown).toContain('src="/api/shared/token/files/7"');
  expect(shown).toContain("cat.png");
  const hidden = await drawn("user", [
    { type: "hidden-file", mediaType: "image/png" },
    { type: "text", text: "Look" },
  ]);
  expect(hidden).not.toContain("<img");
  expect(hidden).toContain("<li");
});

test("sounds and pictures that a tool gave back are read from the link", async () => {
  const file = (id: string, mediaType: string) => ({ url: `/v1/files/${id}`, mediaType, size: 50_000 });
  const call = {
    name: "listen",
    serverName: "ears",
    arguments: {},
    outcome: "done",
    result: {
      content: [
        { type: "audio", mimeType: "audio/wav", file: file("8", "audio/wav") },
        { type: "image", mimeType: "image/png", file: file("9", "image/png") },
      ],
    },
  } as const;
  const shown = await drawn("assistant", [{ type: "whole-tool-call", call }]);
  expect(shown).toMatch(/<audio controls[^>]*src="\/api\/shared\/token\/files\/8"/u);
  expect(shown).toContain('src="/api/shared/token/files/9"');
  expect(await drawn("assistant", [{ type: "tool-call", name: "listen", outcome: "done" }])).not.toContain(
    "<audio",
  );
});

test("headings of an answer follow those of the page without a gap", async () => {
  const markup = await drawn("assistant", [{ type: "text", text: "# First\n\n### Second\n\n##### Third" }]);
  expect([...markup.matchAll(/<(h\d)/gu)].map((found) => found[1])).toEqual(["h2", "h3", "h4", "h5"]);
});
