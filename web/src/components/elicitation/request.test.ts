import { expect, test } from "vitest";
import { initialDraft } from "@/components/schema-form/draft";
import { readValue } from "@/components/schema-form/read-value";
import { withFormats } from "./formats";
import { type FormRequest, parseRequest } from "./request";

function form(...fields: object[]): FormRequest["form"] {
  const all = fields.map((field) => ({ title: "T", description: "", required: false, ...field }));
  const request = parseRequest({ mode: "form", message: "", fields: all });
  if (request?.mode !== "form") throw new Error("not a form");
  return request.form;
}

const options = [
  { value: "a", title: "A" },
  { value: "b", title: "B" },
];

test("defaults stand in the form and are sent, and what is emptied is left out", () => {
  const model = form(
    { name: "n", kind: "number", integer: true, default: 2 },
    { name: "one", kind: "one", options, default: "b" },
    { name: "many", kind: "many", options, default: ["b", "a"] },
    { name: "yes", kind: "boolean", default: true },
    { name: "text", kind: "text" },
  );
  const draft = initialDraft(model) as Record<string, never>;
  expect(readValue(model, draft).value).toEqual({ n: 2, one: "b", many: ["a", "b"], yes: true });
  const emptied = { ...draft, n: "", one: "", many: [] };
  expect(readValue(model, emptied).value).toEqual({ yes: true });
});

test("how many are chosen is counted", () => {
  const model = form({ name: "many", kind: "many", options, required: true, minItems: 1, maxItems: 1 });
  const errors = (many: string[]) => [...readValue(model, { many }).errors.keys()];
  expect([errors([]), errors(["a"]), errors(["a", "b"])]).toEqual([["many"], [], ["many"]]);
});

test("formats are checked as the server checks them", () => {
  const check = (format: string, text: string) => {
    const model = form({ name: "f", kind: "text", format });
    return withFormats(model, readValue(model, { f: text })).errors.size === 0;
  };
  expect(check("email", "a@b") && !check("email", "a@") && !check("email", "a b@c")).toBe(true);
  expect(check("uri", "https://a.example/x") && !check("uri", "a.example")).toBe(true);
  expect(check("date", "2024-02-29") && !check("date", "2026-02-29") && !check("date", "20261121")).toBe(
    true,
  );
  expect(check("date-time", "2026-11-21T10:00:00+01:00") && !check("date-time", "2026-11-21T10:00")).toBe(
    true,
  );
  expect(check("colour", "anything")).toBe(true);
});

test("a server's expression is not run, and what is unknown is no question", () => {
  const model = form({ name: "f", kind: "text", pattern: "^(a+)+$" });
  expect(readValue(model, { f: "b" }).errors.size).toBe(0);
  expect(parseRequest({ mode: "telepathy" })).toBeNull();
  expect(parseRequest({ mode: "url", url: "no" })).toBeNull();
});

test("a text as short as a name is one line, and is counted without more", () => {
  const model = form(
    { name: "name", kind: "text", minLength: 2, maxLength: 20 },
    { name: "story", kind: "text", maxLength: 2000 },
    { name: "lines", kind: "text", maxLength: 20, default: "a\nb" },
  );
  expect(model.fields.map((field) => field.kind === "text" && field.format)).toEqual([
    "text",
    undefined,
    undefined,
  ]);
  expect([...readValue(model, { name: "A" }).errors.keys()]).toEqual(["name"]);
  expect(readValue(model, { name: "Al" }).errors.size).toBe(0);
  expect([...readValue(model, { name: "A".repeat(21) }).errors.keys()]).toEqual(["name"]);
});
