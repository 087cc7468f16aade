// Runs before the first paint, so that a chosen theme never flashes the other one. Without a choice the system decides, in CSS.
try {
  const theme = localStorage.getItem("theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Storage can be forbidden; the system's theme is then as good as any.
}
