/**
 * Takes the two pictures of the README with `npm run pictures`: the page as it is, asking a scripted model and a scripted server
 * beside the real toolbox. `CHAT_BINARY` names the program.
 */
import { join } from "node:path";
import { after, test } from "node:test";
import { closeToasts } from "./look.ts";
import { serveTools } from "./scripted-mcp.ts";
import { call, say } from "./scripted-model.ts";
import { startFixture } from "./fixture.ts";

const fixture = await startFixture();
fixture.model.names = ["assistant"];
const docs = join(import.meta.dirname, "../../docs");

const notes = await serveTools([
  {
    name: "search_notes",
    description: "Finds notes by what is in them.",
    annotations: { readOnlyHint: true },
    run: () => "trips/lisbon.md: 12 December, TP 571, two seats; the flat in Graça, nine nights",
  },
  { name: "write_note", description: "Writes a note, or adds to one.", run: () => "written" },
]);
after(() => notes.stop());

const answer = `You leave **in 20 days**, and the nine nights cost the two of you **€2,300.80**:

| | How it adds up | Sum |
|---|---|---|
| Flights | 2 × €186.40, \`TP 571\` | €372.80 |
| The flat in Graça | 9 nights × €142.00 | €1,278.00 |
| Food and trams | 10 days × €65.00 | €650.00 |
`;

test("the pictures of the README", async (t) => {
  const appPage = await fixture.openPage(t, { viewport: { width: 1280, height: 990 }, deviceScaleFactor: 2 });
  const { page } = appPage;
  await appPage.open();
  await appPage.signUp("mira@example.com");
  await appPage.openTab("MCP Servers");
  for (const [name, url] of [
    ["notes", notes.url],
    ["toolbox", `${fixture.app.url}/mcp/toolbox`],
  ] as const) {
    await appPage.connect(name, url);
    await appPage.connection(name).getByText("connected", { exact: true }).waitFor();
  }
  await closeToasts(appPage);
  await appPage.openTab("Chat");

  fixture.model.answer(call("search_notes", { query: "lisbon" }));
  fixture.model.answer(call("days_between", { from: "2026-11-22", to: "2026-12-12" }));
  fixture.model.answer(say(answer));
  await appPage.ask("How long is it until our trip to Lisbon, and what does it cost us?");
  await appPage.button("Allow once").click();
  await appPage.answered();
  await appPage.toolCall("search_notes").getByRole("button", { expanded: false }).click();
  await appPage.toolCall("search_notes").getByRole("heading", { name: "Result" }).waitFor();
  await appPage.composer.focus();
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    await page.screenshot({ path: join(docs, `screenshot-${colorScheme}.png`), animations: "disabled" });
  }
});
