/** Joins class names, without empty ones. */
export function cn(...names: readonly (string | false | null | undefined)[]): string {
  return names.filter(Boolean).join(" ");
}
