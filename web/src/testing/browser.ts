import { afterEach, vi } from "vitest";
import "@/styles/index.css";

afterEach(() => {
  vi.restoreAllMocks();
});
