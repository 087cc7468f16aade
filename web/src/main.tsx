import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "@/app/app";
import { preloadHome, showRedirectResults } from "@/app/lazy-parts";
import { emailLinkParams } from "@/lib/email-link";
import "./styles/index.css";

const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no #root");
if (emailLinkParams.size > 0 || /[?&](google-drive|sign-in)=/u.test(location.search)) showRedirectResults();
if (location.pathname === "/") preloadHome();
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
