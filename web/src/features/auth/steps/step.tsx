import { UserQueries } from "@/lib/user-queries";
import type { AuthStep, StepProps } from "../auth-step";
import { CodeStep } from "./code-step";
import { ConfirmedStep } from "./email-steps";
import { ForgotStep } from "./forgot-step";
import { LinkElsewhereStep } from "./email-steps";
import { LinkFailedStep } from "./email-steps";
import { PasswordStep } from "./password-step";
import { RegisterStep } from "./register-step";
import { UnconfirmedStep } from "./email-steps";

interface Props extends StepProps {
  step: AuthStep;
  /** Returns the URL at which the new session starts. */
  startUrl: () => string;
}

/** Any step of the sign-in screen except the two forms. */
export function Step(props: Props) {
  return (
    <UserQueries key={"user" in props.step ? props.step.user.id : ""}>
      <StepCard {...props} />
    </UserQueries>
  );
}

function StepCard({ step, startUrl, ...shared }: Props) {
  switch (step.kind) {
    case "welcome":
      return null;
    case "register":
      return <RegisterStep startUrl={startUrl} {...shared} />;
    case "forgot":
      return <ForgotStep {...shared} />;
    case "unconfirmed":
      return <UnconfirmedStep mailed={step.mailed} {...shared} />;
    case "confirmed":
      return <ConfirmedStep {...shared} />;
    case "link-elsewhere":
      return <LinkElsewhereStep {...shared} />;
    case "link-failed":
      return <LinkFailedStep {...shared} />;
    case "needs-code":
      return <CodeStep user={step.user} />;
    case "needs-password":
      return <PasswordStep user={step.user} />;
  }
}
