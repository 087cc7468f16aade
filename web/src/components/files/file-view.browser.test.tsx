import { expect, test } from "vitest";
import { page } from "vitest/browser";
import { renderWithQueries } from "@/testing/render";
import { FileView } from "./file-view";

const file = { url: "/v1/files/0198", mediaType: "image/png", filename: "cat.png", size: 2_400 };

test("a file of another origin is said to be gone, and not read", async () => {
  const { container } = await renderWithQueries(
    <FileView file={{ ...file, url: "data:image/png;base64,AA==" }} />,
  );
  await expect.element(page.getByText("This file is no longer stored.")).toBeVisible();
  expect(container.querySelector("img")).toBeNull();
});

test("a document has its name and size, and nothing of it is drawn", async () => {
  const { container } = await renderWithQueries(
    <FileView file={{ ...file, mediaType: "image/svg+xml", filename: "\u202egnp.exe" }} />,
  );
  await expect.element(page.getByText(/2 kB/u)).toBeVisible();
  expect(container.querySelector("img")).toBeNull();
  expect(container.textContent).not.toContain("\u202e");
});
