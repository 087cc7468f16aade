import { vi } from "vitest";
import { loadFirstTexts, loadLaterTexts } from "@/lib/texts";

// The session's keys contain the host of the page.
globalThis.location ??= new URL("http://localhost/") as unknown as Location;
// Tests of single modules find the English texts, as the page does.
if (typeof document === "undefined") vi.stubGlobal("document", { documentElement: {} });
await loadFirstTexts("en");
await loadLaterTexts();
vi.unstubAllGlobals();
