import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "@/app/app";
import { preloadHome, tellLandings } from "@/app/lazy-parts";
import { landing } from "@/lib/landing";
import "./styles/index.css";

const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no #root");
if (landing.size > 0 || /[?&](google-drive|sign-in)=/u.test(location.search)) tellLandings();
if (location.pathname === "/") preloadHome();
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
