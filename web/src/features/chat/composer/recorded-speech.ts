import { callApi } from "@/lib/api-client";
import type { SpeechRecognizer } from "@/lib/speech-recognition";

/** Formats that browsers record and models accept, the preferred one first. */
const FORMATS = ["audio/webm;codecs=opus", "audio/mp4", "audio/ogg;codecs=opus"];
/** Enough for speech. */
const BITS_PER_SECOND = 32_000;
/** Longest recording; what was said until then is transcribed. */
const MAX_RECORDING_MS = 600_000;

/** Speech recognition by a model: records until it is stopped, and then has the server transcribe the recording. */
export class RecordedSpeech extends EventTarget implements SpeechRecognizer {
  continuous = true;
  interimResults = false;
  lang = "";
  readonly #ended = new AbortController();
  #recorder: MediaRecorder | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  start(): void {
    void this.#record();
  }

  stop(): void {
    clearTimeout(this.#timer);
    if (this.#recorder) this.#recorder.stop();
    // The browser still asks for the microphone.
    else this.#end();
  }

  abort(): void {
    this.#ended.abort();
    this.stop();
  }

  async #record(): Promise<void> {
    try {
      const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
      const release = () => stream.getTracks().forEach((track) => track.stop());
      if (this.#ended.signal.aborted) {
        release();
        return;
      }
      const mimeType = FORMATS.find((format) => MediaRecorder.isTypeSupported(format));
      const recorder = new MediaRecorder(stream, {
        ...(mimeType !== undefined && { mimeType }),
        audioBitsPerSecond: BITS_PER_SECOND,
      });
      const pieces: Blob[] = [];
      recorder.addEventListener("dataavailable", ({ data }) => pieces.push(data));
      recorder.addEventListener("stop", () => {
        release();
        this.dispatchEvent(new Event("audioend"));
        void this.#transcribe(new Blob(pieces, { type: recorder.mimeType }));
      });
      recorder.start();
      this.#recorder = recorder;
      this.#timer = setTimeout(() => this.stop(), MAX_RECORDING_MS);
    } catch (cause) {
      const isMissing = cause instanceof DOMException && cause.name === "NotFoundError";
      this.#fail(isMissing ? "audio-capture" : "not-allowed");
    }
  }

  async #transcribe(recording: Blob): Promise<void> {
    const { signal } = this.#ended;
    if (signal.aborted) return;
    if (recording.size === 0) {
      this.#fail("no-speech");
      return;
    }
    try {
      const [language] = this.lang.split("-");
      const { text } = await callApi<{ text: string }>(`/api/transcriptions?language=${language}`, {
        method: "POST",
        headers: { "content-type": recording.type },
        body: recording,
        signal,
      });
      if (text === "") this.#fail("no-speech");
      else {
        const results = [Object.assign([{ transcript: text }], { isFinal: true })];
        this.dispatchEvent(Object.assign(new Event("result"), { results }));
        this.#end();
      }
    } catch (cause) {
      if (!signal.aborted) this.#fail("transcription", cause instanceof Error ? cause.message : "");
    }
  }

  #fail(error: string, message = ""): void {
    this.dispatchEvent(Object.assign(new Event("error"), { error, message }));
    this.#end();
  }

  #end(): void {
    this.#ended.abort();
    this.dispatchEvent(new Event("end"));
  }
}
