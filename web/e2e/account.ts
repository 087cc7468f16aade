import assert from "node:assert/strict";
import type { Session } from "@supabase/auth-js";

export const password = "correct horse";

export const newEmail = (): string => `${crypto.randomUUID()}@example.com`;

/** A tool choice and more, as a message carries it. */
export interface ToolChoice {
  name: string;
  serverName: string;
}

/** Account that calls the API directly, to prepare a test and to check its effects. */
export class Account {
  readonly origin: string;
  readonly email: string;
  readonly session: Session;

  constructor(origin: string, email: string, session: Session) {
    this.origin = origin;
    this.email = email;
    this.session = session;
  }

  static async create(origin: string): Promise<Account> {
    const email = newEmail();
    const response = await fetch(`${origin}/auth/v1/signup`, json({ email, password }));
    assert.equal(response.status, 200);
    return new Account(origin, email, (await response.json()) as Session);
  }

  /** The same account, signed in once more. */
  async again(): Promise<Account> {
    const credentials = json({ email: this.email, password });
    const response = await fetch(`${this.origin}/auth/v1/token?grant_type=password`, credentials);
    assert.equal(response.status, 200);
    return new Account(this.origin, this.email, (await response.json()) as Session);
  }

  /** Entry of the session in the browser's storage. */
  get stored(): { name: string; value: string } {
    return { name: "sb-localhost-auth-token", value: JSON.stringify(this.session) };
  }

  get headers(): Record<string, string> {
    return { authorization: `Bearer ${this.session.access_token}` };
  }

  /** A call that has to succeed. */
  async call<T>(
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
    method?: "PUT",
  ): Promise<T> {
    const init: RequestInit = body === undefined ? {} : json(body);
    const response = await fetch(this.origin + path, {
      ...init,
      ...(method && { method }),
      headers: { ...init.headers, ...this.headers, ...headers },
    });
    const text = await response.text();
    assert.ok(response.ok, `${path} answered ${response.status}: ${text}`);
    return (text === "" ? null : JSON.parse(text)) as T;
  }

  /** Stores messages of a chat, alternately of the user and the assistant, one second apart. */
  async fill(chat: string, texts: readonly string[]): Promise<void> {
    const began = Date.parse("2026-01-01T00:00:00Z");
    const rows = texts.map((content, index) => ({
      session_id: chat,
      role: index % 2 === 0 ? "user" : "assistant",
      content,
      created_at: new Date(began + index * 1_000).toISOString(),
    }));
    for (let at = 0; at < rows.length; at += 500) {
      await this.call("/rest/v1/ai_chat_messages", rows.slice(at, at + 500));
    }
  }

  /** Connects a server as the page does. */
  async connect(name: string, url: string): Promise<ToolChoice[]> {
    const { success, data, error } = await this.call<{
      success: boolean;
      data: { name: string }[];
      error: string | null;
    }>("/functions/v1/mcp-proxy", { url });
    assert.ok(success, error ?? "");
    const row = { user_id: this.session.user.id, name, url, tools: data, status: "connected" };
    await this.call("/rest/v1/mcp_servers", row);
    return data.map((tool) => ({ name: tool.name, serverName: name }));
  }

  connectToolbox(): Promise<ToolChoice[]> {
    return this.connect("toolbox", `${this.origin}/mcp/toolbox`);
  }

  async newChat(title = "New Chat"): Promise<string> {
    const row = { user_id: this.session.user.id, title };
    const wanted = { prefer: "return=representation" };
    const [created] = await this.call<{ id: string }[]>("/rest/v1/ai_chat_sessions", row, wanted);
    assert.ok(created);
    return created.id;
  }

  /** Says something in a chat and waits for the whole answer. */
  say(sessionId: string, message: string, tools: ToolChoice[] = []): Promise<{ content: string }> {
    return this.call("/functions/v1/ai-chat", { message, sessionId, tools });
  }

  /** Ends every session of the account, as another device can. */
  async endSessions(): Promise<void> {
    await fetch(`${this.origin}/auth/v1/logout?scope=global`, { method: "POST", headers: this.headers });
  }
}

function json(body: unknown) {
  return {
    method: "POST",
    headers: { "content-type": "application/json" } as Record<string, string>,
    body: JSON.stringify(body),
  };
}
