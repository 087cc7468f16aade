import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { databases, startApp, type TestApp } from "./app.ts";
import { client, person, type Row, rows, titles } from "./rest.ts";

for (const database of databases) {
  describe(`the official data client on ${database}`, () => {
    let app: TestApp;
    before(async () => {
      app = await startApp({ database });
    });
    after(async () => {
      await app.stop();
    });

    test("does what the page does with chats", async () => {
      const { id, rest } = await person(app);
      const chats = () => rest.from("ai_chat_sessions");
      const made = await chats().insert({ user_id: id, title: "New Chat" }).select().single();
      assert.equal(made.status, 201);
      const chat = made.data as Row;
      assert.deepEqual(Object.keys(chat), ["id", "user_id", "title", "created_at", "updated_at"]);
      assert.match(String(chat["created_at"]), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?\+00:00$/);

      const later = new Date(Date.now() + 60_000).toISOString();
      rows(await chats().insert({ user_id: id, title: "newer", updated_at: later }).select());
      assert.deepEqual(
        titles(await chats().select("*").eq("user_id", id).order("updated_at", { ascending: false })),
        ["newer", "New Chat"],
      );
      const [unnamed] = rows(await chats().insert({ user_id: id }).select());
      assert.equal(unnamed?.["title"], "New Chat");
      await chats().delete().eq("id", unnamed?.["id"]);
      const renamed = await chats().update({ title: "named", updated_at: later }).eq("id", chat["id"]);
      assert.equal(renamed.status, 204);
      const messages = rest.from("ai_chat_messages");
      const words = { session_id: chat["id"], role: "user", content: "hello" };
      const [message] = rows(await messages.insert(words).select());
      const fields = ["id", "session_id", "role", "content", "created_at", "tool_calls"];
      assert.deepEqual(
        fields.filter((field) => message?.[field] === undefined),
        [],
      );
      rows(await messages.insert({ ...words, role: "assistant" }).select());
      const strange = await messages.insert({ ...words, role: "system" });
      assert.deepEqual([strange.status, strange.error?.code], [400, "23514"]);
      const said = rows(
        await messages
          .select("role,text:content,tool_calls")
          .eq("session_id", chat["id"])
          .order("created_at"),
      );
      assert.deepEqual(said, [
        { role: "user", text: "hello", tool_calls: [] },
        { role: "assistant", text: "hello", tool_calls: [] },
      ]);
      assert.equal((await chats().delete().eq("id", chat["id"])).status, 204);
      assert.deepEqual(rows(await messages.select("*").eq("session_id", chat["id"])), []);
    });

    test("does what the page does with connections", async () => {
      const { id, rest } = await person(app);
      const tools = [{ name: "t", description: "d", inputSchema: { type: "object" }, serverName: "s" }];
      const server = { user_id: id, name: "s", url: "http://127.0.0.1:9/mcp", tools, status: "connected" };
      assert.equal((await rest.from("mcp_servers").insert(server)).status, 201);
      const again = await rest.from("mcp_servers").insert(server);
      assert.deepEqual([again.status, again.error?.code], [409, "23505"]);
      const [row] = rows(await rest.from("mcp_servers").select("*").eq("user_id", id));
      assert.deepEqual(row?.["tools"], tools);
      const gone = await rest
        .from("mcp_servers")
        .delete({ count: "exact" })
        .eq("user_id", id)
        .eq("name", "s");
      assert.equal(gone.count, 1);
    });

    test("filters, orders and pages", async () => {
      const { rest } = await person(app);
      const chats = () => rest.from("ai_chat_sessions");
      const all = ["Äpfel", "apple", "Apple", 'a "quoted", (one)', "b, (two)", "50%"];
      assert.equal((await chats().insert(all.map((title) => ({ title })))).status, 201);
      const some = () => chats().select("title").order("title");
      assert.deepEqual(titles(await some().like("title", "a%")), ['a "quoted", (one)', "apple"]);
      assert.deepEqual(titles(await some().ilike("title", "ä*")), ["Äpfel"]);
      assert.deepEqual(titles(await some().in("title", ["b, (two)", "50%"])), ["50%", "b, (two)"]);
      assert.deepEqual(
        titles(await some().or('title.eq."a \\"quoted\\", (one)",and(title.gt.a,title.like.*le)')),
        ['a "quoted", (one)', "apple"],
      );
      assert.deepEqual(titles(await some().not("title", "ilike", "a%")), ["50%", "b, (two)", "Äpfel"]);
      assert.deepEqual(titles(await some().match({ title: "apple" })), ["apple"]);
      assert.deepEqual(titles(await some().is("title", null)), []);

      const page = await chats()
        .select("title", { count: "exact" })
        .order("title", { ascending: false })
        .range(1, 2);
      assert.deepEqual([page.status, page.count, titles(page)], [206, 6, ["b, (two)", "apple"]]);
      const head = await chats().select("*", { count: "exact", head: true });
      assert.deepEqual([head.count, head.data], [6, null]);
      assert.equal((await chats().select().eq("title", "none").maybeSingle()).data, null);
      const many = await chats().select().single();
      assert.deepEqual([many.status, many.error?.code], [406, "PGRST116"]);
    });

    test("upserts", async () => {
      const { rest } = await person(app);
      const servers = () => rest.from("mcp_servers");
      const row = { name: "s", url: "http://127.0.0.1:9" };
      const made = await servers().upsert(row, { onConflict: "user_id,name" }).select().single();
      assert.equal(made.status, 201);
      const url = "http://127.0.0.1:9/other";
      const merged = await servers()
        .upsert({ ...row, url }, { onConflict: "user_id,name" })
        .select()
        .single();
      assert.deepEqual([merged.status, merged.data], [200, { ...(made.data as Row), url }]);
      const ignored = await servers()
        .upsert([row, { name: "t", url }], { onConflict: "user_id,name", ignoreDuplicates: true })
        .select("name,url");
      assert.deepEqual(rows(ignored), [{ name: "t", url }]);
      const defaulted = await servers()
        .insert(
          [
            { name: "u", url, status: "idle" },
            { name: "v", url },
          ],
          { defaultToNull: false },
        )
        .select("status");
      assert.deepEqual(rows(defaulted), [{ status: "idle" }, { status: "connected" }]);
    });

    test("says what cannot be done", async () => {
      const { rest } = await person(app);
      const chats = () => rest.from("ai_chat_sessions");
      const codes = [
        (await chats().select("*, ai_chat_messages(*)")).error?.code,
        (await chats().select("nothing")).error?.code,
        (await chats().select().eq("id", "1")).error?.code,
        (await chats().select().textSearch("title", "a")).error?.code,
        (await chats().select().csv()).error?.code,
        (await chats().select().explain()).error?.code,
        (await chats().update({ title: "a" })).error?.code,
        (await rest.schema("private").from("ai_chat_sessions").select()).error?.code,
        (await rest.from("things").select()).error?.code,
        (await rest.rpc("f")).error?.code,
      ];
      const want = ["PGRST200", "42703", "22P02", "PGRST127", "PGRST107", "PGRST107", "21000", "PGRST106"];
      assert.deepEqual(codes, [...want, "PGRST205", "PGRST202"]);
    });

    test("keeps people apart", async () => {
      const [one, other] = [await person(app), await person(app)];
      const made = await other.rest.from("ai_chat_sessions").insert({ title: "theirs" }).select().single();
      const chat = made.data as Row;
      assert.deepEqual(rows(await one.rest.from("ai_chat_sessions").select()), []);
      const nobody = client(app, "sb_publishable_0123456789");
      assert.deepEqual(rows(await nobody.from("ai_chat_sessions").select()), []);
      assert.equal((await nobody.from("ai_chat_sessions").insert({ title: "x" })).status, 401);
      const taken = await one.rest.from("ai_chat_sessions").upsert({ id: chat["id"], title: "mine" });
      assert.deepEqual([taken.status, taken.error?.code], [403, "42501"]);
      const given = await one.rest.from("ai_chat_sessions").insert({ user_id: other.id, title: "x" });
      assert.deepEqual([given.status, given.error?.code], [403, "42501"]);
      assert.deepEqual(rows(await other.rest.from("ai_chat_sessions").select()), [chat]);
    });
  });
}
