import type { Page } from "playwright-core";

/**
 * The controls and headings whose name runs two words together, as "Removetoolbox": texts that stand apart on the screen,
 * but have no space between them for who listens.
 */
export function gluedLabels(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const named =
      "button, a[href], summary, label, option, h1, h2, h3, h4, h5, h6, [role=tab], [role=option], [role=menuitem], [role=button]";
    const isLetter = (character: string | undefined) => /[\p{L}\p{N}]/u.test(character ?? "");

    /** Returns true if only inline boxes are between a text and an element; others are read separately anyway. */
    function isInline(text: Text, around: Node): boolean {
      for (let one: Element | null = text.parentElement; one && one !== around; one = one.parentElement)
        if (getComputedStyle(one).display !== "inline") return false;
      return true;
    }

    function textsOf(element: Element): Text[] {
      const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
      const texts: Text[] = [];
      while (walker.nextNode()) {
        const text = walker.currentNode as Text;
        if (text.data !== "" && text.parentElement?.checkVisibility() === true) texts.push(text);
      }
      return texts;
    }

    function boxOf(text: Text): DOMRect {
      const range = document.createRange();
      range.selectNodeContents(text);
      return range.getBoundingClientRect();
    }

    function areGlued(first: Text, second: Text): boolean {
      if (!isLetter(first.data.at(-1)) || !isLetter(second.data.at(0))) return false;
      const around = document.createRange();
      around.setStart(first, 0);
      around.setEnd(second, 0);
      const parent = around.commonAncestorContainer;
      if (
        first.parentElement === second.parentElement ||
        !isInline(first, parent) ||
        !isInline(second, parent)
      )
        return false;
      const [one, other] = [boxOf(first), boxOf(second)];
      return other.left - one.right > 1 || other.top >= one.bottom - 1 || one.left - other.right > 1;
    }

    return [...document.querySelectorAll(named)]
      .filter((element) => !element.hasAttribute("aria-label") && !element.hasAttribute("aria-labelledby"))
      .filter((element) => {
        const texts = textsOf(element);
        return texts.some((text, at) => {
          const next = texts[at + 1];
          return next !== undefined && areGlued(text, next);
        });
      })
      .map((element) => element.textContent);
  });
}
