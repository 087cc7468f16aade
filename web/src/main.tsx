import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "@/app/app";
import { preloadHome, tellLandings } from "@/app/lazy-parts";
import "./styles/index.css";

const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no #root");
if (/#.|(google-drive|sign-in)=/u.test(location.href)) tellLandings();
if (location.pathname === "/") preloadHome();
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
