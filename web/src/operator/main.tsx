import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { initialLanguage } from "@/lib/language";
import { loadWithRetries } from "@/lib/lazy-part";
import { loadFirstTexts, loadLaterTexts } from "@/lib/texts";
import { OperatorApp } from "./operator-app";
import "./operator.css";

const root = document.getElementById("root");
if (root === null) throw new Error("operator.html has no #root");
await loadWithRetries(() => Promise.all([loadFirstTexts(initialLanguage()), loadLaterTexts()]));
createRoot(root).render(
  <StrictMode>
    <OperatorApp />
  </StrictMode>,
);
