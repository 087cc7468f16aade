import type { SignedInUser } from "@/lib/session";

/** What the card of the sign-in screen shows. */
export type AuthStep =
  /** The two forms. */
  | { kind: "welcome" }
  /** A new password is asked for by mail. */
  | { kind: "forgot" }
  /** The account waits for its e-mail to be confirmed; `mailed` when a mail has just gone out. */
  | { kind: "unconfirmed"; mailed: boolean }
  /** A mailed link that led here does not work any more. */
  | { kind: "link-failed" }
  /** A mailed link has confirmed the address, and this browser is not signed in. */
  | { kind: "confirmed" }
  /** A link to a new password that another browser asked for. */
  | { kind: "link-elsewhere" }
  /** Signed in but for the code of the second factor. */
  | { kind: "needs-code"; user: SignedInUser }
  /** Signed in by a link, in order to choose a password. */
  | { kind: "needs-password"; user: SignedInUser };

/** What every step of the card gets. */
export interface StepProps {
  /** The address as it was typed, kept from one step to the other. */
  email: string;
  onEmail: (email: string) => void;
  onStep: (step: AuthStep) => void;
}
