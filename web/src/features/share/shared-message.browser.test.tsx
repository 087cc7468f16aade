import { expect, test, vi } from "vitest";
import { page } from "vitest/browser";
import { FileUrlContext } from "@/components/files/file-ref";
import { answerRequests, pathsOf, renderWithQueries } from "@/testing/render";
import type { SharedMessage, SharedPart } from "./queries";
import { SharedMessageView } from "./shared-message";

const answerFiles = () => answerRequests(() => new Response(new Blob(["bytes"])));

const placeUrl = (url: string) => url.replace("/v1/files/", "/api/shared/token/files/");

function renderMessage(role: SharedMessage["role"], parts: readonly SharedPart[]) {
  const message = { role, createdAt: "2026-11-22T10:00:00Z", parts };
  return renderWithQueries(
    <FileUrlContext value={placeUrl}>
      <SharedMessageView message={message} />
    </FileUrlContext>,
  );
}

test("files of a message are read through the link", async () => {
  const requests = answerFiles();
  const picture = { type: "file", id: "7", mediaType: "image/png", filename: "cat.png", size: 9 } as const;
  await renderMessage("user", [picture, { type: "text", text: "Look" }]);
  await expect.element(page.getByText("Look")).toBeVisible();
  await vi.waitFor(() => expect(pathsOf(requests)).toEqual(["/api/shared/token/files/7"]));
});

test("files that are not shared are only said to have been there", async () => {
  const requests = answerFiles();
  const parts = [
    { type: "hidden-file", mediaType: "image/png" },
    { type: "text", text: "Look" },
  ] as const;
  const { container } = await renderMessage("user", parts);
  await expect.element(page.getByText("This file isn't shared")).toBeVisible();
  expect(container.querySelector("img")).toBeNull();
  expect(pathsOf(requests)).toEqual([]);
});

test("audio and images of a tool are read through the link", async () => {
  const requests = answerFiles();
  const file = (id: string, mediaType: string) => ({ url: `/v1/files/${id}`, mediaType, size: 50_000 });
  const call = {
    name: "listen",
    serverName: "ears",
    arguments: {},
    outcome: "done",
    result: {
      content: [
        { type: "audio", mimeType: "audio/wav", file: file("8", "audio/wav") },
        { type: "image", mimeType: "image/png", file: file("9", "image/png") },
      ],
    },
  } as const;
  await renderMessage("assistant", [{ type: "whole-tool-call", call }]);
  await vi.waitFor(() =>
    expect(pathsOf(requests).toSorted()).toEqual(["/api/shared/token/files/8", "/api/shared/token/files/9"]),
  );
});

test("a tool call without its result plays nothing", async () => {
  const part = { type: "tool-call", name: "listen", outcome: "done" } as const;
  const { container } = await renderMessage("assistant", [part]);
  await expect.element(page.getByText(/listen/u).first()).toBeVisible();
  expect(container.querySelector("audio")).toBeNull();
});

test("headings of an answer follow those of the page without a gap", async () => {
  const text = "# First\n\n### Second\n\n##### Third";
  await renderMessage("assistant", [{ type: "text", text }]);
  for (const [level, name] of [
    [3, "First"],
    [4, "Second"],
    [5, "Third"],
  ] as const)
    await expect.element(page.getByRole("heading", { level, name })).toBeVisible();
});
