import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test, vi } from "vitest";
import { formatSize, toFileRef } from "./file-ref";
import { FileView } from "./file-view";

// Reading from the server needs a page's globals.
vi.hoisted(() => {
  vi.stubGlobal("document", new EventTarget());
  vi.stubGlobal("location", new URL("http://localhost/"));
});

const file = { url: "/v1/files/0198", mediaType: "image/png", filename: "cat.png", size: 2_400 };

test("only files of this program are ever read", () => {
  expect(toFileRef(file)).toEqual(file);
  expect(toFileRef({ ...file, url: "/api/shared/Ab-1_2/files/7" })).toBeDefined();
  for (const url of [
    "https://a.example/1.png",
    "//a.example/v1/files/1",
    "/v1/files/../api/me",
    "/v1/files/",
    7,
  ])
    expect(toFileRef({ ...file, url })).toBeUndefined();
  expect(renderToStaticMarkup(<FileView file={{ ...file, url: "data:image/png;base64,AA==" }} />)).toContain(
    "no longer stored",
  );
});

test("a document has its name and size, and nothing of it is drawn", () => {
  const shown = renderToStaticMarkup(
    <QueryClientProvider client={new QueryClient()}>
      <FileView file={{ ...file, mediaType: "image/svg+xml", filename: "\u202egnp.exe" }} />
    </QueryClientProvider>,
  );
  expect(shown).not.toContain("<img");
  expect(shown).not.toContain("\u202e");
  expect(shown).toContain("2 kB");
});

test.each([
  [7, "7 B"],
  [1_499, "1 kB"],
  [999_499, "999 kB"],
  [999_999, "1.0 MB"],
  [10_485_760, "10.5 MB"],
])("%i bytes are %s", (bytes, words) => {
  expect(formatSize(bytes)).toBe(words);
});
