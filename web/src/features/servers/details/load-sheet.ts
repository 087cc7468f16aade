/** Fetches what shows a connection's details; few look at them. */
export const loadSheet = () => import("./connection-sheet");
