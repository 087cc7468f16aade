import { expect, test } from "vitest";
import { webAddress } from "./safe-url";

test("addresses of web pages are read as browsers open them", () => {
  expect(webAddress("HTTPS://Example.com/a b")?.href).toBe("https://example.com/a%20b");
  expect(webAddress("http://localhost:3000")?.host).toBe("localhost:3000");
  expect(webAddress("https://bücher.example/")?.host).toBe("xn--bcher-kva.example");
});

test("everything else is no address", () => {
  for (const text of [
    "",
    "example.com",
    "/relative",
    "javascript:alert(1)",
    "java\nscript:alert(1)",
    "data:text/html,x",
    "file:///etc/passwd",
    "blob:https://example.com/1",
    "https://example.com@evil.example/",
    "https://user:secret@example.com/",
  ])
    expect([text, webAddress(text)]).toEqual([text, undefined]);
});
