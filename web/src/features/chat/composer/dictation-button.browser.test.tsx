import { useRef, useState } from "react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { page } from "vitest/browser";
import { render } from "vitest-browser-react";
import { connectToasts, type Toast } from "@/ui/toast";
import { DictationButton } from "./dictation-button";

/** Recognizer that a test makes hear. */
class FakeRecognition extends EventTarget {
  static current: FakeRecognition;
  lang = "";
  interimResults = false;
  continuous = false;
  start = vi.fn<() => void>(() => (FakeRecognition.current = this));
  stop = vi.fn<() => void>(() => this.dispatchEvent(new Event("end")));
  abort = vi.fn<() => void>();

  hear(...said: string[]): void {
    const results = said.map((transcript) => [{ transcript }]);
    this.dispatchEvent(Object.assign(new Event("result"), { results }));
  }

  fail(error: string): void {
    this.dispatchEvent(Object.assign(new Event("error"), { error }));
    this.dispatchEvent(new Event("end"));
  }
}

beforeEach(() => {
  vi.stubGlobal("SpeechRecognition", FakeRecognition);
});
afterEach(() => {
  vi.unstubAllGlobals();
});

function Example() {
  const field = useRef<HTMLTextAreaElement>(null);
  const [text, setText] = useState("");
  return (
    <>
      <textarea
        ref={field}
        aria-label="Message"
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <button onClick={() => setText("")}>Send</button>
      <DictationButton field={field} text={text} write={setText} />
    </>
  );
}

const field = page.getByRole("textbox", { name: "Message" });
const button = (name: string) => page.getByRole("button", { name, exact: true });

test("what is said appears at once, in the page's language, and changes until it is final", async () => {
  await render(<Example />);
  await field.fill("Note:");
  await button("Dictate").click();
  await expect.element(page.getByRole("status")).toHaveTextContent("Listening");
  const { current } = FakeRecognition;
  expect(current.lang).toMatch(/^en/u);
  expect(current.interimResults).toBe(true);
  current.hear("by");
  await expect.element(field).toHaveValue("Note: by");
  current.hear("buy milk", "and");
  await expect.element(field).toHaveValue("Note: buy milk and");
  await button("Stop dictation").click();
  await expect.element(button("Dictate")).toBeVisible();
});

test("what is typed meanwhile stays, and what is said next follows it", async () => {
  await render(<Example />);
  await button("Dictate").click();
  FakeRecognition.current.hear("buy milk");
  await expect.element(field).toHaveValue("buy milk");
  await field.fill("Buy oat milk");
  FakeRecognition.current.hear("buy milk", "today");
  await expect.element(field).toHaveValue("Buy oat milk today");
});

test("sending ends the dictation, and nothing said before comes back", async () => {
  await render(<Example />);
  await button("Dictate").click();
  const { current } = FakeRecognition;
  current.hear("hello");
  await expect.element(field).toHaveValue("hello");
  await button("Send").click();
  await expect.element(button("Dictate")).toBeVisible();
  expect(current.abort).toHaveBeenCalledOnce();
  current.hear("hello there");
  await expect.element(field).toHaveValue("");
});

test.each([
  [
    "not-allowed",
    "The browser doesn't allow this site to use the microphone. Change this in the site settings.",
  ],
  ["audio-capture", "No microphone was found."],
  ["something-new", "Dictation doesn't work here. Please type instead."],
])("the error %s is told in words", async (error, description) => {
  const shown: Toast[] = [];
  const disconnect = connectToasts({ show: (toast) => shown.push(toast), clear: () => undefined });
  await render(<Example />);
  await button("Dictate").click();
  FakeRecognition.current.fail(error);
  await expect.element(button("Dictate")).toBeVisible();
  disconnect();
  expect(shown.map((toast) => toast.description)).toEqual([description]);
});

test("a browser without speech recognition has no button", async () => {
  vi.stubGlobal("SpeechRecognition", undefined);
  vi.stubGlobal("webkitSpeechRecognition", undefined);
  await render(<Example />);
  await expect.element(button("Send")).toBeVisible();
  await expect.element(button("Dictate")).not.toBeInTheDocument();
});
