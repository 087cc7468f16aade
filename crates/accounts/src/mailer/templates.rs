//! Texts of the emails.

use storage::factors::FactorKind;

/// Name of the product, in the heading and signature of emails.
pub const PRODUCT_NAME: &str = "AI Chat MCP";

/// Kind of an email, which determines its texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EmailKind {
    /// Confirmation of a new account.
    Confirmation,
    /// Notice of a sign-up with an address that already has an account.
    AlreadyRegistered,
    /// Link to choose a new password.
    Recovery,
    /// Link to sign in without a password.
    MagicLink,
    /// Invitation by an administrator.
    Invite,
    /// Confirmation of a change of address, sent to the current address.
    EmailChangeCurrent {
        /// New address.
        new: String,
    },
    /// Confirmation of a change of address, sent to the new address.
    EmailChangeNew,
    /// Reauthentication code before a sensitive change.
    Reauthentication,
    /// Notice of something that happened to the account.
    Security(SecurityNotice),
    /// Test of the mail server by the operator.
    Test,
}

/// Something that happened to an account, which its user should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecurityNotice {
    /// The password was changed.
    PasswordChanged,
    /// The email address was changed.
    AddressChanged {
        /// New address.
        new: String,
    },
    /// An authenticator was added.
    FactorAdded(FactorKind),
    /// An authenticator was removed.
    FactorRemoved(FactorKind),
    /// A passkey was created.
    PasskeyAdded,
    /// A passkey was removed.
    PasskeyRemoved,
    /// An account at the identity provider was linked.
    IdentityLinked,
    /// An account at the identity provider was unlinked.
    IdentityUnlinked,
    /// Recovery codes were created or renewed.
    RecoveryCodesCreated,
    /// Recovery codes were deleted.
    RecoveryCodesRemoved,
    /// A recovery code was used.
    RecoveryCodeUsed {
        /// Number of codes that are left.
        remaining: i64,
    },
    /// A sign-in with a device that was not used before.
    NewDevice {
        /// Browser and system.
        device: String,
        /// Network address, where it is known.
        address: Option<String>,
    },
}

impl SecurityNotice {
    fn title(&self) -> &'static str {
        match self {
            Self::PasswordChanged => "Your password was changed",
            Self::AddressChanged { .. } => "Your email address was changed",
            Self::FactorAdded(FactorKind::Totp) => "An authenticator was added",
            Self::FactorAdded(FactorKind::WebAuthn) => "A security key was added",
            Self::FactorRemoved(FactorKind::Totp) => "An authenticator was removed",
            Self::FactorRemoved(FactorKind::WebAuthn) => "A security key was removed",
            Self::PasskeyAdded => "A passkey was created",
            Self::PasskeyRemoved => "A passkey was removed",
            Self::IdentityLinked => "Single sign-on was linked",
            Self::IdentityUnlinked => "Single sign-on was unlinked",
            Self::RecoveryCodesCreated => "Recovery codes were created",
            Self::RecoveryCodesRemoved => "Recovery codes were removed",
            Self::RecoveryCodeUsed { .. } => "A recovery code was used",
            Self::NewDevice { .. } => "New sign-in",
        }
    }

    fn text(&self) -> String {
        match self {
            Self::PasswordChanged => format!("The password of your {PRODUCT_NAME} account was changed."),
            Self::AddressChanged { new } => format!(
                "The email address of your {PRODUCT_NAME} account was changed to {new}. This address no longer belongs to it."
            ),
            Self::FactorAdded(FactorKind::WebAuthn) => {
                format!("A security key was added to your {PRODUCT_NAME} account. Sign-ins ask for it.")
            }
            Self::FactorRemoved(FactorKind::WebAuthn) => {
                format!("A security key was removed from your {PRODUCT_NAME} account.")
            }
            Self::FactorAdded(FactorKind::Totp) => {
                format!("An authenticator app was added to your {PRODUCT_NAME} account. Sign-ins ask for its code.")
            }
            Self::FactorRemoved(FactorKind::Totp) => {
                format!("An authenticator app was removed from your {PRODUCT_NAME} account.")
            }
            Self::PasskeyAdded => {
                format!("A passkey was created for your {PRODUCT_NAME} account. It signs in without the password.")
            }
            Self::PasskeyRemoved => format!("A passkey was removed from your {PRODUCT_NAME} account."),
            Self::IdentityLinked => format!(
                "An account of your organisation was linked to your {PRODUCT_NAME} account. It signs in without the password."
            ),
            Self::IdentityUnlinked => {
                format!("An account of your organisation was unlinked from your {PRODUCT_NAME} account.")
            }
            Self::RecoveryCodesCreated => format!(
                "Recovery codes were created for your {PRODUCT_NAME} account. Each replaces the code of an authenticator \
                 once. Codes from before are no longer valid."
            ),
            Self::RecoveryCodesRemoved => {
                format!("The recovery codes of your {PRODUCT_NAME} account were removed.")
            }
            Self::RecoveryCodeUsed { remaining } => format!(
                "A recovery code was used in place of the code of an authenticator of your {PRODUCT_NAME} account. Unused \
                 codes that are left: {remaining}."
            ),
            Self::NewDevice { device, address: Some(address) } => format!(
                "Your {PRODUCT_NAME} account was used to sign in with a device that you had not used before: {device}, at \
                 the network address {address}."
            ),
            Self::NewDevice { device, address: None } => format!(
                "Your {PRODUCT_NAME} account was used to sign in with a device that you had not used before: {device}."
            ),
        }
    }
}

