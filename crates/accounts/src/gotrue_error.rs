//! Catalogue of GoTrue's errors. Clients match on the codes and show the messages, so both are GoTrue's, except for
//! errors that GoTrue does not have.

use std::fmt;

/// An error response: status, stable code and message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GoTrueError {
    /// HTTP status.
    pub status: u16,
    /// Stable error code.
    pub code: &'static str,
    /// Message for users.
    pub message: &'static str,
}

impl GoTrueError {
    const fn new(status: u16, code: &'static str, message: &'static str) -> Self {
        Self { status, code, message }
    }

    /// Creates the error for a request field with an invalid value.
    pub const fn validation_failed(message: &'static str) -> Self {
        Self::new(400, "validation_failed", message)
    }

    /// Creates the error of a GoTrue feature that this server does not support.
    pub const fn unsupported(status: u16, code: &'static str, message: &'static str) -> Self {
        Self::new(status, code, message)
    }
}

impl fmt::Display for GoTrueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message)
    }
}

macro_rules! gotrue_errors {
    ($($(#[$doc:meta])* $name:ident = $status:literal $code:literal $message:literal;)+) => {$(
        $(#[$doc])*
        pub const $name: GoTrueError = GoTrueError::new($status, $code, $message);
    )+};
}

gotrue_errors! {
    /// Unknown path.
    ROUTE_NOT_FOUND = 404 "not_found" "Endpoint not found";
    /// The path exists, but not with this method.
    METHOD_NOT_ALLOWED = 405 "method_not_allowed" "Method not allowed";
    /// Request body larger than 1 MiB.
    BODY_TOO_LARGE = 413 "request_entity_too_large" "Request body too large (max 1048576 bytes)";
    /// The request body ended early.
    BODY_INCOMPLETE = 400 "bad_json" "Could not parse request body as JSON: unexpected EOF";

    /// Missing bearer token.
    NO_AUTHORIZATION = 401 "no_authorization" "This endpoint requires a valid Bearer token";
    /// The token was not signed by this server, or is not an access token.
    BAD_JWT = 403 "bad_jwt" "invalid JWT: unable to parse or verify signature";
    /// The token has expired.
    EXPIRED_JWT = 403 "bad_jwt" "invalid JWT: unable to parse or verify signature, token has invalid claims: token is expired";
    /// The session of the token has ended.
    SESSION_NOT_FOUND = 403 "session_not_found" "Session from session_id claim in JWT does not exist";
    /// The user of the token was deleted.
    USER_NOT_FOUND = 403 "user_not_found" "User from sub claim in JWT does not exist";

    /// The operator allows no sign-up, or new accounts could not be confirmed: no mail server is configured, and
    /// autoconfirm is off.
    SIGNUP_DISABLED = 422 "signup_disabled" "Signups not allowed for this instance";
    /// Sign-up with an address of a domain that the operator does not allow.
    ADDRESS_NOT_AUTHORIZED = 400 "email_address_not_authorized" "Email address cannot be used as it is not authorized";
    /// Sign-up with a registration token that does not exist or was revoked.
    REGISTRATION_TOKEN_INVALID = 422 "registration_token_invalid" "Registration token is not valid";
    /// Sign-up with a registration token that has expired.
    REGISTRATION_TOKEN_EXPIRED = 422 "registration_token_expired" "Registration token has expired";
    /// Sign-up with a registration token that was used as often as is allowed.
    REGISTRATION_TOKEN_USED_UP = 422 "registration_token_used_up" "Registration token has no uses left";
    /// Sign-up without an email address and phone number.
    ANONYMOUS_DISABLED = 422 "anonymous_provider_disabled" "Anonymous sign-ins are disabled";
    /// Sign-up with a phone number.
    PHONE_SIGNUP_DISABLED = 400 "phone_provider_disabled" "Phone signups are disabled";
    /// Sign-in with a phone number.
    PHONE_LOGIN_DISABLED = 422 "phone_provider_disabled" "Phone logins are disabled";
    /// Unknown channel for messages to a phone.
    INVALID_CHANNEL = 400 "validation_failed" "Invalid channel, supported values are 'sms' or 'whatsapp'. 'whatsapp' is only supported if Twilio or Twilio Verify is used as the provider.";
    /// Phone number for an account.
    PHONE_CHANGE_DISABLED = 400 "phone_provider_disabled" "Unsupported phone provider";
    /// A new address would have to be confirmed by email, but no mail server is configured.
    EMAIL_CHANGE_DISABLED = 422 "email_provider_disabled" "Email changes are disabled: no mail server is configured to confirm the new address";
    /// Sign-up with an address that already has an account.
    USER_ALREADY_EXISTS = 422 "user_already_exists" "User already registered";
    /// The new address belongs to another account.
    EMAIL_EXISTS = 422 "email_exists" "A user with this email address has already been registered";
    /// The new password equals the current one.
    SAME_PASSWORD = 422 "same_password" "New password should be different from the old password.";
    /// The request contains a current password, and it is wrong.
    CURRENT_PASSWORD_INVALID = 400 "current_password_invalid" "Current password required when setting new password.";
    /// Users cannot change their own `app_metadata`.
    NOT_ADMIN = 403 "not_admin" "Updating app_metadata requires admin privileges";

    /// The session has not passed the second factor that its user has.
    INSUFFICIENT_AAL = 403 "insufficient_aal" "AAL2 session is required: verify your second factor first";
    /// Change of credentials in a session that has not passed the second factor.
    UPDATE_NEEDS_AAL2 = 401 "insufficient_aal" "AAL2 session is required to update email or password when MFA is enabled.";
    /// Enrollment of another factor in a session that has not passed the existing one.
    ENROLL_NEEDS_AAL2 = 403 "insufficient_aal" "AAL2 required to enroll a new factor";
    /// Removal of a verified factor in a session that has not passed it.
    UNENROLL_NEEDS_AAL2 = 422 "insufficient_aal" "AAL2 required to unenroll verified factor";
    /// Anonymous users have no credentials that a factor could protect.
    ANONYMOUS_NOT_ALLOWED = 403 "no_authorization" "Anonymous user not allowed to perform these actions";
    /// A factor that does not exist or belongs to another user.
    FACTOR_NOT_FOUND = 404 "mfa_factor_not_found" "Factor not found";
    /// The id of a factor is not a UUID.
    FACTOR_ID_MALFORMED = 404 "validation_failed" "factor_id must be an UUID";
    /// The user has the maximum number of factors.
    TOO_MANY_FACTORS = 422 "too_many_enrolled_mfa_factors" "Maximum number of verified factors reached, unenroll to continue";
    /// The challenge does not exist or belongs to another factor.
    CHALLENGE_NOT_FOUND = 422 "mfa_factor_not_found" "MFA factor with the provided challenge ID not found";
    /// The challenge was already answered, or was requested from another network address.
    CHALLENGE_ADDRESS_MISMATCH = 422 "mfa_ip_address_mismatch" "Challenge and verify IP addresses mismatch.";
    /// Missing TOTP code.
    MFA_CODE_MISSING = 400 "validation_failed" "Code needs to be non-empty";
    /// The TOTP code is wrong or was already used.
    MFA_CODE_INVALID = 422 "mfa_verification_failed" "Invalid TOTP code entered";
    /// The recovery code is wrong or was already used.
    RECOVERY_CODE_INVALID = 422 "mfa_verification_failed" "Invalid recovery code entered";
    /// The user has recovery codes, which can be renewed.
    RECOVERY_CODES_EXIST = 422 "mfa_verified_factor_exists" "Recovery codes already exist, regenerate them instead";
    /// Recovery codes without a factor whose code they could replace.
    RECOVERY_CODES_NEED_FACTOR = 422 "mfa_recovery_codes_sole_factor" "Recovery codes need another verified factor";
    /// Enrollment of a phone as a factor.
    PHONE_FACTOR_DISABLED = 422 "mfa_phone_enroll_not_enabled" "MFA enroll is disabled for Phone";
    /// The response of the security key was rejected.
    SECURITY_KEY_INVALID = 422 "mfa_verification_failed" "Security key verification failed";
    /// Use of a security key at a site without a domain name.
    WEBAUTHN_VERIFICATION_DISABLED = 422 "mfa_webauthn_verify_not_enabled" "MFA verification is disabled for WebAuthn";
    /// Enrollment of a security key where browsers use none, or only the identity provider may sign in.
    WEBAUTHN_FACTOR_DISABLED = 422 "mfa_webauthn_enroll_not_enabled" "MFA enroll is disabled for WebAuthn";
    /// Unknown type of factor.
    UNKNOWN_FACTOR_TYPE = 400 "validation_failed" "factor_type needs to be totp, phone, or webauthn";

    /// A password for an anonymous user, who could not sign in with it without an address.
    PASSWORD_NEEDS_EMAIL = 422 "validation_failed" "Updating password of an anonymous user without an email or phone is not allowed";
    /// The token is neither the service role key nor a JWT with an administrator's role.
    ADMIN_REQUIRED = 403 "not_admin" "User not allowed";
    /// The user that the administrator names does not exist.
    ADMIN_USER_NOT_FOUND = 404 "user_not_found" "User not found";
    /// The administrator requests a link for an address without an account.
    USER_WITH_EMAIL_NOT_FOUND = 404 "user_not_found" "User with this email not found";
    /// The id of an identity is not a UUID.
    IDENTITY_ID_MALFORMED = 404 "validation_failed" "identity_id must be an UUID";
    /// The caller has no such identity.
    IDENTITY_NOT_FOUND = 422 "identity_not_found" "Identity doesn't exist";
    /// The identity at the provider belongs to another account.
    IDENTITY_ALREADY_EXISTS = 422 "identity_already_exists" "Identity is already linked to another user";
    /// Without the identity, the user could not sign in.
    SINGLE_IDENTITY_NOT_DELETABLE = 422 "single_identity_not_deletable" "User must have another way to sign in after unlinking";
    /// The identity of the email address, which is part of the account.
    EMAIL_IDENTITY_NOT_DELETABLE = 422 "single_identity_not_deletable" "The email address cannot be unlinked; change it instead";
    /// The id of a user is not a UUID.
    USER_ID_MALFORMED = 404 "validation_failed" "user_id must be an UUID";
    /// Passkeys are not supported, so no user has one.
    PASSKEY_NOT_FOUND = 404 "validation_failed" "Passkey not found";
    /// Passkeys are not available here.
    PASSKEYS_DISABLED = 404 "passkey_disabled" "Passkeys are disabled";
    /// Changing passkeys needs the second factor of a user who has one.
    PASSKEYS_NEED_AAL2 = 403 "insufficient_aal" "AAL2 session is required to manage passkeys when MFA is enabled";
    /// The user has as many passkeys as are allowed.
    TOO_MANY_PASSKEYS = 422 "too_many_passkeys" "Maximum number of passkeys reached";
    /// The credential is registered already.
    PASSKEY_EXISTS = 422 "webauthn_credential_exists" "This credential is already registered";
    /// The challenge does not exist, was used, or belongs to another user or purpose.
    PASSKEY_CHALLENGE_UNKNOWN = 400 "webauthn_challenge_not_found" "Challenge not found or already used";
    /// The challenge has expired.
    PASSKEY_CHALLENGE_EXPIRED = 400 "webauthn_challenge_expired" "Challenge has expired";
    /// The response of the authenticator has not the expected shape.
    PASSKEY_RESPONSE_INVALID = 400 "webauthn_verification_failed" "Invalid credential response";
    /// The response of the authenticator was rejected.
    PASSKEY_NOT_VERIFIED = 400 "webauthn_verification_failed" "Credential verification failed";
    /// Sign-in with a passkey of an account whose address is not confirmed.
    EMAIL_NOT_CONFIRMED_PASSKEY = 403 "email_not_confirmed" "Email not confirmed";
    /// All users have the same role and audience, which cannot be changed.
    ROLE_NOT_SUPPORTED = 400 "validation_failed" "Only the role and the audience 'authenticated' are supported";
    /// Import of a password hash.
    PASSWORD_HASH_UNSUPPORTED = 400 "validation_failed" "password_hash is not supported, use password instead";
    /// Password sign-in of a banned user.
    BANNED_LOGIN = 400 "user_banned" "User is banned";
    /// Refresh of a banned user's session.
    BANNED_REFRESH = 400 "user_banned" "Invalid Refresh Token: User Banned";

    /// Unknown address or wrong password. The error is the same, so that it does not disclose which accounts exist.
    INVALID_CREDENTIALS = 400 "invalid_credentials" "Invalid login credentials";
    /// The address of the account is not confirmed.
    EMAIL_NOT_CONFIRMED = 400 "email_not_confirmed" "Email not confirmed";
    /// Unknown grant type.
    UNSUPPORTED_GRANT_TYPE = 400 "invalid_credentials" "unsupported_grant_type";
    /// The refresh token was not issued by this server, or its session has ended.
    REFRESH_TOKEN_NOT_FOUND = 400 "refresh_token_not_found" "Invalid Refresh Token: Refresh Token Not Found";
    /// The session has reached its maximum age.
    SESSION_EXPIRED = 400 "session_expired" "Invalid Refresh Token: Session Expired";
    /// The tokens of the session were not renewed in time.
    SESSION_INACTIVE = 400 "session_expired" "Invalid Refresh Token: Session Expired (Inactivity)";
    /// The refresh token was reused. It may be stolen, so its session was ended.
    REFRESH_TOKEN_ALREADY_USED = 400 "refresh_token_already_used" "Invalid Refresh Token: Already Used";
    /// Concurrent requests kept changing the same account.
    CONFLICT = 409 "conflict" "Too many concurrent requests on the same session";
    /// Concurrent requests kept rotating the same refresh token.
    REFRESH_CONFLICT = 409 "conflict" "Too many concurrent token refresh requests on the same session or refresh token";

    /// Sign-up with a password where the identity provider is the only way to sign in.
    EMAIL_SIGNUPS_DISABLED = 400 "email_provider_disabled" "Email signups are disabled";
    /// Sign-in by password or email where the identity provider is the only way to sign in.
    EMAIL_LOGINS_DISABLED = 422 "email_provider_disabled" "Email logins are disabled";
    /// No identity provider is configured.
    PROVIDER_NOT_ENABLED = 400 "validation_failed" "Unsupported provider: provider is not enabled";
    /// The identity provider did not answer, or its answer cannot be trusted. The log says why.
    PROVIDER_FAILED = 500 "unexpected_failure" "Unable to sign in at the identity provider";
    /// The redirect from the identity provider has no state.
    OAUTH_STATE_MISSING = 400 "bad_oauth_callback" "OAuth state parameter missing";
    /// The sign-in is unknown, was completed before, or took too long.
    OAUTH_STATE_UNKNOWN = 400 "bad_oauth_state" "OAuth state not found or expired";
    /// The sign-in was begun in another browser.
    OAUTH_OTHER_BROWSER = 400 "bad_oauth_state" "OAuth state was issued to another browser";
    /// The redirect is from another provider than the one that was asked.
    OAUTH_CALLBACK_INVALID = 400 "bad_oauth_callback" "OAuth callback of another issuer";
    /// The redirect from the identity provider has neither a code nor an error.
    OAUTH_CODE_MISSING = 400 "bad_oauth_callback" "OAuth code parameter missing";
    /// The identity provider names no address, which a new account needs.
    PROVIDER_EMAIL_MISSING = 422 "email_address_not_provided" "The identity provider did not return an email address";
    /// The identity provider has not verified the address.
    PROVIDER_EMAIL_UNVERIFIED = 403 "provider_email_needs_verification" "The identity provider has not verified the email address";
    /// The address belongs to an account that the identity provider does not sign in to.
    ACCOUNT_EXISTS = 422 "email_exists" "An account with this email address already exists, and is not linked to the identity provider";
    /// No mail server is configured.
    EMAIL_DISABLED = 400 "email_provider_disabled" "Emails are disabled: no mail server is configured";
    /// No mail server is configured that could send a magic link.
    MAGIC_LINK_DISABLED = 422 "email_provider_disabled" "Emails are disabled: no mail server is configured";
    /// No mail server is configured, or the address has no account and the request does not allow creating one.
    OTP_DISABLED = 422 "otp_disabled" "Signups not allowed for otp";
    /// The emailed code is wrong or has expired.
    OTP_EXPIRED = 403 "otp_expired" "Token has expired or is invalid";
    /// The emailed link is unknown, used or expired.
    LINK_EXPIRED = 403 "otp_expired" "Email link is invalid or has expired";
    /// An administrator has banned the user.
    USER_BANNED = 403 "user_banned" "User is banned";
    /// The auth code is unknown or was already exchanged.
    FLOW_STATE_NOT_FOUND = 404 "flow_state_not_found" "invalid flow state, no valid flow state found";
    /// The auth code has expired.
    FLOW_STATE_EXPIRED = 422 "flow_state_expired" "invalid flow state, flow state has expired";
    /// The code verifier does not match the challenge: another client started the flow.
    BAD_CODE_VERIFIER = 400 "bad_code_verifier" "code challenge does not match previously saved code verifier";
    /// The last proof of identity is too old for a new password.
    REAUTHENTICATION_NEEDED = 400 "reauthentication_needed" "Password update requires reauthentication";
    /// The last proof of identity is too old for a change of address, factors or keys.
    ACTION_NEEDS_REAUTHENTICATION = 400 "reauthentication_needed" "This change requires reauthentication";
    /// The emailed reauthentication code is wrong or has expired.
    REAUTHENTICATION_NOT_VALID = 422 "reauthentication_not_valid" "Nonce has expired or is invalid";
    /// The user has no address to send a reauthentication code to.
    REAUTHENTICATION_NEEDS_EMAIL = 400 "validation_failed" "Reauthentication requires the user to have an email or a phone number";
    /// The address is not confirmed, so a reauthentication code might go to another person's mailbox.
    REAUTHENTICATION_EMAIL_NOT_CONFIRMED = 422 "email_not_confirmed" "Please verify your email first.";
}
