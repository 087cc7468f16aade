import { useState } from "react";
import { expect, test } from "vitest";
import { page, userEvent } from "vitest/browser";
import { render } from "vitest-browser-react";
import { focusNow, useFocusHandover } from "./focus";

function Question({ onAnswer }: { onAnswer: () => void }) {
  const panel = useFocusHandover<HTMLDivElement>();
  return (
    <div ref={panel}>
      <button type="button" onClick={onAnswer}>
        Allow
      </button>
    </div>
  );
}

function Card() {
  const [asks, setAsks] = useState(true);
  return (
    <div>
      <button type="button">Card</button>
      {asks && <Question onAnswer={() => setAsks(false)} />}
      <button type="button" onMouseDown={(event) => event.preventDefault()} onClick={() => setAsks(false)}>
        Elsewhere
      </button>
    </div>
  );
}

const card = page.getByRole("button", { name: "Card" });
const allow = page.getByRole("button", { name: "Allow" });
const composer = (
  <div data-composer="">
    <textarea aria-label="Message" />
  </div>
);

test("the focus in a question goes to its card with the answer", async () => {
  await render(<Card />);
  await allow.click();
  await expect.element(card).toHaveFocus();
});

test("the focus goes to the message field after a click, and to the card after a key", async () => {
  const screen = await render(
    <div role="tabpanel">
      {composer}
      <Card key="click" />
    </div>,
  );
  await allow.click();
  await expect.element(page.getByRole("textbox", { name: "Message" })).toHaveFocus();
  await screen.rerender(
    <div role="tabpanel">
      {composer}
      <Card key="key" />
    </div>,
  );
  await userEvent.tab();
  await userEvent.tab();
  await expect.element(allow).toHaveFocus();
  await userEvent.keyboard("{Enter}");
  await expect.element(card).toHaveFocus();
});

const dialog = (
  <div role="tabpanel">
    {composer}
    <dialog open>
      <Card />
    </dialog>
  </div>
);
const otherTab = (
  <>
    <div role="tabpanel">{composer}</div>
    <div role="tabpanel">
      <Card />
    </div>
  </>
);

test.each([
  ["dialog", dialog],
  ["tab", otherTab],
])("the focus stays in the %s that a question is in", async (_, scene) => {
  await render(scene);
  await allow.click();
  await expect.element(card).toHaveFocus();
});

test("the focus elsewhere stays when a question disappears", async () => {
  await render(
    <>
      <input aria-label="Message" ref={focusNow} />
      <Card />
    </>,
  );
  const field = page.getByRole("textbox", { name: "Message" });
  await expect.element(field).toHaveFocus();
  await page.getByRole("button", { name: "Elsewhere" }).click();
  await expect.element(allow).not.toBeInTheDocument();
  await expect.element(field).toHaveFocus();
});
