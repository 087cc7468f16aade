import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import "./styles/index.css";

const root = document.getElementById("root");
if (root !== null) createRoot(root).render(<StrictMode>{null}</StrictMode>);
