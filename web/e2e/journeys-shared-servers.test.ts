import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { after, test } from "node:test";
import { eventually } from "./app-page.ts";
import { startFixture } from "./fixture.ts";
import { focusedName, inspect, looks } from "./look.ts";
import { serveTools } from "./scripted-mcp.ts";

const fixture = await startFixture({
  CHAT_OIDC_ISSUER: "https://id.example.com",
  CHAT_OIDC_CLIENT_ID: "chat",
  CHAT_OIDC_GROUPS_CLAIM: "groups",
});
const tickets = await serveTools([{ name: "find_ticket" }], {}, [], { authorization: "Bearer s3cret" });
after(() => tickets.stop());

const headers = `${fixture.app.dataDir}/headers`;
await writeFile(headers, "Authorization: Bearer s3cret\n");
const servers = (...args: string[]) => fixture.app.command("admin", "servers", ...args);
const about = "Tickets of the whole company, with search.";
await servers("offer", "Tickets", tickets.url, "--headers", headers, "--description", about);
await servers("offer", "Wiki", "https://wiki.example.com/mcp");
await servers("offer", "Payroll", "https://payroll.example.com/mcp", "--group", "accounting");

test("a server of the operator is connected with one click and no key", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await appPage.open("/?tab=servers");
  await appPage.sees(about);
  assert.equal(await appPage.button("Connect Payroll").count(), 0, "for users of a group");
  await appPage.button("Connect Tickets").press("Enter");
  await appPage.toast("Connection Successful", "Connected to Tickets with 1 tools");
  await appPage.button("Connect Tickets").waitFor({ state: "detached" });
  await eventually(async () => assert.equal(await focusedName(appPage), "Active Connections"));
  await appPage.connection("Tickets").getByText(tickets.url, { exact: true }).waitFor();

  await appPage.button("Tickets").click();
  await appPage.sees("The operator of this site offers this server and sets its address and headers.");
  assert.equal(await appPage.page.getByText("Request headers", { exact: true }).count(), 0);
  await appPage.page.keyboard.press("Escape");
  const rows = await account.call<object[]>("/rest/v1/mcp_servers?select=*");
  assert.doesNotMatch(JSON.stringify(rows), /s3cret/u);

  await appPage.button("Remove Tickets").click();
  await appPage.button("Remove connection").click();
  await appPage.button("Connect Tickets").waitFor();
});

for (const [name, look] of looks) {
  test(`shared servers are free of accessibility faults at ${name}, and fit`, async (t) => {
    const { appPage } = await fixture.openSignedInPage(t, look);
    await appPage.open("/?tab=servers");
    await appPage.button("Connect Tickets").waitFor();
    await inspect(appPage, "shared-servers", look);
    await appPage.button("Connect Tickets").click();
    await appPage.connection("Tickets").waitFor();
    await appPage.button("Tickets").click();
    await appPage.sees("The operator of this site offers this server and sets its address and headers.");
    await inspect(appPage, "shared-servers-details", look);
  });
}
