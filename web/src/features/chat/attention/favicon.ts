const ICON = "/icon.svg";
const MARKED_ICON = "/icon-marked.svg";

/** Shows the page's icon with or without a mark. */
export function markFavicon(isMarked: boolean): void {
  const link = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
  if (link) link.href = isMarked ? MARKED_ICON : ICON;
}
