import assert from "node:assert/strict";
import { test } from "node:test";
import { newEmail, password } from "./account.ts";
import { openStage } from "./stage.ts";
import { eventually } from "./visitor.ts";

const stage = await openStage();

test("the sign-in screen welcomes with two tabs, an e-mail and a password field in each", async (t) => {
  const visitor = await stage.visitor(t);
  await visitor.open("/auth");
  await visitor.page.getByRole("heading", { name: "Welcome" }).waitFor();
  const tabs = visitor.page.getByRole("tab");
  assert.deepEqual(await tabs.allTextContents(), ["Sign In", "Sign Up"]);
  assert.equal(await tabs.first().getAttribute("aria-selected"), "true");
  for (const tab of ["Sign In", "Sign Up"]) {
    await visitor.page.getByRole("tab", { name: tab }).click();
    assert.equal(await visitor.field("Email").getAttribute("type"), "email");
    assert.equal(await visitor.field("Password").getAttribute("type"), "password");
    await visitor.button(tab).waitFor();
  }
  assert.equal(await visitor.field("Password").getAttribute("placeholder"), "Password (min 6 characters)");
});

test("the forms want an e-mail and a password, and six characters for a new one", async (t) => {
  const visitor = await stage.visitor(t);
  const sent: string[] = [];
  visitor.page.on("request", (request) => {
    if (request.method() === "POST") sent.push(request.url());
  });
  await visitor.open("/auth");
  const lacks = (label: string) =>
    visitor.field(label).evaluate((input: HTMLInputElement) => {
      const { valueMissing, tooShort } = input.validity;
      return valueMissing ? "everything" : tooShort ? "length" : "nothing";
    });
  for (const tab of ["Sign In", "Sign Up"]) {
    await visitor.page.getByRole("tab", { name: tab }).click();
    await visitor.button(tab).click();
    assert.deepEqual([await lacks("Email"), await lacks("Password")], ["everything", "everything"]);
  }
  await visitor.field("Email").fill(newEmail());
  // The browser counts only what was typed.
  await visitor.field("Password").pressSequentially("12345");
  await visitor.button("Sign Up").click();
  assert.equal(await lacks("Password"), "length");
  assert.deepEqual(sent, [], "nothing was sent");
  await visitor.field("Password").press("6");
  await visitor.button("Sign Up").click();
  await visitor.arrivesAt("/");
});

test("sign-up says where a link in an e-mail has to lead", async (t) => {
  const visitor = await stage.visitor(t);
  await visitor.open("/auth");
  const request = visitor.page.waitForRequest(/\/auth\/v1\/signup/u);
  await visitor.signUp(newEmail());
  assert.equal(new URL((await request).url()).searchParams.get("redirect_to"), stage.app.url);
});

test("a refused sign-in or sign-up shows the server's words", async (t) => {
  const { account } = await stage.member(t);
  const visitor = await stage.visitor(t);
  await visitor.open("/auth");
  await visitor.signIn(account.email, "wrong password");
  await visitor.toast("Sign in failed", "Invalid login credentials");
  await visitor.signUp(account.email);
  await visitor.toast("Sign up failed", "User already registered");
  assert.equal(new URL(visitor.page.url()).pathname, "/auth");
});

test("with a session, the sign-in screen leads to the main screen", async (t) => {
  const { visitor } = await stage.member(t);
  await visitor.open("/auth");
  await visitor.arrivesAt("/");
  await visitor.composer.waitFor();
});

test("without a session, the main screen leads to the sign-in screen, and an unknown path stays unknown", async (t) => {
  const visitor = await stage.visitor(t);
  for (const path of ["/", "/?tab=tools", "/?c=none"]) {
    await visitor.open(path);
    await visitor.arrivesAt("/auth");
    await visitor.button("Sign In").waitFor();
  }
  for (const path of ["/auth/more", "/chat", "/index.php"]) {
    await visitor.open(path);
    await visitor.sees("Oops! Page not found");
    assert.equal(new URL(visitor.page.url()).pathname, path);
    assert.ok(visitor.logged.some((line) => line.endsWith(` ${path}`)));
  }
  await visitor.page.getByRole("link", { name: "Return to Home", exact: true }).click();
  await visitor.arrivesAt("/auth");
});

test("while the session is being checked the screen shows Loading", async (t) => {
  const { account, visitor } = await stage.member(t);
  const held = Promise.withResolvers<void>();
  // A session whose time has run out is renewed first.
  await visitor.keepSession({ ...account.session, expires_at: Math.floor(Date.now() / 1000) - 60 });
  await visitor.page.route("**/auth/v1/token*", async (route) => {
    await held.promise;
    await route.continue();
  });
  await visitor.open();
  await visitor.sees("Loading");
  held.resolve();
  await visitor.composer.waitFor();
});

test("the session stays in local storage, with tokens, times and the user", async (t) => {
  const email = newEmail();
  const visitor = await stage.visitor(t);
  await visitor.open("/auth");
  await visitor.signUp(email);
  await visitor.arrivesAt("/");
  const stored = await visitor.page.evaluate(() => localStorage.getItem("sb-localhost-auth-token") ?? "");
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
  await visitor.page.reload();
  await visitor.sees(email);
});

test("a session that ended elsewhere leads to sign-in and back to the same place, with what was typed", async (t) => {
  const { account, visitor } = await stage.member(t);
  const first = await account.newChat("First");
  await account.newChat("Second");
  await visitor.open(`/?c=${first}`);
  await visitor.page.getByRole("region", { name: "First" }).waitFor();
  await visitor.composer.fill("Do not lose this");
  await account.endSessions();
  // The page may have noticed by itself and left already.
  await visitor.composer.press("Enter", { timeout: 2_000 }).catch(() => undefined);
  await visitor.arrivesAt("/auth");
  await visitor.signIn(account.email, password);
  await visitor.arrivesAt("/");
  assert.equal(new URL(visitor.page.url()).searchParams.get("c"), first);
  await eventually(async () => assert.equal(await visitor.composer.inputValue(), "Do not lose this"));

  await visitor.openTab("MCP Servers");
  await visitor.field("MCP Server URL").fill(`${stage.app.url}/mcp/toolbox`);
  await visitor.field("Server Name").fill("half done");
  await (await account.again()).endSessions();
  await visitor
    .field("Server Name")
    .press("Enter", { timeout: 2_000 })
    .catch(() => undefined);
  await visitor.arrivesAt("/auth");
  await visitor.signIn(account.email, password);
  await visitor.arrivesAt("/");
  assert.equal(new URL(visitor.page.url()).searchParams.get("tab"), "servers");
  assert.equal(await visitor.field("Server Name").inputValue(), "half done");
});
