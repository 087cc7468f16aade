import { expect, test } from "vitest";
import { type Field, formOf } from "./field-model";

function fieldsOf(schema: unknown): readonly Field[] {
  const form = formOf(schema);
  return form.kind === "group" ? form.fields : [];
}

function kindOf(property: unknown, definitions: Record<string, unknown> = {}): string | undefined {
  return fieldsOf({ type: "object", properties: { it: property }, $defs: definitions })[0]?.kind;
}

test("gives each type its field", () => {
  expect(kindOf({ type: "string" })).toBe("text");
  expect(kindOf({ type: "string", enum: ["a"] })).toBe("choice");
  expect(kindOf({ const: 7 })).toBe("choice");
  expect(kindOf({ type: "number" })).toBe("number");
  expect(kindOf({ type: "integer" })).toBe("number");
  expect(kindOf({ type: "boolean" })).toBe("boolean");
  expect(kindOf({ type: "array", items: { type: "string" } })).toBe("list");
  expect(kindOf({ type: "object", properties: { a: {} } })).toBe("group");
});

test("leaves to JSON what no form can show", () => {
  expect(kindOf({})).toBe("json");
  expect(kindOf({ type: "object" })).toBe("json");
  expect(kindOf({ type: "array" })).toBe("json");
  expect(kindOf({ type: ["string", "number"] })).toBe("json");
  expect(kindOf({ oneOf: [{ type: "string" }, { type: "number" }] })).toBe("json");
  expect(kindOf({ allOf: [{ type: "string" }] })).toBe("json");
  expect(kindOf({ type: "array", prefixItems: [{}], items: { type: "string" } })).toBe("json");
});

test("takes null apart from the type it stands beside", () => {
  const [typed, chosen] = fieldsOf({
    type: "object",
    properties: {
      typed: { type: ["integer", "null"] },
      chosen: { anyOf: [{ type: "string", title: "Inner" }, { type: "null" }], default: null },
    },
  });
  expect(typed).toMatchObject({ kind: "number", integer: true, nullable: true });
  expect(chosen).toMatchObject({ kind: "text", nullable: true, label: "Inner", default: null });
});

test("follows local references and gives up on endless ones", () => {
  expect(kindOf({ $ref: "#/$defs/unit" }, { unit: { enum: ["C", "F"] } })).toBe("choice");
  expect(kindOf({ $ref: "#/$defs/a~1b" }, { "a/b": { type: "boolean" } })).toBe("boolean");
  expect(kindOf({ $ref: "#/$defs/loop" }, { loop: { $ref: "#/$defs/loop" } })).toBe("json");
  expect(kindOf({ $ref: "https://example.com/schema" })).toBe("json");
});

test("ends a schema that contains itself", () => {
  const tree = {
    type: "object",
    properties: { child: { $ref: "#" }, name: { type: "string" } },
  };
  expect(JSON.stringify(formOf(tree))).toContain('"kind":"json"');
});

test("lists each option once and offers null where it is allowed", () => {
  const [field] = fieldsOf({
    type: "object",
    properties: { unit: { type: ["string", "null"], enum: ["C", "C", "F"] } },
  });
  expect(field).toMatchObject({ kind: "choice", options: ["C", "F", null] });
});

test("shows what a server has hidden in its words, and takes nothing but words for words", () => {
  const properties = {
    "to\u200B": { type: "string", description: "Whom.\u202E\u{E0041}" },
    count: { type: "integer", title: 7, description: {} },
  };
  expect(fieldsOf({ type: "object", properties })).toMatchObject([
    { name: "to\u200B", label: "to⟨U+200B⟩", description: "Whom.⟨U+202E⟩⟨U+E0041⟩" },
    { name: "count", label: "count", description: undefined },
  ]);
});
