import assert from "node:assert/strict";
import type { BrowserContext, Locator, Page } from "playwright-core";
import { password } from "./account.ts";

type HomeTab = "Chat" | "MCP Servers" | "Tools";

/** Page object of the app. It finds elements by their accessible names. */
export class AppPage {
  readonly page: Page;
  readonly origin: string;
  /** Errors that the page has logged to the console. */
  readonly logged: string[] = [];
  /** Errors that nothing caught. */
  readonly crashes: string[] = [];

  constructor(page: Page, origin: string) {
    this.page = page;
    this.origin = origin;
    page.on("console", (message) => {
      if (message.type() === "error") this.logged.push(message.text());
    });
    page.on("pageerror", (error) => this.crashes.push(String(error)));
  }

  static async in(context: BrowserContext, origin: string): Promise<AppPage> {
    return new AppPage(await context.newPage(), origin);
  }

  /** Opens another tab of the same browser. */
  async anotherTab(): Promise<AppPage> {
    return AppPage.in(this.page.context(), this.origin);
  }

  // Moving about.

  async open(path = "/"): Promise<void> {
    await this.page.goto(path);
  }

  async openTab(name: HomeTab): Promise<void> {
    await this.tab(name).click();
  }

  tab(name: HomeTab): Locator {
    return this.page.getByRole("tab", { name: name === "Tools" ? /^Tools \(\d+\)$/u : name, exact: true });
  }

  /** Waits until the page has this path. */
  async arrivesAt(path: "/" | "/auth"): Promise<void> {
    await this.page.waitForURL((url) => url.pathname === path);
  }

  button(name: string | RegExp): Locator {
    return this.page.getByRole("button", { name, exact: true });
  }

  field(label: string): Locator {
    return this.page.getByLabel(label, { exact: true });
  }

  // Accounts.

  /** Presses a button of the header; on a phone it is in the account's menu. */
  async pressInHeader(name: "Settings" | "Sign Out"): Promise<void> {
    const account = this.button("Account");
    await account.or(this.button(name)).first().waitFor();
    if (await account.isVisible()) await account.click();
    await this.button(name).click();
  }

  async fillCredentials(email: string, secret = password): Promise<void> {
    await this.field("Email").fill(email);
    await this.field("Password").fill(secret);
  }

  async signUp(email: string, secret = password): Promise<void> {
    await this.page.getByRole("tab", { name: "Sign Up" }).click();
    await this.fillCredentials(email, secret);
    await this.button("Sign Up").click();
  }

  async signIn(email: string, secret = password): Promise<void> {
    await this.fillCredentials(email, secret);
    await this.button("Sign In").click();
  }

  /** Puts a session in the place of the one that the browser has kept, before the first page is open. */
  async keepSession(session: object): Promise<void> {
    await this.page.addInitScript((value) => {
      if (sessionStorage.length === 0) localStorage.setItem("sb-localhost-auth-token", value);
      sessionStorage.setItem("kept", "yes");
    }, JSON.stringify(session));
  }

  // Toasts.

  /** Waits for a toast of exactly these words. */
  async toast(title: string, text: string | RegExp): Promise<void> {
    const card = this.toasts.filter({ has: this.page.getByText(title, { exact: true }) });
    await card.getByText(text, { exact: true }).first().waitFor();
  }

  get toasts(): Locator {
    return this.page.getByRole("region", { name: "Status messages" }).locator("> [role=dialog]:visible");
  }

  // Servers and tools.

  async connect(name: string, url: string): Promise<void> {
    await this.field("Server Name").fill(name);
    await this.field("MCP Server URL").fill(url);
    await this.button("Connect to MCP Server").click();
  }

  /** Removes a connection, and says so when asked. */
  async removeConnection(name: string): Promise<void> {
    await this.button(`Remove ${name}`).click();
    await this.button("Remove connection").click();
  }

  card(title: "Connect to MCP Server" | "Active Connections" | "Available Tools"): Locator {
    return this.page.getByRole("region", { name: title });
  }

  connection(name: string): Locator {
    const heading = this.page.getByRole("heading", { name, exact: true });
    return this.card("Active Connections").getByRole("listitem").filter({ has: heading });
  }

  /** The card of a tool in the Tools tab. */
  toolCard(name: string): Locator {
    const heading = this.page.getByRole("heading", { name, exact: true });
    return this.page.getByRole("tabpanel", { name: "Tools" }).getByRole("listitem").filter({ has: heading });
  }

  get sheet(): Locator {
    return this.page.locator("dialog[open]");
  }

  // The chat.

  get composer(): Locator {
    return this.page.getByRole("textbox", { name: "Message", exact: true });
  }

  get send(): Locator {
    return this.button("Send");
  }

  get stop(): Locator {
    return this.button("Stop");
  }

  /** Sends what is written, with the keyboard. */
  async submit(): Promise<void> {
    // On a touch screen Enter alone makes a line.
    const isTouch = await this.page.evaluate(() => matchMedia("(pointer: coarse)").matches);
    await this.composer.press(isTouch ? "Control+Enter" : "Enter");
  }

  async ask(text: string): Promise<void> {
    await this.composer.fill(text);
    await this.submit();
  }

  get questions(): Locator {
    return this.page.getByRole("article", { name: "You said" });
  }

  get answers(): Locator {
    return this.page.getByRole("article", { name: "Assistant said" });
  }

  /** A call of a tool in the conversation. */
  toolCall(name: string): Locator {
    return this.page.locator(`[data-tool="${name}"]`);
  }

  /** Waits until the answer is over and the next message could be sent. */
  async answered(timeout = 15_000): Promise<void> {
    await this.stop.or(this.button("Queue message")).waitFor({ state: "hidden", timeout });
    await this.answers.last().locator("time").waitFor({ timeout });
  }

  async openChats(): Promise<Locator> {
    const dropdown = this.page.getByRole("dialog", { name: "Recent Chats" });
    if ((await this.chatsButton.getAttribute("aria-expanded")) !== "true") await this.chatsButton.click();
    // What is in it comes when it is opened.
    await dropdown.getByRole("listitem").first().waitFor();
    return dropdown;
  }

  /** An action of the menu that is open. */
  menuItem(name: string): Locator {
    return this.page.getByRole("menuitem", { name, exact: true });
  }

  /** The button of the chat's head; a row of the sidebar can have the same name. */
  get newChat(): Locator {
    return this.page.locator("[data-head]").getByRole("button", { name: "New Chat", exact: true });
  }

  get chatsButton(): Locator {
    return this.button(/^Chats \(\d+\)$/u);
  }

  // Looking.

  async sees(text: string | RegExp): Promise<void> {
    await this.page.getByText(text, { exact: true }).first().waitFor();
  }

  async seesNo(text: string | RegExp): Promise<void> {
    assert.equal(await this.page.getByText(text).count(), 0);
  }
}

/** Tries again until it no longer throws, and at the end lets the last error out. */
export async function eventually(check: () => Promise<void> | void, timeoutMs = 10_000): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    try {
      await check();
      return;
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await new Promise((resolve) => {
        setTimeout(resolve, 50);
      });
    }
  }
}
