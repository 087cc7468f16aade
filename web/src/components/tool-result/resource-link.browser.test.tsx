import { expect, test } from "vitest";
import { page } from "vitest/browser";
import { answerRequests, pathsOf, renderWithQueries } from "@/testing/render";
import { ResourceLink } from "./resource-link";
import { ResultServer } from "./tool-output";

const link = { type: "resource_link", uri: "https://xn--bcher-kva.example/a", name: "a" };

const renderLink = () =>
  renderWithQueries(
    <ResultServer value="library">
      <ResourceLink link={link} />
    </ResultServer>,
  );

test("a resource is read through its server on request", async () => {
  const requests = answerRequests((request) =>
    request.method === "GET"
      ? Response.json({ connections: [{ id: "k1", name: "library" }] })
      : Response.json({ contents: [{ uri: link.uri, text: "chapter one" }] }),
  );
  await renderLink();
  expect(requests).toEqual([]);
  await page.getByRole("button", { name: "Read from library" }).click();
  await expect.element(page.getByText("chapter one")).toBeVisible();
  expect(pathsOf(requests)).toEqual(["/api/connections", "/api/connections/k1/resources/read"]);
});

test("a resource that cannot be read says why, and can be tried again", async () => {
  answerRequests((request) =>
    request.method === "GET"
      ? Response.json({ connections: [{ id: "k1", name: "library" }] })
      : Response.json({ error: { code: "mcp", message: "no such book" } }, { status: 502 }),
  );
  await renderLink();
  await page.getByRole("button", { name: "Read from library" }).click();
  await expect.element(page.getByRole("alert")).toMatchTextContent("no such book");
  await expect.element(page.getByRole("button", { name: "Read from library" })).toBeEnabled();
});

test("a link to another site shows its host, and what may imitate letters, before it can be followed", async () => {
  await renderLink();
  expect(page.getByRole("link").elements()).toEqual([]);
  await page.getByRole("button", { name: "Open link…" }).click();
  await expect.element(page.getByText("xn--bcher-kva.example", { exact: true })).toBeVisible();
  await expect.element(page.getByText(/can imitate other letters/u)).toBeVisible();
  await expect
    .element(page.getByRole("link", { name: "Open in a new tab" }))
    .toHaveAttribute("rel", "noopener noreferrer");
  await page.getByRole("button", { name: "Cancel" }).click();
  expect(page.getByRole("link").elements()).toEqual([]);
});
