import { expect, test, vi } from "vitest";
import { page } from "vitest/browser";
import { render } from "vitest-browser-react";
import { ReadAloudButton } from "./read-aloud-button";

const button = (name: string) => page.getByRole("button", { name, exact: true });

test("an answer is read without its code, and Stop ends it", async () => {
  const spoken: SpeechSynthesisUtterance[] = [];
  vi.spyOn(speechSynthesis, "speak").mockImplementation((utterance) => void spoken.push(utterance));
  const cancel = vi.spyOn(speechSynthesis, "cancel").mockImplementation(() => undefined);
  await render(<ReadAloudButton id="one" text={"Run **this**:\n\n```\nrm -r x\n```\n\nDone."} />);
  await button("Read aloud").click();
  expect(spoken.map(({ text }) => text)).toEqual(["Run this:", "Done."]);
  expect(spoken[0]?.lang).toMatch(/^en/u);
  await button("Stop reading").click();
  expect(cancel).toHaveBeenCalledOnce();
  await expect.element(button("Read aloud")).toBeVisible();
});

test("another answer takes the voice over, and the end of the last passage gives it back", async () => {
  const spoken: SpeechSynthesisUtterance[] = [];
  vi.spyOn(speechSynthesis, "speak").mockImplementation((utterance) => void spoken.push(utterance));
  vi.spyOn(speechSynthesis, "cancel").mockImplementation(() => undefined);
  await render(
    <>
      <ReadAloudButton id="one" text="First." />
      <ReadAloudButton id="two" text="Second." />
    </>,
  );
  await button("Read aloud").first().click();
  await button("Read aloud").click();
  await expect.element(button("Stop reading")).toBeVisible();
  spoken[0]?.dispatchEvent(new Event("end"));
  await expect.element(button("Stop reading")).toBeVisible();
  spoken[1]?.dispatchEvent(new Event("end"));
  await expect.element(button("Stop reading")).not.toBeInTheDocument();
});
