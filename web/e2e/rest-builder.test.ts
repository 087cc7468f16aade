/** Every method of the official data client's builders: what is served does what it says, what is not is refused by its code. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { databases, startApp, type TestApp } from "./app.ts";
import { client, person, type Row, rows, titles } from "./rest.ts";

type Rest = Awaited<ReturnType<typeof person>>["rest"];

interface Answer {
  data: unknown;
  error: { code: string; message: string } | null;
  status: number;
  count: number | null;
}

const TITLES = ["apple", "Apple", "Äpfel", "a,b", 'c"d', "50%"];

function chats(rest: Rest) {
  return rest.from("ai_chat_sessions");
}

/** Chats by their titles, in the order of the titles. */
function some(rest: Rest) {
  return chats(rest).select("title").order("title");
}

/** Returns the titles that match a filter. */
const served: Record<string, [(rest: Rest) => PromiseLike<Answer>, string[]]> = {
  eq: [(rest) => some(rest).eq("title", "a,b"), ["a,b"]],
  neq: [(rest) => some(rest).neq("title", "apple"), ["50%", "Apple", "a,b", 'c"d', "Äpfel"]],
  gt: [(rest) => some(rest).gt("title", "apple"), ['c"d', "Äpfel"]],
  gte: [(rest) => some(rest).gte("title", "apple"), ["apple", 'c"d', "Äpfel"]],
  lt: [(rest) => some(rest).lt("title", "a"), ["50%", "Apple"]],
  lte: [(rest) => some(rest).lte("title", "Apple"), ["50%", "Apple"]],
  like: [(rest) => some(rest).like("title", "a%"), ["a,b", "apple"]],
  ilike: [(rest) => some(rest).ilike("title", "ä%"), ["Äpfel"]],
  is: [(rest) => some(rest).is("title", null), []],
  isDistinct: [(rest) => some(rest).isDistinct("title", "50%").lt("title", "b"), ["Apple", "a,b", "apple"]],
  in: [(rest) => some(rest).in("title", ["a,b", 'c"d', "none"]), ["a,b", 'c"d']],
  "in (nothing)": [(rest) => some(rest).in("title", []), []],
  notIn: [(rest) => some(rest).notIn("title", ["a,b", "apple", "Apple"]), ["50%", 'c"d', "Äpfel"]],
  match: [(rest) => some(rest).match({ title: "apple" }), ["apple"]],
  not: [
    (rest) => some(rest).not("title", "in", '("a,b",apple)').not("title", "is", null).lt("title", "b"),
    ["50%", "Apple"],
  ],
  or: [(rest) => some(rest).or('title.eq."a,b",and(title.gt.b,title.like.*d)'), ["a,b", 'c"d']],
  filter: [(rest) => some(rest).filter("title", "in", '("50%")'), ["50%"]],
  order: [
    (rest) =>
      chats(rest)
        .select("title")
        .order("updated_at")
        .order("title", { ascending: false, nullsFirst: false })
        .limit(2),
    ["Äpfel", 'c"d'],
  ],
  limit: [(rest) => some(rest).limit(2), ["50%", "Apple"]],
  range: [(rest) => some(rest).range(1, 2), ["Apple", "a,b"]],
  overrideTypes: [(rest) => some(rest).eq("title", "apple").overrideTypes<{ title: string }[]>(), ["apple"]],
  returns: [(rest) => some(rest).eq("title", "apple").returns<{ title: string }[]>(), ["apple"]],
  abortSignal: [
    (rest) => some(rest).eq("title", "apple").abortSignal(AbortSignal.timeout(60_000)),
    ["apple"],
  ],
  retry: [(rest) => some(rest).eq("title", "apple").retry(false), ["apple"]],
  setHeader: [(rest) => some(rest).eq("title", "apple").setHeader("X-Anything", "1"), ["apple"]],
  "schema (public)": [
    (rest) => rest.schema("public").from("ai_chat_sessions").select("title").eq("title", "apple"),
    ["apple"],
  ],
};

