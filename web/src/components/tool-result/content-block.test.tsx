import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test, vi } from "vitest";
import { ContentBlock } from "./content-block";

// Resources are read from the page's own origin.
vi.hoisted(() => vi.stubGlobal("location", new URL("http://localhost/")));

const drawn = (block: Record<string, unknown>) =>
  renderToStaticMarkup(
    <QueryClientProvider client={new QueryClient()}>
      <ContentBlock block={block} />
    </QueryClientProvider>,
  );

test("markup of a tool is text", () => {
  const html = drawn({ type: "text", text: "<img src=x onerror=alert(1)>" });
  expect(html).toContain("&lt;img src=x onerror=alert(1)&gt;");
  expect(html).not.toContain("<img");
});

test.each(["image/svg+xml", "text/html", "image/png\n", "IMAGE/SVG+XML"])(
  "%j is no picture to be drawn",
  (mimeType) => {
    expect(drawn({ type: "image", data: "PHN2Zy8+", mimeType })).not.toContain("<img");
    const resource = { uri: "demo://1", blob: "PHN2Zy8+", mimeType };
    expect(drawn({ type: "resource", resource })).not.toContain("<img");
  },
);

test("pictures and sounds come from the result itself, up to a size", () => {
  expect(drawn({ type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" })).toMatch(
    /<img src="data:image\/png;base64,/u,
  );
  expect(drawn({ type: "audio", data: "UklGRg==", mimeType: "audio/wav" })).toContain("<audio controls");
  expect(drawn({ type: "audio", data: "UklGRg==", mimeType: "text/html" })).not.toContain("<audio");
  expect(drawn({ type: "audio", data: "A".repeat(14_000_001), mimeType: "audio/wav" })).not.toContain(
    "<audio",
  );
});

test("what is for the assistant only is folded away", () => {
  const block = (audience: string[]) => drawn({ type: "text", text: "words", annotations: { audience } });
  expect(block(["assistant"])).toContain("<details");
  expect(block(["user", "assistant"])).not.toContain("<details");
  expect(block([])).not.toContain("<details");
});

test("a link is words until somebody follows it", () => {
  const link = {
    type: "resource_link",
    uri: "https://a.example/x",
    name: "x",
    mimeType: "text/plain",
    size: 2_400,
  };
  const html = drawn(link);
  expect(html).toContain("https://a.example/x");
  expect(html).toContain("text/plain · 2 kB");
  expect(html).not.toMatch(/href|src=/u);
  expect(drawn({ ...link, uri: "javascript:alert(1)" })).not.toContain("Open link");
});

test("a file is offered under a plain name", () => {
  const resource = { uri: "file:///../../.bashrc?x=1", blob: "AAAA" };
  expect(drawn({ type: "resource", resource })).toContain("Save bashrc");
  expect(drawn({ type: "resource", resource: { uri: "x", blob: "%%%" } })).toContain("its data is invalid");
});
