import { expect, test, vi } from "vitest";
import { page } from "vitest/browser";
import { type PreviewedChat, PreviewHostContext } from "@/lib/open-preview";
import { renderWithQueries } from "@/testing/render";
import { ContentBlock } from "./content-block";

const chat: PreviewedChat = {
  subscribe: () => () => undefined,
  status: () => status,
  message: () => undefined,
};
const status = { ids: [] };

const renderBlock = (block: Record<string, unknown>) => renderWithQueries(<ContentBlock block={block} />);

test("shows markup of a tool as text", async () => {
  const markup = "<img src=x onerror=alert(1)>";
  await renderBlock({ type: "text", text: markup });
  await expect.element(page.getByText(markup)).toBeVisible();
  expect(page.getByRole("img").elements()).toEqual([]);
});

test.each(["image/svg+xml", "text/html", "image/png\n", "IMAGE/SVG+XML"])(
  "does not draw %j as an image",
  async (mimeType) => {
    const { container } = await renderBlock({ type: "image", data: "PHN2Zy8+", mimeType });
    expect(container.textContent).not.toBe("");
    expect(container.querySelector("img")).toBeNull();
    const resource = { uri: "demo://1", blob: "PHN2Zy8+", mimeType };
    const shown = await renderBlock({ type: "resource", resource });
    expect(shown.container.textContent).not.toBe("");
    expect(shown.container.querySelector("img")).toBeNull();
  },
);

test("draws images and plays audio from the result itself, up to a size", async () => {
  const image = await renderBlock({ type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" });
  expect(image.container.querySelector("img")?.src).toMatch(/^data:image\/png;base64,/u);
  const audio = async (data: string, mimeType: string) =>
    (await renderBlock({ type: "audio", data, mimeType })).container.querySelector("audio");
  expect((await audio("UklGRg==", "audio/wav"))?.controls).toBe(true);
  expect(await audio("UklGRg==", "text/html")).toBeNull();
  expect(await audio("A".repeat(14_000_001), "audio/wav")).toBeNull();
});

test("folds what is for the assistant only", async () => {
  const isFolded = async (audience: string[]) => {
    const block = { type: "text", text: "words", annotations: { audience } };
    return (await renderBlock(block)).container.querySelector("details") !== null;
  };
  expect(await isFolded(["assistant"])).toBe(true);
  expect(await isFolded(["user", "assistant"])).toBe(false);
  expect(await isFolded([])).toBe(false);
  await page.getByText("For the assistant").click();
  await expect.element(page.getByText("words").first()).toBeVisible();
});

test("loads nothing of a resource link by itself", async () => {
  const link = {
    type: "resource_link",
    uri: "https://a.example/x",
    name: "x",
    mimeType: "text/plain",
    size: 2_400,
  };
  const { container } = await renderBlock(link);
  expect(container.textContent).toContain("https://a.example/x");
  expect(container.textContent).toContain("text/plain · 2 kB");
  expect(container.querySelector("[href], [src]")).toBeNull();
  const script = await renderBlock({ ...link, uri: "javascript:alert(1)" });
  expect(script.container.textContent).not.toContain("Open link");
});

test("offers a file under a plain name", async () => {
  const resource = { uri: "file:///../../.bashrc?x=1", blob: "AAAA" };
  const file = await renderBlock({ type: "resource", resource });
  await expect.element(file.getByRole("button", { name: "Save bashrc" })).toBeVisible();
  const broken = await renderBlock({ type: "resource", resource: { uri: "x", blob: "%%%" } });
  await expect.element(broken.getByText(/its data is invalid/u)).toBeVisible();
});

test.each([
  ["a page", { type: "text", text: "<!doctype html><p>x</p>" }, { kind: "html" }],
  ["a table", { type: "text", text: "step,in,out\na,1,2\nb,3,4" }, { kind: "csv" }],
  [
    "an embedded resource",
    {
      type: "resource",
      resource: { uri: "demo://reports/q1.svg", mimeType: "image/svg+xml", text: "<svg/>" },
    },
    { kind: "svg", text: "<svg/>", name: "q1.svg" },
  ],
] as const)("offers a preview of %s", async (_name, block, preview) => {
  const open = vi.fn();
  await renderWithQueries(
    <PreviewHostContext value={{ open, chat }}>
      <ContentBlock block={block} />
    </PreviewHostContext>,
  );
  await page.getByRole("button", { name: "Open preview" }).click();
  await expect.poll(() => open.mock.calls).toHaveLength(1);
  expect(open.mock.calls[0]?.[0]).toMatchObject(preview);
});

test("offers no preview of plain text, nor of a resource of another type", async () => {
  await renderWithQueries(
    <PreviewHostContext value={{ open: vi.fn(), chat }}>
      <ContentBlock block={{ type: "text", text: "plain words" }} />
      <ContentBlock
        block={{
          type: "resource",
          resource: { uri: "demo://1", mimeType: "text/plain", text: "more words" },
        }}
      />
    </PreviewHostContext>,
  );
  await expect.element(page.getByText("more words")).toBeVisible();
  expect(page.getByRole("button", { name: "Open preview" }).elements()).toEqual([]);
});

test("SVG and JSON have a preview", async () => {
  const open = vi.fn();
  const previews = async (block: Record<string, unknown>) => {
    const { unmount } = await renderWithQueries(
      <PreviewHostContext value={{ open, chat }}>
        <ContentBlock block={block} />
      </PreviewHostContext>,
    );
    const buttons = page.getByRole("button", { name: "Open preview" });
    await buttons.first().click();
    await vi.waitFor(() => expect(open).toHaveBeenCalled());
    const count = buttons.elements().length;
    const opened: unknown = open.mock.lastCall?.[0];
    open.mockClear();
    await unmount();
    return { opened, count };
  };
  const svg = '<svg xmlns="http://www.w3.org/2000/svg"><text>ä</text></svg>';
  const data = btoa(String.fromCharCode(...new TextEncoder().encode(svg)));
  expect(await previews({ type: "image", data, mimeType: "image/svg+xml" })).toMatchObject({
    opened: { kind: "svg", text: svg },
    count: 1,
  });
  expect(await previews({ type: "text", text: '{"a":[1,2]}' })).toMatchObject({
    opened: { kind: "json", text: '{\n  "a": [\n    1,\n    2\n  ]\n}' },
    count: 1,
  });
  const resource = { uri: "file:///list.json", mimeType: "application/json", text: '{"a":1}' };
  expect(await previews({ type: "resource", resource })).toMatchObject({
    opened: { kind: "json", name: "list.json" },
    count: 1,
  });
});
