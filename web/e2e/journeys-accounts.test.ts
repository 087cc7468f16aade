import assert from "node:assert/strict";
import { test } from "node:test";
import { newEmail, password } from "./account.ts";
import { startFixture } from "./fixture.ts";
import { eventually } from "./app-page.ts";

const fixture = await startFixture();

test("the sign-in screen welcomes with two tabs, an e-mail and a password field in each", async (t) => {
  const appPage = await fixture.openPage(t);
  await appPage.open("/auth");
  await appPage.page.getByRole("heading", { name: "Welcome" }).waitFor();
  const tabs = appPage.page.getByRole("tab");
  assert.deepEqual(await tabs.allTextContents(), ["Sign In", "Sign Up"]);
  assert.equal(await tabs.first().getAttribute("aria-selected"), "true");
  for (const tab of ["Sign In", "Sign Up"]) {
    await appPage.page.getByRole("tab", { name: tab }).click();
    assert.equal(await appPage.field("Email").getAttribute("type"), "email");
    assert.equal(await appPage.field("Password").getAttribute("type"), "password");
    await appPage.button(tab).waitFor();
  }
  assert.equal(await appPage.field("Password").getAttribute("placeholder"), "Password (min 6 characters)");
});

test("the forms want an e-mail and a password, and six characters for a new one", async (t) => {
  const appPage = await fixture.openPage(t);
  const sent: string[] = [];
  appPage.page.on("request", (request) => {
    if (request.method() === "POST") sent.push(request.url());
  });
  await appPage.open("/auth");
  const lacks = (label: string) =>
    appPage.field(label).evaluate((input: HTMLInputElement) => {
      const { valueMissing, tooShort } = input.validity;
      return valueMissing ? "everything" : tooShort ? "length" : "nothing";
    });
  for (const tab of ["Sign In", "Sign Up"]) {
    await appPage.page.getByRole("tab", { name: tab }).click();
    await appPage.button(tab).click();
    assert.deepEqual([await lacks("Email"), await lacks("Password")], ["everything", "everything"]);
  }
  await appPage.field("Email").fill(newEmail());
  // The browser counts only what was typed.
  await appPage.field("Password").pressSequentially("12345");
  await appPage.button("Sign Up").click();
  assert.equal(await lacks("Password"), "length");
  assert.deepEqual(sent, [], "nothing was sent");
  await appPage.field("Password").press("6");
  await appPage.button("Sign Up").click();
  await appPage.arrivesAt("/");
});

test("sign-up says where a link in an e-mail has to lead", async (t) => {
  const appPage = await fixture.openPage(t);
  await appPage.open("/auth");
  const request = appPage.page.waitForRequest(/\/auth\/v1\/signup/u);
  await appPage.signUp(newEmail());
  assert.equal(new URL((await request).url()).searchParams.get("redirect_to"), fixture.app.url);
});

test("a refused sign-in or sign-up shows the server's words", async (t) => {
  const { account } = await fixture.openSignedInPage(t);
  const appPage = await fixture.openPage(t);
  await appPage.open("/auth");
  await appPage.signIn(account.email, "wrong password");
  await appPage.toast("Sign in failed", "Invalid login credentials");
  await appPage.signUp(account.email);
  await appPage.toast("Sign up failed", "User already registered");
  assert.equal(new URL(appPage.page.url()).pathname, "/auth");
});

test("with a session, the sign-in screen leads to the main screen", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  await appPage.open("/auth");
  await appPage.arrivesAt("/");
  await appPage.composer.waitFor();
});

test("without a session, the main screen leads to the sign-in screen, and an unknown path stays unknown", async (t) => {
  const appPage = await fixture.openPage(t);
  for (const path of ["/", "/?tab=tools", "/?c=none"]) {
    await appPage.open(path);
    await appPage.arrivesAt("/auth");
    await appPage.button("Sign In").waitFor();
  }
  for (const path of ["/auth/more", "/chat", "/index.php"]) {
    await appPage.open(path);
    await appPage.sees("Oops! Page not found");
    assert.equal(new URL(appPage.page.url()).pathname, path);
    assert.ok(appPage.logged.some((line) => line.endsWith(` ${path}`)));
  }
  await appPage.page.getByRole("link", { name: "Return to Home", exact: true }).click();
  await appPage.arrivesAt("/auth");
});

test("while the session is being checked the screen shows Loading", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  const held = Promise.withResolvers<void>();
  // A session whose time has run out is renewed first.
  await appPage.keepSession({ ...account.session, expires_at: Math.floor(Date.now() / 1000) - 60 });
  await appPage.page.route("**/auth/v1/token*", async (route) => {
    await held.promise;
    await route.continue();
  });
  await appPage.open();
  await appPage.sees("Loading");
  held.resolve();
  await appPage.composer.waitFor();
});

test("the session stays in local storage, with tokens, times and the user", async (t) => {
  const email = newEmail();
  const appPage = await fixture.openPage(t);
  await appPage.open("/auth");
  await appPage.signUp(email);
  await appPage.arrivesAt("/");
  const stored = await appPage.page.evaluate(() => localStorage.getItem("sb-localhost-auth-token") ?? "");
  const session = JSON.parse(stored) as Record<string, unknown> & {
    user: { email: string; identities: { provider: string }[] };
  };
  const names = ["access_token", "refresh_token", "expires_in", "expires_at", "token_type", "user"];
  assert.deepEqual(
    names.filter((name) => session[name] === undefined),
    [],
  );
  assert.equal(session.user.email, email);
  assert.deepEqual(
    session.user.identities.map(({ provider }) => provider),
    ["email"],
  );
  assert.equal(session["token_type"], "bearer");
  const { expires_in, expires_at } = session as unknown as { expires_in: number; expires_at: number };
  assert.ok(Math.abs(Date.now() / 1000 + expires_in - expires_at) < 60, "both times say the same");
  await appPage.page.reload();
  await appPage.sees(email);
});

test("a session that ended elsewhere leads to sign-in and back to the same place, with what was typed", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  const first = await account.newChat("First");
  await account.newChat("Second");
  await appPage.open(`/?c=${first}`);
  await appPage.page.getByRole("region", { name: "First" }).waitFor();
  await appPage.composer.fill("Do not lose this");
  await account.endSessions();
  // The page may have noticed by itself and left already.
  await appPage.composer.press("Enter", { timeout: 2_000 }).catch(() => undefined);
  await appPage.arrivesAt("/auth");
  await appPage.signIn(account.email, password);
  await appPage.arrivesAt("/");
  assert.equal(new URL(appPage.page.url()).searchParams.get("c"), first);
  await eventually(async () => assert.equal(await appPage.composer.inputValue(), "Do not lose this"));

  await appPage.openTab("MCP Servers");
  await appPage.field("MCP Server URL").fill(`${fixture.app.url}/mcp/toolbox`);
  await appPage.field("Server Name").fill("half done");
  await (await account.again()).endSessions();
  await appPage
    .field("Server Name")
    .press("Enter", { timeout: 2_000 })
    .catch(() => undefined);
  await appPage.arrivesAt("/auth");
  await appPage.signIn(account.email, password);
  await appPage.arrivesAt("/");
  assert.equal(new URL(appPage.page.url()).searchParams.get("tab"), "servers");
  assert.equal(await appPage.field("Server Name").inputValue(), "half done");
});
