//! Why a call about an account is refused, in the words of the protocol.

use std::fmt;

/// A refusal: status, stable code and words for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// The stable word for programs.
    pub code: &'static str,
    /// What people read.
    pub message: &'static str,
}

impl Refusal {
    const fn new(status: u16, code: &'static str, message: &'static str) -> Self {
        Self { status, code, message }
    }

    /// A field of the request holds something it must not.
    pub const fn invalid(message: &'static str) -> Self {
        Self::new(400, "validation_failed", message)
    }

    /// A part of the protocol that this server does not offer.
    pub const fn absent(status: u16, code: &'static str, message: &'static str) -> Self {
        Self::new(status, code, message)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message)
    }
}

macro_rules! catalogue {
    ($($(#[$doc:meta])* $name:ident = $status:literal $code:literal $message:literal;)+) => {$(
        $(#[$doc])*
        pub const $name: Refusal = Refusal::new($status, $code, $message);
    )+};
}

catalogue! {
    /// No such path.
    NO_SUCH_ROUTE = 404 "not_found" "There is no such call";
    /// The path is there, for another method.
    METHOD_NOT_ALLOWED = 405 "method_not_allowed" "This call takes another method";
    /// More than 1 MiB.
    BODY_TOO_LARGE = 413 "request_entity_too_large" "Request body too large (max 1048576 bytes)";
    /// The body broke off.
    BODY_BROKEN = 400 "bad_json" "Could not parse request body as JSON: it broke off";

    /// No bearer token.
    NO_AUTHORIZATION = 401 "no_authorization" "This endpoint requires a valid Bearer token";
    /// The token was not signed here, or is not an access token.
    BAD_JWT = 403 "bad_jwt" "invalid JWT: unable to parse or verify signature";
    /// The token's time is over.
    EXPIRED_JWT = 403 "bad_jwt" "invalid JWT: unable to parse or verify signature, token has invalid claims: token is expired";
    /// The token's sign-in was ended.
    SESSION_NOT_FOUND = 403 "session_not_found" "Session from session_id claim in JWT does not exist";
    /// The token's person is gone.
    USER_NOT_FOUND = 403 "user_not_found" "User from sub claim in JWT does not exist";

    /// Accounts cannot be confirmed: there is no mail server, and they are not confirmed at once.
    SIGNUP_DISABLED = 422 "signup_disabled" "Signups not allowed for this instance";
    /// Neither an address nor a number.
    ANONYMOUS_DISABLED = 422 "anonymous_provider_disabled" "Anonymous sign-ins are disabled";
    /// Sign-up by telephone.
    PHONE_SIGNUP_DISABLED = 400 "phone_provider_disabled" "Phone signups are disabled";
    /// Sign-in by telephone.
    PHONE_LOGIN_DISABLED = 422 "phone_provider_disabled" "Phone logins are disabled";
    /// A way to a number that there is not.
    INVALID_CHANNEL = 400 "validation_failed" "Invalid channel, supported values are 'sms' or 'whatsapp'. 'whatsapp' is only supported if Twilio or Twilio Verify is used as the provider.";
    /// A telephone number for an account.
    PHONE_CHANGE_DISABLED = 400 "phone_provider_disabled" "Unsupported phone provider";
    /// A new address would have to be confirmed by mail.
    EMAIL_CHANGE_DISABLED = 422 "email_provider_disabled" "This server sends no e-mail to confirm a new address with";
    /// Sign-up with an address that has an account.
    USER_ALREADY_EXISTS = 422 "user_already_exists" "User already registered";
    /// A new address that another account has.
    EMAIL_EXISTS = 422 "email_exists" "A user with this email address has already been registered";
    /// The new password is the old one.
    SAME_PASSWORD = 422 "same_password" "New password should be different from the old password.";
    /// The present password, where it was sent along, is another one.
    CURRENT_PASSWORD_INVALID = 400 "current_password_invalid" "Current password required when setting new password.";
    /// What the server keeps about a person is not the person's to change.
    NOT_ADMIN = 403 "not_admin" "Updating app_metadata requires admin privileges";

    /// A sign-in without the second factor that its person has.
    INSUFFICIENT_AAL = 403 "insufficient_aal" "This sign-in has to be raised with the second factor first";
    /// Changing what a second factor guards, without it.
    UPDATE_NEEDS_AAL2 = 401 "insufficient_aal" "AAL2 session is required to update email or password when MFA is enabled.";
    /// One more factor, without the one that is there.
    ENROLL_NEEDS_AAL2 = 403 "insufficient_aal" "AAL2 required to enroll a new factor";
    /// Removing a factor without it.
    UNENROLL_NEEDS_AAL2 = 422 "insufficient_aal" "AAL2 required to unenroll verified factor";
    /// Anonymous users have no credentials that a factor could protect.
    NOT_FOR_ANONYMOUS = 403 "no_authorization" "Anonymous user not allowed to perform these actions";
    /// A factor that does not exist or belongs to another user.
    FACTOR_NOT_FOUND = 404 "mfa_factor_not_found" "Factor not found";
    /// An id that is none.
    FACTOR_ID_MALFORMED = 404 "validation_failed" "factor_id must be an UUID";
    /// Ten factors.
    TOO_MANY_FACTORS = 422 "too_many_enrolled_mfa_factors" "Maximum number of verified factors reached, unenroll to continue";
    /// A challenge that is not there, or of another factor.
    NO_SUCH_CHALLENGE = 422 "mfa_factor_not_found" "MFA factor with the provided challenge ID not found";
    /// A challenge that was answered, or given to another address.
    CHALLENGE_ADDRESS = 422 "mfa_ip_address_mismatch" "Challenge and verify IP addresses mismatch.";
    /// No code.
    NO_CODE = 400 "validation_failed" "Code needs to be non-empty";
    /// A code that is wrong, or was used.
    WRONG_CODE = 422 "mfa_verification_failed" "Invalid TOTP code entered";
    /// A factor by telephone.
    PHONE_FACTOR_DISABLED = 422 "mfa_phone_enroll_not_enabled" "MFA enroll is disabled for Phone";
    /// A factor by a security key.
    WEBAUTHN_FACTOR_DISABLED = 422 "mfa_webauthn_enroll_not_enabled" "MFA enroll is disabled for WebAuthn";
    /// A kind of factor that the protocol does not know.
    UNKNOWN_FACTOR = 400 "validation_failed" "factor_type needs to be totp, phone, or webauthn";

    /// A password alone is no way back in.
    PASSWORD_NEEDS_ADDRESS = 422 "validation_failed" "Updating password of an anonymous user without an email or phone is not allowed";
    /// Neither the service role key nor a token of its role.
    ADMIN_NEEDED = 403 "not_admin" "User not allowed";
    /// The administrator names a person who is not there.
    NO_SUCH_USER = 404 "user_not_found" "User not found";
    /// The administrator wants a link for an address without an account.
    NO_USER_WITH_EMAIL = 404 "user_not_found" "User with this email not found";
    /// The administrator names a person by what is no id.
    USER_ID_MALFORMED = 404 "validation_failed" "user_id must be an UUID";
    /// Passkeys are not supported, so no user has one.
    NO_SUCH_PASSKEY = 404 "validation_failed" "Passkey not found";
    /// All users have the same role and audience.
    ROLE_FIXED = 400 "validation_failed" "This server has no role and no audience but authenticated";
    /// Hashes of another program.
    PASSWORD_HASH_UNSUPPORTED = 400 "validation_failed" "This server takes a password and no password_hash";
    /// Sign-in with the password of a person who is kept out.
    BANNED_LOGIN = 400 "user_banned" "User is banned";
    /// Refreshing the sign-in of such a person.
    BANNED_REFRESH = 400 "user_banned" "Invalid Refresh Token: User Banned";

    /// No such address, or not its password: the two are not told apart.
    INVALID_CREDENTIALS = 400 "invalid_credentials" "Invalid login credentials";
    /// The address was never confirmed.
    EMAIL_NOT_CONFIRMED = 400 "email_not_confirmed" "Email not confirmed";
    /// A grant type the protocol does not know.
    UNSUPPORTED_GRANT = 400 "invalid_credentials" "unsupported_grant_type";
    /// A refresh token that was not made here, or whose sign-in was ended.
    REFRESH_TOKEN_NOT_FOUND = 400 "refresh_token_not_found" "Invalid Refresh Token: Refresh Token Not Found";
    /// A refresh token that was used before: it may be in other hands, so its sign-in was ended.
    REFRESH_TOKEN_ALREADY_USED = 400 "refresh_token_already_used" "Invalid Refresh Token: Already Used";
    /// Others were always faster.
    CONFLICT = 409 "conflict" "Too many concurrent requests on the same session";
    /// The same with a refresh token.
    REFRESH_CONFLICT = 409 "conflict" "Too many concurrent token refresh requests on the same session or refresh token";

    /// There is no mail server.
    NO_MAIL = 400 "email_provider_disabled" "This server sends no e-mail";
    /// There is no mail server to send a link to sign in with.
    NO_MAGIC_LINK = 422 "email_provider_disabled" "This server sends no e-mail";
    /// There is no mail server, or no account for a caller who wants none to be made.
    NO_OTP = 422 "otp_disabled" "Signups not allowed for otp";
    /// A code that is not the one that was mailed, or not any more.
    OTP_EXPIRED = 403 "otp_expired" "Token has expired or is invalid";
    /// A link that was not mailed, was used, or is too old.
    LINK_EXPIRED = 403 "otp_expired" "Email link is invalid or has expired";
    /// An administrator has shut the person out.
    USER_BANNED = 403 "user_banned" "User is banned";
    /// No link that ended with this code, or it was exchanged.
    FLOW_STATE_NOT_FOUND = 404 "flow_state_not_found" "invalid flow state, no valid flow state found";
    /// The code was not exchanged in time.
    FLOW_STATE_EXPIRED = 422 "flow_state_expired" "invalid flow state, flow state has expired";
    /// Another program than the one that asked for the link.
    BAD_CODE_VERIFIER = 400 "bad_code_verifier" "code challenge does not match previously saved code verifier";
    /// The sign-in is too old for a new password.
    REAUTHENTICATION_NEEDED = 400 "reauthentication_needed" "Password update requires reauthentication";
    /// The last proof of identity is too old for a change of address, factors or keys.
    ACTION_NEEDS_REAUTHENTICATION = 400 "reauthentication_needed" "Confirm that it is you: this change requires reauthentication";
    /// The mailed code is another one.
    REAUTHENTICATION_NOT_VALID = 422 "reauthentication_not_valid" "Nonce has expired or is invalid";
    /// There is nowhere to mail a code to.
    REAUTHENTICATION_WITHOUT_ADDRESS = 400 "validation_failed" "Reauthentication requires the user to have an email or a phone number";
    /// A code would go to an address that may be a stranger's.
    ADDRESS_NOT_CONFIRMED = 422 "email_not_confirmed" "Please verify your email first.";
}
