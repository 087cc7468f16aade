import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";

/** Every kind of field that a server may ask for. */
export const requestedSchema = {
  type: "object",
  required: ["day", "name"],
  properties: {
    name: { type: "string", title: "Name\u202E", minLength: 2, maxLength: 20 },
    day: { type: "string", format: "date", title: "Day" },
    mail: { type: "string", format: "email", title: "Mail" },
    site: { type: "string", format: "uri", title: "Site" },
    at: { type: "string", format: "date-time", title: "Moment" },
    people: { type: "integer", title: "People", minimum: 1, maximum: 8, default: 2 },
    budget: { type: "number", title: "Budget", minimum: 0.5 },
    window: { type: "boolean", title: "By the window", default: true },
    meal: { type: "string", title: "Meal", enum: ["lunch", "dinner"], enumNames: ["Lunch", "Dinner"] },
    place: {
      type: "string",
      title: "Place",
      oneOf: [
        { const: "in", title: "Inside" },
        { const: "out", title: "On the terrace" },
      ],
      default: "out",
    },
    drinks: { type: "array", title: "Drinks", items: { type: "string", enum: ["tea", "wine"] } },
    wishes: {
      type: "array",
      title: "Wishes",
      maxItems: 1,
      items: {
        anyOf: [
          { const: "quiet", title: "A quiet table" },
          { const: "high", title: "A high chair" },
        ],
      },
      default: ["quiet"],
    },
  },
};

/** Request state that the client must return unchanged. */
export const state = '{ "b":1,"a":"\\u00e4" }';

/** The answer of a server that asks first. */
export function ask(params: object) {
  const question = { method: "elicitation/create", params };
  return {
    result: { resultType: "input_required", requestState: state, inputRequests: { table: question } },
  };
}

/** The answer of a server that is done. */
export function done(text: string) {
  return { result: { resultType: "complete", content: [{ type: "text", text }] } };
}

/** A page that counts who looked at it. */
export async function startPage(t: TestContext): Promise<{ url: string; visits: string[] }> {
  const visits: string[] = [];
  const server = createServer((request, response) => {
    // The browser asks for an icon by itself, from the page that it has opened.
    if (request.url !== "/favicon.ico") visits.push(request.headers.referer ?? "");
    response.writeHead(200, { "content-type": "text/html" }).end("<title>Pay</title><h1>Pay here</h1>");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/pay?order=7`, visits };
}
