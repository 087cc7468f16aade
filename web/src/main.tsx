import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "@/app/app";
import { preloadHome, showRedirectResults } from "@/app/lazy-parts";
import { emailLinkParams } from "@/lib/email-link";
import { formatNumber } from "@/lib/intl";
import { initialLanguage } from "@/lib/language";
import { loadWithRetries, preload } from "@/lib/lazy-part";
import { loadFirstTexts } from "@/lib/texts";
import "./styles/index.css";

// The other preferences need no code of the page, see `public/before-paint.js`.
addEventListener("storage", ({ key }) => {
  if (key === "language")
    preload(async () => (await import("@/features/account/language-choice")).followLanguageChoice());
});

/** Time that the parts of the main screen may take before a placeholder is shown. */
const PLACEHOLDER_DELAY_MS = 500;

const root = document.getElementById("root");
if (root === null) throw new Error("no #root");
const texts = loadWithRetries(() => loadFirstTexts(initialLanguage()));
if (emailLinkParams.size > 0 || /[?&](google-drive|sign-in)=/u.test(location.search))
  void texts.then(showRedirectResults);
const firstParts = location.pathname === "/" ? preloadHome() : undefined;
// The browser takes 12 ms for its first number: while the parts are on their way.
if (firstParts) void texts.then(() => formatNumber(0));
// Nothing is rendered without texts: other ones would flash. React replaces a placeholder after 300 ms at the earliest,
// so the main screen gets none while its parts come fast.
const placeholderDue = new Promise((resolve) => setTimeout(resolve, PLACEHOLDER_DELAY_MS));
void Promise.all([texts, Promise.race([firstParts, placeholderDue])]).then(() =>
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  ),
);
