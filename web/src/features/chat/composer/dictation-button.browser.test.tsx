import { useRef, useState } from "react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { page } from "vitest/browser";
import { storeDictationSource } from "@/lib/dictation-source";
import { answerRequests, renderWithQueries } from "@/testing/render";
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
  vi.restoreAllMocks();
  storeDictationSource("browser");
});

/** Transcription requests. */
let recordings: Request[] = [];

/** Renders the button; `transcription` is the model that transcribes, and `answer` its answer. */
async function renderExample(
  transcription: string | null = null,
  answer = Response.json({ text: "buy milk" }),
) {
  recordings = [];
  answerRequests((request) => {
    if (!request.url.includes("/api/transcriptions"))
      return Response.json({ default: null, models: [], favourites: [], transcription });
    recordings.push(request);
    return answer;
  });
  await renderWithQueries(<Example />);
}

/** Gives the page a microphone that plays a tone, and returns whether it is in use. */
function playMicrophone(): () => boolean {
  const context = new AudioContext();
  const { stream } = context.createMediaStreamDestination();
  vi.spyOn(navigator.mediaDevices, "getUserMedia").mockResolvedValue(stream);
  return () => stream.getTracks().some((track) => track.readyState === "live");
}

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
  await renderExample();
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
  await renderExample();
  await button("Dictate").click();
  FakeRecognition.current.hear("buy milk");
  await expect.element(field).toHaveValue("buy milk");
  await field.fill("Buy oat milk");
  FakeRecognition.current.hear("buy milk", "today");
  await expect.element(field).toHaveValue("Buy oat milk today");
});

test("sending ends the dictation, and nothing said before comes back", async () => {
  await renderExample();
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
  await renderExample();
  await button("Dictate").click();
  FakeRecognition.current.fail(error);
  await expect.element(button("Dictate")).toBeVisible();
  disconnect();
  expect(shown.map((toast) => toast.description)).toEqual([description]);
});

test("a browser without speech recognition has no button", async () => {
  vi.stubGlobal("SpeechRecognition", undefined);
  vi.stubGlobal("webkitSpeechRecognition", undefined);
  await renderExample();
  await expect.element(button("Send")).toBeVisible();
  await expect.element(button("Dictate")).not.toBeInTheDocument();
});

test("a browser without speech recognition records, and a model writes what was said", async () => {
  vi.stubGlobal("SpeechRecognition", undefined);
  vi.stubGlobal("webkitSpeechRecognition", undefined);
  const isRecording = playMicrophone();
  await renderExample("openai/whisper-1");
  await field.fill("Note:");
  await button("Dictate").click();
  await expect.element(page.getByRole("status")).toHaveTextContent("Listening");
  await expect.poll(isRecording).toBe(true);
  await button("Stop dictation").click();
  await expect.element(field).toHaveValue("Note: buy milk");
  await expect.element(button("Dictate")).toBeVisible();
  expect(isRecording()).toBe(false);
  const [request] = recordings;
  expect(request?.url).toMatch(/\/api\/transcriptions\?language=en$/u);
  expect(request?.headers.get("content-type")).toMatch(/^audio\/(?:webm|mp4|ogg)/u);
});

test("the user can choose the model where the browser recognizes speech, too", async () => {
  storeDictationSource("model");
  playMicrophone();
  await renderExample("openai/whisper-1");
  await button("Dictate").click();
  await expect.element(page.getByRole("status")).toHaveTextContent("Listening");
  await button("Stop dictation").click();
  await expect.element(field).toHaveValue("buy milk");
});

test("the server's refusal of a recording is told in its words", async () => {
  storeDictationSource("model");
  playMicrophone();
  const shown: Toast[] = [];
  const disconnect = connectToasts({ show: (toast) => shown.push(toast), clear: () => undefined });
  const error = { code: "transcription_failed", message: "The model provider is busy." };
  await renderExample("openai/whisper-1", Response.json({ error }, { status: 502 }));
  await button("Dictate").click();
  await button("Stop dictation").click();
  await expect.poll(() => shown.map((toast) => toast.description)).toEqual(["The model provider is busy."]);
  disconnect();
  await expect.element(button("Dictate")).toBeVisible();
});

test("a refused microphone is told, and records nothing", async () => {
  storeDictationSource("model");
  const refusal = new DOMException("denied", "NotAllowedError");
  vi.spyOn(navigator.mediaDevices, "getUserMedia").mockRejectedValue(refusal);
  const shown: Toast[] = [];
  const disconnect = connectToasts({ show: (toast) => shown.push(toast), clear: () => undefined });
  await renderExample("openai/whisper-1");
  await button("Dictate").click();
  await expect.poll(() => shown.length).toBe(1);
  disconnect();
  await expect.element(button("Dictate")).toBeVisible();
  expect(recordings).toEqual([]);
});
