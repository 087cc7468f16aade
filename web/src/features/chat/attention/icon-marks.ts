const ICON = "/icon.svg";
const MARKED_ICON = "/icon-marked.svg";

/**
 * Shows on the page's icon whether there is news, and on the icon of the installed app in how many chats. The number 0
 * removes both.
 */
export function markIcons(count: number): void {
  const link = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
  if (link) link.href = count > 0 ? MARKED_ICON : ICON;
  // Without an installed app, or the right to mark it, browsers refuse.
  if ("setAppBadge" in navigator) navigator.setAppBadge(count).catch(() => undefined);
}
