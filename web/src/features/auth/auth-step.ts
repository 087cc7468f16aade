import type { SignedInUser } from "@/lib/session";

/** Step in the card of the sign-in screen. */
export type AuthStep =
  /** Sign-in and sign-up forms. */
  | { kind: "welcome" }
  /** Sign-up with the registration token in the URL. */
  | { kind: "register" }
  /** Request for a new password by email. */
  | { kind: "forgot" }
  /** The email address is not confirmed; `mailed` if an email was just sent. */
  | { kind: "unconfirmed"; mailed: boolean }
  /** An email link has expired or was used. */
  | { kind: "link-failed" }
  /** An email link has confirmed the address, and this browser is not signed in. */
  | { kind: "confirmed" }
  /** Another browser requested the link for a new password. */
  | { kind: "link-elsewhere" }
  /** Signed in, except for the code of the second factor. */
  | { kind: "needs-code"; user: SignedInUser }
  /** Signed in by a link to choose a new password. */
  | { kind: "needs-password"; user: SignedInUser };

/** Properties of all steps. */
export interface StepProps {
  /** Email address as typed, shared by the steps. */
  email: string;
  onEmail: (email: string) => void;
  onStep: (step: AuthStep) => void;
}
