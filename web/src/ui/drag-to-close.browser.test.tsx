import { useState } from "react";
import { beforeEach, expect, test } from "vitest";
import { page } from "vitest/browser";
import { render } from "vitest-browser-react";
import { Sheet } from "./sheet";

function Opened() {
  const [isOpen, setOpen] = useState(true);
  return isOpen ? (
    <Sheet title="Settings" onClose={() => setOpen(false)}>
      words
    </Sheet>
  ) : null;
}

const sheet = page.getByRole("dialog", { name: "Settings" });

/** Drags the sheet's header down by a distance, within a time. */
function drag(distance: number, milliseconds: number, end = "pointerup"): void {
  const header = document.querySelector("dialog header");
  const steps: [type: string, y: number, time: number][] = [
    ["pointerdown", 0, 1],
    ["pointermove", distance, milliseconds],
    [end, distance, milliseconds + 1],
  ];
  for (const [type, y, time] of steps) {
    const event = new PointerEvent(type, {
      bubbles: true,
      isPrimary: true,
      pointerId: 1,
      pointerType: "touch",
      clientY: 300 + y,
    });
    Object.defineProperty(event, "timeStamp", { value: time });
    header?.dispatchEvent(event);
  }
}

beforeEach(async () => {
  // Events of a script have no pointer that could be captured.
  HTMLElement.prototype.setPointerCapture = () => undefined;
  await page.viewport(360, 640);
});

test("a phone's sheet closes when its header is dragged far or fast enough", async () => {
  for (const [distance, milliseconds] of [
    [120, 900],
    [40, 40],
  ] as const) {
    const opened = await render(<Opened />);
    await expect.element(sheet).toBeVisible();
    drag(distance, milliseconds);
    await expect.element(sheet).not.toBeInTheDocument();
    await opened.unmount();
  }
});

test("a phone's sheet returns when the drag is short, or is cancelled", async () => {
  await render(<Opened />);
  await expect.element(sheet).toBeVisible();
  drag(40, 900);
  drag(300, 900, "pointercancel");
  await expect.element(sheet).toBeVisible();
  expect(document.querySelector("dialog")?.style.translate).toBe("");
});

test("a sheet at the side stays where it is", async () => {
  await page.viewport(1280, 800);
  await render(<Opened />);
  await expect.element(sheet).toBeVisible();
  drag(300, 100);
  await expect.element(sheet).toBeVisible();
});
