import { tellMailLanding } from "./mail-landing";
import { tellServiceLanding } from "./service-landing";

/** Says what a link or another site that led here has done. */
export function tellLandings(): void {
  tellServiceLanding();
  void tellMailLanding();
}
