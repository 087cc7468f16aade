import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "@/app/app";
import { preloadHome, showRedirectResults } from "@/app/lazy-parts";
import { emailLinkParams } from "@/lib/email-link";
import { initialLanguage } from "@/lib/language";
import { loadWithRetries } from "@/lib/lazy-part";
import { loadFirstTexts } from "@/lib/texts";
import "./styles/index.css";

const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no #root");
const texts = loadWithRetries(() => loadFirstTexts(initialLanguage()));
if (emailLinkParams.size > 0 || /[?&](google-drive|sign-in)=/u.test(location.search))
  void texts.then(showRedirectResults);
if (location.pathname === "/") preloadHome();
// Nothing is rendered without texts: other ones would flash.
void texts.then(() =>
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  ),
);
