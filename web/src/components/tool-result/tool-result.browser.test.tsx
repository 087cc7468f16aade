import { expect, test } from "vitest";
import { page } from "vitest/browser";
import { answerRequests, pathsOf, renderWithQueries } from "@/testing/render";
import { ToolResult } from "./tool-result";

test("shows a result with its duration, and says that it ended well", async () => {
  const result = { content: [{ type: "text", text: "4 °C" }], isError: false };
  await renderWithQueries(<ToolResult result={result} durationMs={1_200} />);
  await expect.element(page.getByRole("status")).toMatchTextContent("Done");
  await expect.element(page.getByText("4 °C")).toBeVisible();
});

test("tells an error of the tool from a call that could not be made", async () => {
  const result = { content: [{ type: "text", text: "no such city" }], isError: true };
  const { unmount } = await renderWithQueries(<ToolResult result={result} durationMs={10} />);
  await expect.element(page.getByRole("status")).toMatchTextContent("Error");
  await unmount();
  await renderWithQueries(<ToolResult failure="The server did not answer." />);
  await expect.element(page.getByRole("status")).toMatchTextContent("Couldn't run");
  await expect.element(page.getByText("The server did not answer.")).toBeVisible();
});

test("cuts a long text until the user asks for all of it", async () => {
  const text = Array.from({ length: 300 }, (_, line) => `line ${line}`).join("\n");
  await renderWithQueries(
    <ToolResult result={{ content: [{ type: "text", text }], isError: false }} durationMs={1} />,
  );
  expect(document.body.textContent).not.toContain("line 299");
  await page.getByRole("button", { name: "Show all 300 lines" }).click();
  expect(document.body.textContent).toContain("line 299");
});

test("folds structured content unless it is all there is", async () => {
  const structuredContent = { degrees: 4 };
  const { unmount } = await renderWithQueries(
    <ToolResult
      result={{ content: [{ type: "text", text: "cold" }], structuredContent, isError: false }}
      durationMs={1}
    />,
  );
  await expect.element(page.getByText("degrees: 4")).not.toBeVisible();
  await page.getByText("Structured result").click();
  await expect.element(page.getByText("degrees: 4")).toBeVisible();
  await unmount();
  await renderWithQueries(
    <ToolResult result={{ content: [], structuredContent, isError: false }} durationMs={1} />,
  );
  await expect.element(page.getByText("degrees: 4")).toBeVisible();
});

test("shows a text that is JSON as a tree, and an empty object as text", async () => {
  const content = ['{"id":9007199254740993}', "{}", "{not JSON}"].map((text) => ({ type: "text", text }));
  await renderWithQueries(<ToolResult result={{ content, isError: false }} durationMs={1} />);
  await expect.element(page.getByRole("treeitem", { name: "id: 9007199254740993" })).toBeVisible();
  expect(page.getByRole("tree").elements()).toHaveLength(1);
  await expect.element(page.getByText("{}", { exact: true })).toBeVisible();
  await expect.element(page.getByText("{not JSON}")).toBeVisible();
});

test("loads the whole of a truncated result on demand", async () => {
  const whole = { content: [{ type: "text", text: "all of it" }] };
  const requests = answerRequests(() => Response.json(whole));
  const file = { url: "/v1/files/7", mediaType: "application/json", size: 50_000 };
  await renderWithQueries(
    <ToolResult
      result={{ content: [{ type: "text", text: "the beginning" }], isError: false, whole: file }}
      durationMs={1}
    />,
  );
  await page.getByRole("button", { name: "Show full result (50 kB)" }).click();
  await expect.element(page.getByText("all of it")).toBeVisible();
  expect(pathsOf(requests)).toEqual(["/v1/files/7"]);
});
