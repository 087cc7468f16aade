import { createContext } from "react";

/** Level of the highest headings in a text: the page has headings of its own above those. */
export const HeadingLevel = createContext<3 | 4>(4);
