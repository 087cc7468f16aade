import { drawable } from "./drawable-text";
import { heightInEm } from "./formula-height";
import { lazyModule } from "./lazy-module";

const useRichMath = lazyModule(async () => {
  const module = await import("./rich-math");
  await module.prepareMath();
  return module;
});

/** Formula with its delimiters, and what follows on the last line of a block. */
const CLOSED = /^(?:\\\(([^]*)\\\)|\\\[([^]*)\\\]|\$\$([^]*)\$\$|\$([^]*)\$)([^\n]*)$/u;
/** Formula in a line or in lines of its own; its source until the formulas' code has been loaded, and if it has errors. */
export function MathView({ source }: { source: string }) {
  const [, inParentheses, inBrackets, inTwoDollars, inDollars, rest = ""] = CLOSED.exec(source) ?? [];
  const tex = inParentheses ?? inBrackets ?? inTwoDollars ?? inDollars;
  const written = source.slice(0, source.length - rest.length);
  // A formula is drawn once it is closed, while nothing stands behind it, and moves nothing then.
  const rich = useRichMath(tex !== undefined);
  const isDisplayed = (inBrackets ?? inTwoDollars) !== undefined;
  const html = tex === undefined ? undefined : rich?.formulaHtml(tex, isDisplayed);
  // An error shows the source as it was written.
  const isAwaited = rich === undefined && tex !== undefined;
  if (!isDisplayed || (html === undefined && !isAwaited)) {
    if (html === undefined)
      return <span className="whitespace-pre-wrap wrap-anywhere">{drawable(source)}</span>;
    return <span data-tex={written} dangerouslySetInnerHTML={{ __html: html }} />;
  }
  return (
    <>
      <span tabIndex={0} className="formula-display" style={{ minHeight: `${heightInEm(tex ?? "")}em` }}>
        {html === undefined ? (
          drawable(written)
        ) : (
          <span data-tex={written} dangerouslySetInnerHTML={{ __html: html }} />
        )}
      </span>
      {rest}
    </>
  );
}
