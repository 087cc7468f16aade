import { expect, test } from "vitest";
import { suggestionsFor } from "./suggestions";

const tool = (name: string, serverName: string) => ({ name, serverName, description: "Does it." });

test("at most four, of as many servers as there are, and ready questions first", () => {
  const tools = [
    { ...tool("b", "one"), title: "Find a B" },
    tool("calculate", "two"),
    tool("x", "two"),
    tool("current_time", "two"),
    tool("c", "three"),
  ];
  const suggestions = suggestionsFor(tools);
  expect(suggestions.map((entry) => entry.tool)).toEqual(["b", "current_time", "c", "calculate"]);
  expect(suggestions[0]).toMatchObject({ label: "Find a B", prompt: "Use b to " });
});

test("none without tools, and the name where a tool has no title", () => {
  expect(suggestionsFor([])).toEqual([]);
  expect(suggestionsFor([tool("quiet", "s")])[0]?.label).toBe("quiet");
});
