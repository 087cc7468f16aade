/** Loads the sheet with a connection's details, which few users open. */
export const loadSheet = () => import("./connection-sheet");
