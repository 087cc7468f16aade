/** Fits the height of a text field to its text in browsers without `field-sizing`. */
export function growWithText(field: HTMLTextAreaElement | null): void {
  if (!field || CSS.supports("field-sizing", "content")) return;
  field.style.height = "0";
  const borders = field.offsetHeight - field.clientHeight;
  field.style.height = `${field.scrollHeight + borders}px`;
}