const refused: Record<string, [(rest: Rest) => PromiseLike<Answer>, number, string]> = {
  likeAllOf: [(rest) => some(rest).likeAllOf("title", ["a%", "%e"]), 400, "PGRST127"],
  likeAnyOf: [(rest) => some(rest).likeAnyOf("title", ["a%", "%e"]), 400, "PGRST127"],
  ilikeAllOf: [(rest) => some(rest).ilikeAllOf("title", ["a%", "%e"]), 400, "PGRST127"],
  ilikeAnyOf: [(rest) => some(rest).ilikeAnyOf("title", ["a%", "%e"]), 400, "PGRST127"],
  regexMatch: [(rest) => some(rest).regexMatch("title", "^a"), 400, "PGRST127"],
  regexIMatch: [(rest) => some(rest).regexIMatch("title", "^a"), 400, "PGRST127"],
  contains: [(rest) => some(rest).contains("title", ["a"]), 400, "PGRST127"],
  containedBy: [(rest) => some(rest).containedBy("title", ["a"]), 400, "PGRST127"],
  overlaps: [(rest) => some(rest).overlaps("title", ["a"]), 400, "PGRST127"],
  rangeGt: [(rest) => some(rest).rangeGt("title", "[1,2)"), 400, "PGRST127"],
  rangeGte: [(rest) => some(rest).rangeGte("title", "[1,2)"), 400, "PGRST127"],
  rangeLt: [(rest) => some(rest).rangeLt("title", "[1,2)"), 400, "PGRST127"],
  rangeLte: [(rest) => some(rest).rangeLte("title", "[1,2)"), 400, "PGRST127"],
  rangeAdjacent: [(rest) => some(rest).rangeAdjacent("title", "[1,2)"), 400, "PGRST127"],
  textSearch: [(rest) => some(rest).textSearch("title", "a"), 400, "PGRST127"],
  "textSearch (websearch)": [
    (rest) => some(rest).textSearch("title", "a", { type: "websearch", config: "english" }),
    400,
    "PGRST127",
  ],
  "is (boolean)": [(rest) => some(rest).is("title", true), 400, "42804"],
  "or (referencedTable)": [
    (rest) => some(rest).or("id.is.null", { referencedTable: "ai_chat_messages" }),
    400,
    "PGRST108",
  ],
  "order (referencedTable)": [
    (rest) => some(rest).order("id", { referencedTable: "ai_chat_messages" }),
    400,
    "PGRST108",
  ],
  "limit (referencedTable)": [
    (rest) => some(rest).limit(1, { referencedTable: "ai_chat_messages" }),
    400,
    "PGRST108",
  ],
  "select (embedding)": [(rest) => chats(rest).select("*, ai_chat_messages(*)"), 400, "PGRST200"],
  "select (cast)": [(rest) => chats(rest).select("id::text"), 400, "PGRST127"],
  "select (JSON)": [(rest) => rest.from("mcp_servers").select("tools->0->>name"), 400, "PGRST127"],
  "select (aggregate)": [(rest) => chats(rest).select("id.count()"), 400, "PGRST123"],
  "select (unknown column)": [(rest) => chats(rest).select("nothing"), 400, "42703"],
  csv: [(rest) => some(rest).csv(), 406, "PGRST107"],
  geojson: [(rest) => some(rest).geojson(), 406, "PGRST107"],
  explain: [(rest) => some(rest).explain(), 406, "PGRST107"],
  "explain (JSON)": [(rest) => some(rest).explain({ analyze: true, format: "json" }), 406, "PGRST107"],
  stripNulls: [(rest) => some(rest).stripNulls(), 406, "PGRST107"],
  rollback: [(rest) => chats(rest).insert({ title: "never" }).rollback(), 400, "PGRST127"],
  "schema (another)": [(rest) => rest.schema("private").from("ai_chat_sessions").select(), 406, "PGRST106"],
  rpc: [(rest) => rest.rpc("f", { a: 1 }), 404, "PGRST202"],
  "from (unknown table)": [(rest) => rest.from("things").select(), 404, "PGRST205"],
  "single (of many)": [(rest) => chats(rest).select().single(), 406, "PGRST116"],
  "single (of none)": [(rest) => chats(rest).select().eq("title", "none").single(), 406, "PGRST116"],
  "maybeSingle (of many)": [(rest) => chats(rest).select().maybeSingle(), 406, "PGRST116"],
  "range (behind the end)": [
    (rest) => chats(rest).select("*", { count: "exact" }).range(99, 100),
    416,
    "PGRST103",
  ],
  "insert (unknown column)": [(rest) => chats(rest).insert({ nothing: 1 }), 400, "PGRST204"],
  "upsert (no such key)": [
    (rest) => chats(rest).upsert({ title: "x" }, { onConflict: "title" }),
    400,
    "42P10",
  ],
  "update (of everything)": [(rest) => chats(rest).update({ title: "x" }), 400, "21000"],
  "delete (of everything)": [(rest) => chats(rest).delete(), 400, "21000"],
  "maxAffected (exceeded)": [
    (rest) =>
      (
        chats(rest).delete().neq("title", "") as unknown as { maxAffected(rows: number): PromiseLike<Answer> }
      ).maxAffected(1),
    400,
    "PGRST124",
  ],
};

