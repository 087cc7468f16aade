import { expect, test } from "vitest";
import { suggestionsFor } from "./suggestions";

const tool = (name: string, serverName: string, description = "") => ({ name, serverName, description });

test("at most four, of as many servers as there are, and ready questions first", () => {
  const tools = [
    tool("b", "one", "Does b. And more."),
    tool("calculate", "two"),
    tool("x", "two"),
    tool("current_time", "two"),
    tool("c", "three", "Does c"),
  ];
  const suggestions = suggestionsFor(tools);
  expect(suggestions.map((entry) => entry.tool)).toEqual(["b", "calculate", "c", "current_time"]);
  expect(suggestions[0]).toMatchObject({ label: "Does b.", prompt: "Use b to " });
});

test("none without tools, and the name where a tool says nothing of itself", () => {
  expect(suggestionsFor([])).toEqual([]);
  expect(suggestionsFor([tool("quiet", "s")])[0]?.label).toBe("quiet");
});
