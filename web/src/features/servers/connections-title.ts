/** The heading of the connections, which names their card and takes the focus when a row is gone. */
export const connectionsTitleId = "connections-title";
