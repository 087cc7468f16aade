import { type ReactNode, useState } from "react";
import { expect, test } from "vitest";
import { page, userEvent } from "vitest/browser";
import { render } from "vitest-browser-react";
import { Sheet } from "./sheet";

function Opener({ children }: { children: ReactNode }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        Open
      </button>
      {isOpen && (
        <Sheet title="Settings" onClose={() => setOpen(false)}>
          {children}
        </Sheet>
      )}
    </>
  );
}

const sheet = page.getByRole("dialog", { name: "Settings" });
const opener = page.getByRole("button", { name: "Open" });

test("closes by Escape, by its button and by its backdrop, and returns the focus", async () => {
  await render(<Opener>words</Opener>);
  const ways = [
    () => userEvent.keyboard("{Escape}"),
    () => page.getByRole("button", { name: "Close" }).click(),
    () => sheet.click({ position: { x: -50, y: 100 }, force: true }),
  ];
  for (const close of ways) {
    await opener.click();
    await expect.element(sheet).toBeVisible();
    await close();
    await expect.element(sheet).not.toBeInTheDocument();
    await expect.element(opener).toHaveFocus();
  }
});

test("focuses the first field of a form, and no field below other controls", async () => {
  const form = await render(
    <Opener>
      <input aria-label="Name" />
    </Opener>,
  );
  await opener.click();
  await expect.element(page.getByRole("textbox", { name: "Name" })).toHaveFocus();
  await form.unmount();

  await render(
    <Opener>
      <button type="button">First</button>
      <input aria-label="Name" />
    </Opener>,
  );
  await opener.click();
  await expect.element(sheet).toBeVisible();
  expect(document.activeElement?.getAttribute("aria-label")).not.toBe("Name");
});

test("focuses a field that is loaded later, unless the user has moved on", async () => {
  const late = Promise.withResolvers<void>();
  function Late() {
    const [isLoaded, setLoaded] = useState(false);
    void late.promise.then(() => setLoaded(true));
    return isLoaded ? <input aria-label="Name" /> : <p>loading</p>;
  }
  await render(
    <Opener>
      <Late />
    </Opener>,
  );
  await opener.click();
  await expect.element(page.getByText("loading")).toBeVisible();
  late.resolve();
  await expect.element(page.getByRole("textbox", { name: "Name" })).toHaveFocus();
});
