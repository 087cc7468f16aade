//! What the letters say.

/// Name of the product, which signs each mail.
pub const PRODUCT_NAME: &str = "AI Chat MCP";

/// What a letter is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// A new account waits for its address to be confirmed.
    Confirmation,
    /// A sign-up for an address that already has an account.
    AlreadyRegistered,
    /// A request to choose a new password.
    Recovery,
    /// A request to sign in without a password.
    MagicLink,
    /// An administrator invites.
    Invite,
    /// To the present address: it is to be replaced by this one.
    EmailChangeCurrent {
        /// The new address.
        new: String,
    },
    /// To the new address.
    EmailChangeNew,
    /// A signed-in person wants to do what a stolen device must not.
    Reauthentication,
}

/// A letter.
#[derive(Debug, Clone)]
pub struct Letter {
    /// What it is about.
    pub subject: Subject,
    /// Where its button leads.
    pub link: Option<String>,
    /// What can be typed in the place of following the link.
    pub code: Option<String>,
}

/// The words of one kind of letter.
struct Words {
    title: &'static str,
    button: &'static str,
    ignore: &'static str,
}

impl Letter {
    /// The subject line, and the heading.
    pub fn title(&self) -> &'static str {
        self.words().title
    }

    /// What the button says.
    pub(super) fn button(&self) -> &'static str {
        self.words().button
    }

    /// What to do when one has asked for nothing.
    pub(super) fn ignore(&self) -> &'static str {
        self.words().ignore
    }

    /// Why the person gets this letter.
    pub(super) fn reason(&self) -> String {
        match &self.subject {
            Subject::Confirmation => {
                format!("Confirm that this address is yours, and your {PRODUCT_NAME} account is ready.")
            }
            Subject::AlreadyRegistered => format!(
                "Somebody tried to create an {PRODUCT_NAME} account with this address, but it has one. Sign in with your \
                 password, or choose a new one on the same page."
            ),
            Subject::Recovery => format!("Choose a new password for your {PRODUCT_NAME} account."),
            Subject::MagicLink => format!("Sign in to {PRODUCT_NAME} without a password."),
            Subject::Invite => format!("You have been invited to {PRODUCT_NAME}. Accept, and your account is ready."),
            Subject::EmailChangeCurrent { new } => format!(
                "The address of your {PRODUCT_NAME} account is to become {new}. It changes when both addresses have confirmed \
                 it."
            ),
            Subject::EmailChangeNew => format!("This address is to become the one of your {PRODUCT_NAME} account."),
            Subject::Reauthentication => format!("Type this code in {PRODUCT_NAME} to show that it is you."),
        }
    }

    /// What stands above the code.
    pub(super) fn code_caption(&self) -> &'static str {
        if self.link.is_some() { "Or type this code:" } else { "Your code:" }
    }

    /// How long it is good: what `auth::one_time` says.
    pub(super) fn validity(&self) -> Option<&'static str> {
        match (&self.link, &self.code) {
            (_, None) => None,
            (Some(_), Some(_)) => Some("Link and code are good for one hour, and for one use."),
            (None, Some(_)) => Some("It is good for one hour, and for one use."),
        }
    }

    /// The letter as plain text. The link and the code each stand on a line of their own.
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
        // Two hyphens and a space on a line start a signature (RFC 3676 section 4.3); mail programs do not quote what
        // follows.
        paragraphs.push(format!("-- \n{PRODUCT_NAME}\n"));
        paragraphs.join("\n\n")
    }

    fn words(&self) -> Words {
        const IGNORE_ADVICE: &str = "If it was not you who asked for this, ignore this mail: nothing happens.";
        const SECURITY_ADVICE: &str =
            "If it was not you, do not confirm it, and change your password: somebody is signed in as you.";
        let (title, button, ignore) = match &self.subject {
            Subject::Confirmation => ("Confirm your address", "Confirm address", IGNORE_ADVICE),
            Subject::AlreadyRegistered => ("You already have an account", "Go to sign-in", IGNORE_ADVICE),
            Subject::Recovery => ("Choose a new password", "Choose a new password", IGNORE_ADVICE),
            Subject::MagicLink => ("Sign in", "Sign in", IGNORE_ADVICE),
            Subject::Invite => ("You have been invited", "Accept the invitation", IGNORE_ADVICE),
            Subject::EmailChangeCurrent { .. } => {
                ("Confirm your change of address", "Confirm the change", SECURITY_ADVICE)
            }
            Subject::EmailChangeNew => ("Confirm your new address", "Confirm this address", IGNORE_ADVICE),
            Subject::Reauthentication => ("Your confirmation code", "", SECURITY_ADVICE),
        };
        Words { title, button, ignore }
    }
}
