import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { errorOf, parseErrorBody } from "./api-error";
import { errorText } from "./error-text";

test("reads the error shapes of every part of the API", () => {
  expect(parseErrorBody('{"error":{"code":"tool_failed","message":"It failed."}}')).toEqual({
    code: "tool_failed",
    message: "It failed.",
  });
  expect(parseErrorBody('{"error":"A turn is running.","code":"turn_active"}')).toEqual({
    code: "turn_active",
    message: "A turn is running.",
  });
  expect(parseErrorBody('{"success":false,"data":[],"error":"refused"}').message).toBe("refused");
  expect(parseErrorBody('{"code":"23505","details":null,"hint":null,"message":"duplicate"}')).toEqual({
    code: "23505",
    message: "duplicate",
  });
  expect(parseErrorBody("<html>").message).toBeUndefined();
});

test("says the status when the body says nothing, and how long to wait", async () => {
  const error = await errorOf(new Response("", { status: 429, headers: { "retry-after": "7" } }));
  expect(error).toMatchObject({
    message: "The server returned an error (429).",
    status: 429,
    code: "",
    retryAfterSeconds: 7,
  });
});

test("a known code has a text of the page, any other the server's sentence", async () => {
  const body = (code: string) => JSON.stringify({ error: { code, message: "a fragment of the server" } });
  expect(await errorOf(new Response(body("overloaded"), { status: 503 }))).toMatchObject({
    message: "The server is busy. Try again in a moment.",
    isServerText: false,
  });
  const other = await errorOf(new Response(body("storage_full"), { status: 413 }));
  expect(other).toMatchObject({ message: "a fragment of the server", isServerText: true });
  expect(renderToStaticMarkup(errorText(other))).toBe("The server said: <q>a fragment of the server</q>");
});
