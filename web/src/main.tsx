import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "@/app/app";
import { tellDriveLanding } from "@/app/drive-landing";
import { tellLandingError } from "@/app/landing-error";
import { preloadHome } from "@/app/lazy-parts";
import "./styles/index.css";

const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no #root");
void tellLandingError();
tellDriveLanding();
if (location.pathname === "/") preloadHome();
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
