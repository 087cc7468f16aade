import assert from "node:assert/strict";
import { after, test } from "node:test";
import { serveTools } from "./scripted-mcp.ts";
import { openStage } from "./stage.ts";
import { eventually } from "./visitor.ts";

const stage = await openStage();
const schema = {
  type: "object",
  properties: {
    title: { type: "string", description: "What it is called." },
    copies: { type: "integer", minimum: 1, default: 2 },
    paper: { enum: ["A4", "A5"] },
    colour: { type: "boolean" },
  },
  required: ["title"],
};
const printer = await serveTools([
  { name: "print", description: "Prints a page.", inputSchema: schema, run: (args) => printed(args) },
  { name: "jam", description: "Always jams.", run: () => Promise.reject(new Error("paper jam")) },
]);
after(() => printer.stop());

function printed({ title, copies, paper }: Record<string, unknown>): string {
  return `printed ${typeof copies} ${String(copies)} of ${String(title)} on ${String(paper)}`;
}

test("without tools, the grid says how to get some", async (t) => {
  const { visitor } = await stage.member(t);
  await visitor.open("/?tab=tools");
  await visitor.sees("No Tools Available");
  await visitor.sees("Connect to MCP servers to see available tools");
});

test("the grid shows each tool's name, description and server", async (t) => {
  const { account, visitor } = await stage.member(t);
  await account.connect("printer", printer.url);
  await account.connectToolbox();
  await visitor.open();
  await visitor.page.getByRole("tab", { name: "Tools (7)", exact: true }).click();
  const card = visitor.toolCard("print");
  await card.getByText("Prints a page.", { exact: true }).waitFor();
  await card.getByText("printer", { exact: true }).waitFor();
  await card.getByRole("button", { name: "Use Tool", exact: true }).waitFor();
  assert.equal(await visitor.button("Use Tool").count(), 7);
});

test("Use Tool opens a form made from the tool's schema, which runs it and shows what came of it", async (t) => {
  const { account, visitor } = await stage.member(t);
  await account.connect("printer", printer.url);
  await visitor.open("/?tab=tools");
  await visitor.toolCard("print").getByRole("button", { name: "Use Tool" }).click();
  const { sheet } = visitor;
  await sheet.getByRole("heading", { name: "print" }).waitFor();
  await sheet.getByRole("button", { name: "Run", exact: true }).click();
  await sheet.getByText("This field is required.", { exact: true }).waitFor();

  await sheet.getByLabel("title").fill("Menu");
  assert.equal(await sheet.getByLabel("copies").inputValue(), "2", "the schema's default");
  await sheet.getByLabel("copies").fill("0");
  await sheet.getByRole("button", { name: "Run", exact: true }).click();
  await sheet.getByText("This must be at least 1.", { exact: true }).waitFor();
  await sheet.getByLabel("copies").fill("3");
  await sheet.getByLabel("paper").selectOption({ label: "A5" });
  await sheet.getByRole("button", { name: "Run", exact: true }).click();
  const result = sheet.getByRole("region", { name: "Result" });
  await result.getByText("printed number 3 of Menu on A5").waitFor();
  assert.match((await result.textContent()) ?? "", /Done\s*\d+(\.\d+)? m?s/u);
});

test("a tool that fails by hand shows its error", async (t) => {
  const { account, visitor } = await stage.member(t);
  await account.connect("printer", printer.url);
  await visitor.open("/?tab=tools");
  await visitor.toolCard("jam").getByRole("button", { name: "Use Tool" }).click();
  await visitor.sheet.getByText("This tool takes no arguments.").waitFor();
  await visitor.sheet.getByRole("button", { name: "Run", exact: true }).click();
  const result = visitor.sheet.getByRole("region", { name: "Result" });
  await result.getByText("Error: paper jam").waitFor();
  await result.getByText("Error", { exact: true }).waitFor();
});

test("Use in chat takes the tool to the composer", async (t) => {
  const { account, visitor } = await stage.member(t);
  await account.connectToolbox();
  await visitor.open("/?tab=tools");
  await visitor.toolCard("calculate").getByRole("button", { name: "Use Tool" }).click();
  await visitor.sheet.getByRole("button", { name: "Use in chat" }).click();
  await visitor.composer.waitFor();
  assert.equal(await visitor.composer.inputValue(), "Use calculate to ");
  assert.ok(await visitor.composer.evaluate((field) => field === document.activeElement));
});

test("ten thousand tools are a page at a time, and found at once", async (t) => {
  const tools = Array.from({ length: 10_000 }, (_, number) => ({
    name: `entry-${number}`,
    description: `Looks up entry ${number} of the register, and says what stands there. `.repeat(6),
    run: () => "found",
  }));
  const register = await serveTools(tools);
  t.after(() => register.stop());
  const { account, visitor } = await stage.member(t);
  await account.connect("register", register.url);
  await visitor.open();
  await visitor.page.getByRole("tab", { name: "Tools (10000)", exact: true }).click();
  const cards = visitor.button("Use Tool");
  await visitor.toolCard("entry-99").waitFor();
  assert.equal(await cards.count(), 100);
  await visitor.button("Show 100 more").click();
  await visitor.toolCard("entry-199").waitFor();
  assert.equal(await cards.count(), 200);
  const began = performance.now();
  await visitor.page.getByRole("searchbox", { name: "Find a tool" }).fill("entry 7777");
  await eventually(async () => assert.equal(await cards.count(), 1));
  t.diagnostic(`found after ${Math.round(performance.now() - began)} ms`);
  await visitor.toolCard("entry-7777").waitFor();
});
