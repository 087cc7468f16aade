import { createContext } from "react";

/** Name of the connection that a result came from; empty if unknown. */
export const ResultServer = createContext("");
