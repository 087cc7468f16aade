import { expect, test } from "vitest";
import { blocksOfChat, fileNameOf, previewableBlocks, versionsOf } from "./versions";

const block = (info: string, text: string) => `\`\`\`${info}\n${text}\n\`\`\``;

test("finds the closed blocks that have a preview", () => {
  const text = [
    block("html", "<b>1</b>"),
    block("ts", "const a = 1;"),
    `  ~~~csv\n  a,b\n  1,2\n  ~~~`,
    "```json\n{",
  ].join("\n\n");
  expect(previewableBlocks(text)).toEqual([
    { kind: "html", text: "<b>1</b>", name: undefined },
    { kind: "csv", text: "a,b\n1,2", name: undefined },
  ]);
});

test.each([
  ["html queue.html", "queue.html"],
  ['html title="queue.html"', "queue.html"],
  ["html filename=queue.html {1-3}", "queue.html"],
  ["html ../../etc/passwd", undefined],
  ["html", undefined],
])("reads the name in %j", (info, name) => {
  expect(previewableBlocks(block(info, "x"))[0]?.name).toBe(name);
});

test("finds the blocks in the answers of a chat, and those of a growing answer again", () => {
  const text = (words: string) => ({ type: "text", text: words });
  const messages = new Map([
    ["1", { role: "user", parts: [text(block("html", "asked"))] }],
    ["2", { role: "assistant", parts: [{ ...text(block("html", "thought")), type: "reasoning" }] }],
    ["3", { role: "assistant", parts: [text(block("html", "1"))] }],
  ]);
  const status = { ids: [...messages.keys()] };
  const chat = {
    subscribe: () => () => undefined,
    status: () => status,
    message: (id: string) => messages.get(id),
  };
  const texts = () => blocksOfChat(chat).map((one) => one.text);
  expect(texts()).toEqual(["1"]);
  messages.set("3", { role: "assistant", parts: [text(block("html", "1")), text(block("csv", "2"))] });
  expect(texts()).toEqual(["1", "2"]);
});

test("blocks of the same name, or with the same title, are versions", () => {
  const page = (title: string, body: string) => `<title>${title}</title>${body}`;
  const named = previewableBlocks([block("html a.html", "1"), block("html a.html", "2")].join("\n"));
  const titled = ["1", "2", "3"].map((body) => ({ kind: "html", text: page("Queue", body) }) as const);
  const other = { kind: "html", text: page("Other", "1") } as const;
  const all = [...named, ...titled, other];
  expect(versionsOf(all, { kind: "html", text: "1" })).toEqual({ all: named, opened: 0 });
  expect(versionsOf(all, titled[1] ?? other)).toEqual({ all: titled, opened: 1 });
  expect(versionsOf(all, other)).toEqual({ all: [other], opened: 0 });
});

test("a text that is no block of the chat is the newest version", () => {
  const opened = { kind: "csv", text: "a\n2", name: "a.csv" } as const;
  const before = { kind: "csv", text: "a\n1", name: "a.csv" } as const;
  expect(versionsOf([before], opened)).toEqual({ all: [before, opened], opened: 1 });
});

test("names a file after its title", () => {
  expect(fileNameOf({ kind: "html", text: "<title>Waiting time: é</title>" })).toBe("waiting-time-é.html");
  expect(fileNameOf({ kind: "markdown", text: "# ../Plan\n" })).toBe("plan.md");
  expect(fileNameOf({ kind: "html", text: "<p>x</p>" })).toBe("preview.html");
  expect(fileNameOf({ kind: "json", text: '{"a": 1}' })).toBe("preview.json");
});
