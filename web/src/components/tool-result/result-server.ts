import { createContext } from "react";

/** The name of the connection that a result came from; empty where that is not known. */
export const ResultServer = createContext("");
