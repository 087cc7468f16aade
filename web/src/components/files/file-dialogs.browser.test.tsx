import { expect, test, vi } from "vitest";
import { page, userEvent } from "vitest/browser";
import { answerRequests, renderWithQueries } from "@/testing/render";
import { FileView } from "./file-view";
import { TextSheet } from "./text-sheet";

/** A picture of one pixel. */
const pixel = Uint8Array.from(
  atob("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="),
  (letter) => letter.charCodeAt(0),
);

test("a picture is enlarged, and Escape leads back to it", async () => {
  answerRequests(() => new Response(pixel, { headers: { "content-type": "image/png" } }));
  await renderWithQueries(
    <FileView file={{ url: "/v1/files/11", mediaType: "image/png", filename: "cat.png", size: 70 }} />,
  );
  const picture = page.getByRole("button", { name: "Enlarge cat.png" });
  await expect.element(picture).toBeEnabled();
  await picture.click();
  const dialog = page.getByRole("dialog", { name: "cat.png" });
  await expect.element(dialog.getByRole("img", { name: "cat.png" })).toBeVisible();
  await userEvent.keyboard("{Escape}");
  await expect.element(dialog).not.toBeInTheDocument();
  await expect.element(picture).toHaveFocus();
  await picture.click();
  await dialog.getByRole("button", { name: "Close" }).click();
  await expect.element(dialog).not.toBeInTheDocument();
});

test("a text is read in a sheet, with hidden characters made visible", async () => {
  answerRequests(() => new Response("first\u202eline"));
  await renderWithQueries(
    <FileView file={{ url: "/v1/files/12", mediaType: "text/plain", filename: "notes.txt", size: 10 }} />,
  );
  await page.getByRole("button", { name: /^Read notes\.txt/u }).click();
  await expect.element(page.getByRole("dialog").getByText("first⟨U+202E⟩line")).toBeVisible();
});

test("a text of the composer can be inserted as it is", async () => {
  answerRequests(() => new Response("first\u202eline"));
  const onInsert = vi.fn<(text: string) => void>();
  await renderWithQueries(
    <TextSheet
      file={{ url: "/v1/files/13", mediaType: "text/plain", filename: "notes.txt", size: 10 }}
      onInsert={onInsert}
      onClose={() => undefined}
    />,
  );
  await page.getByRole("button", { name: "Insert into message" }).click();
  expect(onInsert).toHaveBeenCalledWith("first\u202eline");
});

test("a file that cannot be read says so", async () => {
  answerRequests(() => Response.json({ error: { code: "not_found", message: "gone" } }, { status: 404 }));
  const file = { url: "/v1/files/14", mediaType: "text/plain", filename: "notes.txt", size: 10 };
  await renderWithQueries(<TextSheet file={file} onClose={() => undefined} />);
  await expect.element(page.getByText("This file is no longer stored.")).toBeVisible();
});
