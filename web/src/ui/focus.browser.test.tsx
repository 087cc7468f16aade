import { useState } from "react";
import { expect, test } from "vitest";
import { page } from "vitest/browser";
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

test("the focus in a question goes to its card with the answer", async () => {
  await render(<Card />);
  await page.getByRole("button", { name: "Allow" }).click();
  await expect.element(page.getByRole("button", { name: "Card" })).toHaveFocus();
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
  await expect.element(page.getByRole("button", { name: "Allow" })).not.toBeInTheDocument();
  await expect.element(field).toHaveFocus();
});
