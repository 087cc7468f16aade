import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { after, test } from "node:test";
import { makeCertificate } from "./certificate.ts";
import { focusedName } from "./look.ts";
import { attached, list, openMcpContext, option } from "./mcp-context.ts";
import { allowAll } from "./permission.ts";
import { serveTools } from "./scripted-mcp.ts";
import { call, say } from "./scripted-model.ts";

const certificate = await makeCertificate();
after(() => certificate.remove());
const { fixture, connected } = await openMcpContext({ SSL_CERT_FILE: certificate.authority });

test("ordinary writing is left alone", async (t) => {
  const { appPage } = await connected(t);
  await appPage.open();
  const { composer, page } = appPage;
  for (const text of ["and/or", "see /etc/hosts", "mail ada@example.com", "/nothing-is-called-this"]) {
    await composer.fill("");
    await composer.pressSequentially(text);
    assert.equal(await page.getByRole("listbox").count(), 0, text);
  }
  await composer.fill("");
  await composer.pressSequentially("/");
  await list(appPage, "Prompts").waitFor();
  await composer.press("Escape");
  await list(appPage, "Prompts").waitFor({ state: "hidden" });
  await composer.pressSequentially("args");
  assert.equal(await page.getByRole("listbox").count(), 0, "what was closed stays closed");
  fixture.model.answer(say("Sent."));
  await composer.press("Enter");
  await appPage.answered();
  await appPage.questions.getByText("/args", { exact: true }).waitFor();
  assert.equal(await focusedName(appPage), "Message");
});

test("what an input method and the clipboard write is left alone", async (t) => {
  const { appPage } = await connected(t, { permissions: ["clipboard-read", "clipboard-write"] });
  await appPage.open();
  const { composer, page } = appPage;
  await composer.pressSequentially("@archi");
  await option(appPage, "Resources", /architecture/u).waitFor();
  // Enter and the arrows belong to the input method until it is done.
  const keyboard = await page.context().newCDPSession(page);
  const typed = { selectionStart: 2, selectionEnd: 2 };
  await keyboard.send("Input.imeSetComposition", { text: "te", ...typed });
  for (const key of ["ArrowDown", "Enter"]) {
    const pressed = { type: "rawKeyDown", key, code: key, windowsVirtualKeyCode: 229 } as const;
    await keyboard.send("Input.dispatchKeyEvent", pressed);
  }
  await keyboard.send("Input.insertText", { text: "te" });
  assert.equal(await composer.inputValue(), "@archite");
  await option(appPage, "Resources", /architecture/u).waitFor();
  assert.equal(await attached(appPage).count(), 0);

  await page.evaluate(() => navigator.clipboard.writeText("/args-prompt"));
  await composer.fill("");
  await composer.press("ControlOrMeta+v");
  assert.equal(await composer.inputValue(), "/args-prompt");
  fixture.model.answer(say("Sent."));
  await composer.press("Enter");
  await appPage.answered();
  await appPage.questions.getByText("/args-prompt", { exact: true }).waitFor();
});

test("servers that offer nothing beside tools say so, and the message goes on", async (t) => {
  const server = await serveTools([{ name: "plain" }], { modern: true });
  t.after(() => server.stop());
  const { account, appPage } = await fixture.openSignedInPage(t);
  await account.connect("plain", server.url);
  await appPage.open();
  await appPage.composer.pressSequentially("/");
  await appPage.sees("None of your servers provides prompts.");
  await appPage.composer.fill("Well, @");
  await appPage.sees("None of your servers provides resources.");
  fixture.model.answer(say("Sent."));
  await appPage.composer.press("Enter");
  await appPage.answered();
  await appPage.questions.getByText("Well, @", { exact: true }).waitFor();
});

test("a list that is longer than anybody reads says so, and all that is listed is found", async (t) => {
  const server = await serveTools([{ name: "plain" }], { modern: true, prompts: 2_001 });
  t.after(() => server.stop());
  const { account, appPage } = await fixture.openSignedInPage(t);
  await account.connect("long", server.url);
  await appPage.open();
  await appPage.composer.pressSequentially("/");
  await appPage.sees("Not all items are shown for long");
  assert.equal(await list(appPage, "Prompts").getByRole("option").count(), 50);
  await appPage.composer.fill("/prompt-1999");
  await option(appPage, "Prompts", /^\/prompt-1999/u).waitFor();
});

test("a server that is down is named, and holds up nobody else's offers", async (t) => {
  const { account, appPage } = await connected(t);
  const server = await serveTools([{ name: "plain" }]);
  await account.connect("asleep", server.url);
  server.stop();
  await appPage.open();
  await appPage.button("Insert a prompt").click();
  await option(appPage, "Prompts", /^\/args-prompt/u).waitFor();
  await appPage.sees("Couldn't reach asleep");
});

/** A picture of one petrol point. */
const picture =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkqP9fDwAEgQIAx6jNkQAAAABJRU5ErkJggg==";

test("pictures of servers and tools are shown when the protocol's rules let them be", async (t) => {
  const plain = { name: "plain", description: "Has a drawing, which can hold a program." };
  const drawing = `data:image/svg+xml;base64,${btoa("<svg xmlns='http://www.w3.org/2000/svg'/>")}`;
  const server = await serveTools(
    [
      { name: "painted", icons: [{ src: picture }] },
      { ...plain, icons: [{ src: drawing }, { src: "http://127.0.0.1:1/i.png" }] },
    ],
    { icons: [{ src: picture }] },
  );
  t.after(() => server.stop());
  const { account, appPage } = await fixture.openSignedInPage(t);
  await account.connect("gallery", server.url);
  await appPage.open("/?tab=tools");
  await appPage.toolCard("painted").locator("img").waitFor();
  assert.equal(await appPage.toolCard("plain").locator("img").count(), 0);
  await appPage.openTab("MCP Servers");
  await appPage.connection("gallery").locator("img").waitFor();
  // In the chat, a tool without a picture has the one of its server.
  await allowAll(account, "gallery");
  await appPage.openTab("Chat");
  fixture.model.answer(call("painted", {}), call("plain", {}));
  fixture.model.answer(say("Done."));
  await appPage.ask("Call both");
  await appPage.answered();
  for (const name of ["painted", "plain"]) await appPage.toolCall(name).locator("img").waitFor();
});

test("a picture at a server's own origin is fetched by our server, which does not say for whom", async (t) => {
  const visits: IncomingMessage[] = [];
  const icons: { src: string }[] = [];
  const server = await serveTools([{ name: "plain" }], { icons }, [], {
    tls: certificate,
    onVisit: (request, response) => {
      visits.push(request);
      response.writeHead(200, { "content-type": "text/html" });
      response.end(Buffer.from(picture.slice(picture.indexOf(",") + 1), "base64"));
    },
  });
  t.after(() => server.stop());
  const { origin } = new URL(server.url);
  icons.push({ src: `${origin}/i.png` });
  const { account, appPage } = await fixture.openSignedInPage(t);
  await account.connect("safe", server.url);
  await appPage.open("/?tab=servers");
  const shown = appPage.connection("safe").locator("img");
  await shown.waitFor();
  assert.match((await shown.getAttribute("src")) ?? "", /^blob:/u);
  await appPage.page.reload();
  await shown.waitFor();
  assert.deepEqual(
    visits.map(({ url }) => url),
    ["/i.png"],
    "one is enough for everybody",
  );
  const told = Object.keys(visits[0]?.headers ?? {});
  assert.ok(
    !told.some((name) => ["authorization", "cookie", "referer", "origin"].includes(name)),
    told.join(),
  );
});
