import { config } from "zod/v4";

// The page's content security policy forbids code from strings; the library would try it and log an error.
config({ jitless: true });
