import { expect, test } from "vitest";
import { groupModels } from "./group-models";
import type { Model } from "../queries";

const model = (id: string, builtIn = false): Model => ({
  id,
  name: id.slice(id.indexOf("/") + 1),
  provider: id.slice(0, id.indexOf("/")),
  builtIn,
  available: true,
});

const models = [
  model("openai/gpt-a"),
  model("openai/gpt-b"),
  model("anthropic/opus"),
  model("built-in/q", true),
];

const told = (favourites: string[], search: string) =>
  groupModels(models, favourites, search).map(
    ({ name, models: of }) => `${name}: ${of.map(({ name: n }) => n).join()}`,
  );

test("models stand with their providers, favorites first", () => {
  expect(told([], "")).toEqual(["openai: gpt-a,gpt-b", "anthropic: opus", "Built in: q"]);
  expect(told(["anthropic/opus", "gone/x"], "")).toEqual([
    "Favorites: opus",
    "openai: gpt-a,gpt-b",
    "Built in: q",
  ]);
});

test("a search finds every word, in the name or the provider's", () => {
  expect(told([], "OPEN b")).toEqual(["openai: gpt-b"]);
  expect(told(["openai/gpt-b"], "gpt")).toEqual(["Favorites: gpt-b", "openai: gpt-a"]);
  expect(told([], "nothing")).toEqual([]);
});