for (const database of databases) {
  describe(`the official data client's methods on ${database}`, () => {
    let app: TestApp;
    let rest: Rest;
    before(async () => {
      app = await startApp({ database });
      ({ rest } = await person(app));
      rows(
        await chats(rest)
          .insert(TITLES.map((title) => ({ title })))
          .select(),
      );
    });
    after(async () => {
      await app.stop();
    });

    for (const [name, [ask, want]] of Object.entries(served)) {
      test(`${name} is served`, async () => {
        const answer = await ask(rest);
        assert.equal(answer.status, 200, JSON.stringify(answer.error));
        assert.deepEqual(titles(answer), want);
      });
    }

    for (const [name, [ask, status, code]] of Object.entries(refused)) {
      test(`${name} is refused`, async () => {
        const { error, data, ...answer } = await ask(rest);
        assert.deepEqual([answer.status, error?.code, data], [status, code, null]);
        assert.deepEqual(Object.keys(error ?? {}).sort(), ["code", "details", "hint", "message"]);
        assert.deepEqual(titles(await some(rest)), ["50%", "Apple", "a,b", "apple", 'c"d', "Äpfel"]);
      });
    }

    test("counts come with pages, with heads and with writes", async () => {
      for (const count of ["exact", "planned", "estimated"] as const) {
        const page = await chats(rest).select("title", { count }).limit(2);
        assert.deepEqual([page.status, page.count, rows(page).length], [206, 6, 2]);
        const head = await chats(rest).select("*", { count, head: true }).eq("title", "apple");
        assert.deepEqual([head.status, head.count, head.data], [200, 1, null]);
      }
      const made = await chats(rest).insert([{ title: "x" }, { title: "x" }], { count: "exact" });
      assert.deepEqual([made.status, made.count, made.data], [201, 2, null]);
      const moved = await chats(rest).update({ title: "y" }, { count: "exact" }).eq("title", "x");
      assert.deepEqual([moved.status, moved.count, moved.data], [204, 2, null]);
      const gone = await chats(rest).delete({ count: "exact" }).eq("title", "y").select("title");
      assert.deepEqual([gone.status, gone.count, gone.data], [200, 2, [{ title: "y" }, { title: "y" }]]);
    });

    test("one row comes as an object, or none as null", async () => {
      const one = await chats(rest).select("title").eq("title", "apple").single();
      assert.deepEqual(one.data, { title: "apple" });
      const maybe = await chats(rest).select("title").eq("title", "apple").maybeSingle();
      assert.deepEqual(maybe.data, { title: "apple" });
      const none = await chats(rest).select("title").eq("title", "none").maybeSingle();
      assert.deepEqual([none.status, none.data, none.error], [200, null, null]);
    });

    test("throwOnError throws the server's words", async () => {
      await assert.rejects(async () => await chats(rest).select("nothing").throwOnError(), {
        name: "PostgrestError",
        code: "42703",
        message: "column ai_chat_sessions.nothing does not exist",
        details: null,
        hint: null,
      });
      assert.equal((await chats(rest).select("title").eq("title", "apple").throwOnError()).data.length, 1);
    });

    test("an aborted request is the client's own error", async () => {
      const aborted = await some(rest).abortSignal(AbortSignal.abort());
      assert.deepEqual([aborted.status, aborted.data], [0, null]);
      assert.match(aborted.error?.message ?? "", /AbortError/);
    });

    test("a bearer that is no token of ours is refused, a public key is nobody", async () => {
      const forged = await chats(client(app, "a.b.c")).select();
      assert.deepEqual([forged.status, forged.error?.code], [401, "PGRST301"]);
      const nobody = client(app, "sb_publishable_0123456789");
      assert.deepEqual(rows(await chats(nobody).select("*", { count: "exact" })), []);
      const written = await chats(nobody).insert({ title: "x" });
      assert.deepEqual([written.status, written.error?.code], [401, "42501"]);
      const rowsOfNobody: Row[] = rows(await chats(nobody).select().neq("title", ""));
      assert.deepEqual(rowsOfNobody, []);
    });
  });
}
