import { config } from "zod/v4";

// The page's content security policy allows no code from strings; the library would try, and leave an error in the log.
config({ jitless: true });
