import { vi } from "vitest";
import { loadFirstTexts, loadLaterTexts } from "@/lib/texts";

// Tests of single modules find the English texts, as the page does.
if (typeof document === "undefined") vi.stubGlobal("document", { documentElement: {} });
await loadFirstTexts("en");
await loadLaterTexts();
vi.unstubAllGlobals();
