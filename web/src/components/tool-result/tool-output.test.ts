import { expect, test } from "vitest";
import { jsonIn, structuredDisplay } from "./readable";
import { toToolOutput } from "./tool-output";

const text = (words: string) => ({ type: "text", text: words });

test("structured content stands behind the words that say it, and alone where there are none", () => {
  const structuredContent = { value: 100, exact: true };
  const place = (...content: object[]) => structuredDisplay(toToolOutput({ content, structuredContent }));
  expect(place(text("100"))).toBe("folded");
  expect(place(text("words"), text('{"exact":true,"value":100}'))).toBe("none");
  expect(place(text('{"value":101,"exact":true}'))).toBe("folded");
  expect(place()).toBe("open");
  expect(structuredDisplay(toToolOutput({ content: [text("100")] }))).toBe("none");
});

test("text that is an object or an array is read as JSON, and keeps its numbers", () => {
  expect(jsonIn('{"id":9007199254740993}')).toEqual({ id: 9007199254740993n });
  expect(jsonIn(" [1]")).toEqual([1]);
  expect(jsonIn("{not JSON}")).toBe(undefined);
  expect(jsonIn("12")).toBe(undefined);
});

test("odd results are read as far as they go", () => {
  expect(toToolOutput("plain")).toEqual({ content: [text('"plain"')], isError: false });
  expect(toToolOutput({ content: [null, 1, text("x")], isError: "yes" })).toEqual({
    content: [text("x")],
    isError: false,
  });
});
