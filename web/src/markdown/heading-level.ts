import { createContext } from "react";

/** Level of the highest headings in a text; the page's own headings are above. */
export const HeadingLevel = createContext<3 | 4>(4);