/// An email to a user.
#[derive(Debug, Clone)]
pub struct Email {
    /// Kind.
    pub kind: EmailKind,
    /// Link of the button.
    pub link: Option<String>,
    /// Code that can be typed instead of following the link.
    pub code: Option<String>,
}

/// Fixed texts of one kind of email.
struct EmailTexts {
    title: &'static str,
    button: &'static str,
    ignore: &'static str,
}

impl Email {
    /// Returns the subject line, which is also the heading.
    pub fn title(&self) -> &'static str {
        self.texts().title
    }

    /// Returns the label of the button.
    pub(super) fn button(&self) -> &'static str {
        self.texts().button
    }

    /// Returns advice for recipients who did not request the email.
    pub(super) fn ignore(&self) -> &'static str {
        self.texts().ignore
    }

    /// Returns the reason for the email.
    pub(super) fn reason(&self) -> String {
        match &self.kind {
            EmailKind::Confirmation => {
                format!("Confirm this email address to activate your {PRODUCT_NAME} account.")
            }
            EmailKind::AlreadyRegistered => format!(
                "Someone tried to create an {PRODUCT_NAME} account with this address, but you already have one. Sign in with \
                 your password, or reset it on the same page."
            ),
            EmailKind::Recovery => format!("Choose a new password for your {PRODUCT_NAME} account."),
            EmailKind::MagicLink => format!("Sign in to {PRODUCT_NAME} without a password."),
            EmailKind::Invite => {
                format!("You have been invited to {PRODUCT_NAME}. Accept the invitation to activate your account.")
            }
            EmailKind::EmailChangeCurrent { new } => format!(
                "A change of the email address of your {PRODUCT_NAME} account to {new} was requested. It takes effect when \
                 both addresses are confirmed."
            ),
            EmailKind::EmailChangeNew => {
                format!("Confirm this email address to use it for your {PRODUCT_NAME} account.")
            }
            EmailKind::Reauthentication => format!("Enter this code in {PRODUCT_NAME} to confirm your identity."),
            EmailKind::Security(notice) => notice.text(),
            EmailKind::Test => {
                format!("The mail settings of {PRODUCT_NAME} work: this is a test email of its operator.")
            }
        }
    }

    /// Returns the text above the code.
    pub(super) fn code_caption(&self) -> &'static str {
        if self.link.is_some() { "Or enter this code:" } else { "Your code:" }
    }

    /// Returns the text about the lifetime of the link and code, which is
    /// [`TOKEN_LIFETIME_SECONDS`](crate::one_time_tokens::TOKEN_LIFETIME_SECONDS).
    pub(super) fn validity(&self) -> Option<&'static str> {
        match (&self.link, &self.code) {
            (_, None) => None,
            (Some(_), Some(_)) => Some("The link and the code are valid for one hour and can be used once."),
            (None, Some(_)) => Some("The code is valid for one hour and can be used once."),
        }
    }

    /// Returns the email as plain text. The link and the code are on separate lines.
    pub fn plain(&self) -> String {
        let mut paragraphs = vec![self.title().to_owned(), self.reason()];
        if let Some(link) = &self.link {
            paragraphs.push(format!("{}:\n{link}", self.button()));
        }
        if let Some(code) = &self.code {
            paragraphs.push(format!("{}\n{code}", self.code_caption()));
        }
        paragraphs.extend(self.validity().map(str::to_owned));
        paragraphs.push(self.ignore().to_owned());
        // A line of two hyphens and a space starts a signature (RFC 3676 section 4.3), which mail clients do not quote
        // in replies.
        paragraphs.push(format!("-- \n{PRODUCT_NAME}\n"));
        paragraphs.join("\n\n")
    }

    fn texts(&self) -> EmailTexts {
        const IGNORE_ADVICE: &str = "If you did not request this, ignore this email. Nothing will change.";
        const SECURITY_ADVICE: &str = "If you did not request this, do not confirm it, and change your password: someone else is signed in to your \
             account.";
        const NOTICE_ADVICE: &str = "If this was you, there is nothing to do. If not, choose a new password, and sign out \
             the devices that are not yours.";
        const TEST_ADVICE: &str = "There is nothing to do.";
        let (title, button, ignore) = match &self.kind {
            EmailKind::Confirmation => ("Confirm your address", "Confirm address", IGNORE_ADVICE),
            EmailKind::AlreadyRegistered => ("You already have an account", "Go to sign-in", IGNORE_ADVICE),
            EmailKind::Recovery => ("Choose a new password", "Choose a new password", IGNORE_ADVICE),
            EmailKind::MagicLink => ("Sign in", "Sign in", IGNORE_ADVICE),
            EmailKind::Invite => ("You have been invited", "Accept the invitation", IGNORE_ADVICE),
            EmailKind::EmailChangeCurrent { .. } => {
                ("Confirm your change of address", "Confirm the change", SECURITY_ADVICE)
            }
            EmailKind::EmailChangeNew => ("Confirm your new address", "Confirm this address", IGNORE_ADVICE),
            EmailKind::Reauthentication => ("Your confirmation code", "", SECURITY_ADVICE),
            EmailKind::Security(notice) => (notice.title(), "Check your account", NOTICE_ADVICE),
            EmailKind::Test => ("Test email", "", TEST_ADVICE),
        };
        EmailTexts { title, button, ignore }
    }
}
