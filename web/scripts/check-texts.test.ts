import { expect, test } from "vitest";
import { codeTexts, unusedKeys } from "./component-texts.ts";
import { compareTexts, paramsOf, repeatedKeys } from "./text-params.ts";

test("finds the parameters of a text in all of its branches", () => {
  const text = "{name}: {n, plural, one {# of {all, number}} other {<b>{#}</b>}} {day, date}";
  expect(() => paramsOf(text)).toThrow("MALFORMED_ARGUMENT");
  expect([...paramsOf(text.replace("{#}", "#"))]).toEqual([
    ["all", "number"],
    ["b", "tag"],
    ["day", "date"],
    ["n", "number"],
    ["name", "string"],
  ]);
});

test("rejects differences between the languages", () => {
  const english = { a: "Text", b: "{name}", c: "{n, plural, one {# tool} other {# tools}}", d: "Gone" };
  const german = { a: " ", b: "{named}", c: "{n, plural, other {# Tools}}", e: "Mehr" };
  expect(compareTexts(english, german, "de")).toEqual([
    "d is missing",
    "a is empty",
    "b has the parameters “named,string” instead of “name,string”",
    "c has no plural form for one",
    "e is not in en.json",
  ]);
  expect(compareTexts(english, english, "en")).toEqual([]);
});

test("finds repeated keys", () => {
  expect(repeatedKeys('{\n  "a": "1",\n  "b": "2",\n  "a": "3"\n}')).toEqual(["a"]);
});

test("finds texts in components", () => {
  const code = `
    export const View = ({ on }) => (
      <p title="A title" className="some classes">
        Some words {on ? "yes" : t("no.key")} {on && "more"}
        <Part label={on ? "Stop it" : undefined} name="a-name" />
        <i aria-hidden="true">·</i> {"x"}
      </p>
    );`;
  const found = codeTexts("view.tsx", code);
  expect(found.map((finding) => /“(.*)”/u.exec(finding)?.[1])).toEqual([
    "A title",
    "Some words",
    "yes",
    "more",
    "Stop it",
  ]);
});

test("finds keys that no source names", () => {
  const keys = ["a.b", "a.c", "d.e.f", "d.e.g", "d.x"];
  expect(unusedKeys(keys, ['t("a.b")', "t(`d.e.${x}`)"])).toEqual(["a.c", "d.x"]);
});
