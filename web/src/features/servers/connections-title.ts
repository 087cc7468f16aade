/** Id of the heading that labels the card and takes the focus when a row disappears. */
export const connectionsTitleId = "connections-title";
