import assert from "node:assert/strict";
import { after, test } from "node:test";
import { serveTools } from "./scripted-mcp.ts";
import { startFixture } from "./fixture.ts";
import { eventually } from "./app-page.ts";
import { focusedName } from "./look.ts";

const fixture = await startFixture();
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
/** A picture of one pixel. */
const pixel =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
const printer = await serveTools([
  { name: "print", description: "Prints a page.", inputSchema: schema, run: (args) => printed(args) },
  { name: "jam", description: "Always jams.", run: () => Promise.reject(new Error("paper jam")) },
]);
after(() => printer.stop());

function printed({ title, copies, paper }: Record<string, unknown>): string {
  return `printed ${typeof copies} ${String(copies)} of ${String(title)} on ${String(paper)}`;
}

test("without tools, the grid says how to get some", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  await appPage.open("/?tab=tools");
  await appPage.sees("No Tools Available");
  await appPage.sees("Connect to MCP servers to see available tools");
});

test("the grid shows each tool's name, description and server", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await account.connect("printer", printer.url);
  await account.connectToolbox();
  await appPage.open();
  await appPage.page.getByRole("tab", { name: "Tools (7)", exact: true }).click();
  const card = appPage.toolCard("print");
  await card.getByText("Prints a page.", { exact: true }).waitFor();
  await card.getByText("printer", { exact: true }).waitFor();
  await card.getByRole("button", { name: "Use Tool", exact: true }).waitFor();
  assert.equal(await appPage.button("Use Tool").count(), 7);
});

test("the tools stand under their server's icon, and one menu sets the permission of all", async (t) => {
  const icon = { src: `data:image/png;base64,${pixel}`, mimeType: "image/png" };
  const tools = [
    { name: "find", annotations: { readOnlyHint: true } },
    { name: "write", annotations: { readOnlyHint: false } },
  ];
  const disk = await serveTools(tools, { icons: [icon] });
  t.after(() => disk.stop());
  const { account, appPage } = await fixture.openSignedInPage(t);
  await account.connect("disk", disk.url);
  await account.connect("printer", printer.url);
  await appPage.open("/?tab=tools");
  const group = (name: string) => appPage.page.getByRole("region", { name, exact: true });
  await group("disk").getByText("2 tools", { exact: true }).waitFor();
  assert.equal(await group("disk").getByRole("listitem").count(), 2);
  assert.equal(await group("printer").getByRole("listitem").count(), 2);
  assert.equal(await group("disk").locator("img").first().getAttribute("src"), icon.src);
  assert.equal(await group("printer").locator("img").count(), 0);

  const permissions = async (expected: Record<string, string>) => {
    for (const [name, permission] of Object.entries(expected))
      await eventually(async () =>
        assert.equal(
          await appPage.toolCard(name).getByLabel(`Permission for ${name}`).inputValue(),
          permission,
        ),
      );
  };
  const choose = async (action: string) => {
    await group("disk").getByRole("button", { name: "Permissions for disk" }).click();
    await appPage.button(action).click();
  };
  await permissions({ find: "ask", write: "ask" });
  await choose("Always allow read-only tools");
  await permissions({ find: "always", write: "ask", print: "ask" });
  await choose("Never allow any tool");
  await permissions({ find: "never", write: "never", print: "ask", jam: "ask" });
});

test("Use Tool opens a form made from the tool's schema, which runs it and shows what came of it", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await account.connect("printer", printer.url);
  await appPage.open("/?tab=tools");
  await appPage.toolCard("print").getByRole("button", { name: "Use Tool" }).click();
  const { sheet } = appPage;
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

test("the result of a tool that was run by hand has a preview, which closes onto its sheet", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t, { viewport: { width: 1280, height: 800 } });
  const pages = await serveTools([
    { name: "page", run: () => "<!doctype html><title>Menu</title><p>Soup</p>" },
  ]);
  t.after(() => pages.stop());
  await account.connect("pages", pages.url);
  await appPage.open("/?tab=tools");
  await appPage.toolCard("page").getByRole("button", { name: "Use Tool" }).click();
  await appPage.sheet.getByRole("button", { name: "Run", exact: true }).click();
  await appPage.sheet.getByRole("button", { name: "Open preview" }).click();
  const preview = appPage.page.getByRole("dialog", { name: "Preview", exact: true });
  await preview.frameLocator("iframe").frameLocator("iframe").getByText("Soup").waitFor();
  await preview.getByRole("button", { name: "Close preview" }).click();
  await preview.waitFor({ state: "detached" });
  assert.equal(await focusedName(appPage), "Open preview");
  await appPage.sheet.getByRole("region", { name: "Result" }).waitFor();
});

test("a tool that fails by hand shows its error", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await account.connect("printer", printer.url);
  await appPage.open("/?tab=tools");
  await appPage.toolCard("jam").getByRole("button", { name: "Use Tool" }).click();
  await appPage.sheet.getByText("This tool takes no arguments.").waitFor();
  await appPage.sheet.getByRole("button", { name: "Run", exact: true }).click();
  const result = appPage.sheet.getByRole("region", { name: "Result" });
  await result.getByText("Error: paper jam").waitFor();
  await result.getByText("Error", { exact: true }).waitFor();
});

test("Use in chat takes the tool to the composer", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await account.connectToolbox();
  await appPage.open("/?tab=tools");
  await appPage.toolCard("calculate").getByRole("button", { name: "Use Tool" }).click();
  await appPage.sheet.getByRole("button", { name: "Use in chat" }).click();
  await appPage.composer.waitFor();
  assert.equal(await appPage.composer.inputValue(), "Use calculate to ");
  assert.ok(await appPage.composer.evaluate((field) => field === document.activeElement));
});

test("ten thousand tools are a page at a time, and found at once", async (t) => {
  const tools = Array.from({ length: 10_000 }, (_, number) => ({
    name: `entry-${number}`,
    description: `Looks up entry ${number} of the register, and says what stands there. `.repeat(6),
    run: () => "found",
  }));
  const register = await serveTools(tools);
  t.after(() => register.stop());
  const { account, appPage } = await fixture.openSignedInPage(t);
  await account.connect("register", register.url);
  await appPage.open();
  await appPage.page.getByRole("tab", { name: "Tools (10000)", exact: true }).click();
  const cards = appPage.button("Use Tool");
  await appPage.toolCard("entry-99").waitFor();
  assert.equal(await cards.count(), 100);
  await appPage.button("Show 100 more").click();
  await appPage.toolCard("entry-199").waitFor();
  assert.equal(await cards.count(), 200);
  const began = performance.now();
  await appPage.page.getByRole("searchbox", { name: "Find a tool" }).fill("entry 7777");
  await eventually(async () => assert.equal(await cards.count(), 1));
  t.diagnostic(`found after ${Math.round(performance.now() - began)} ms`);
  await appPage.toolCard("entry-7777").waitFor();
});
