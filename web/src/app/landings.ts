import { tellDriveLanding } from "./drive-landing";
import { tellMailLanding } from "./mail-landing";

/** Says what a link or another site that led here has done. */
export function tellLandings(): void {
  tellDriveLanding();
  void tellMailLanding();
}
