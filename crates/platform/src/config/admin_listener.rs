//! Settings of the operator's listener.

use std::net::SocketAddr;

use secrecy::SecretString;

use super::source::{ConfigError, Source};

/// Minimum length of the token, in characters, so that it cannot be guessed.
const SHORTEST_TOKEN: usize = 32;

/// Where the operator's routes are served, and with which token.
#[derive(Debug, Clone)]
pub struct AdminListener {
    /// `CHAT_ADMIN_LISTEN`: the address. Users never need it.
    pub address: SocketAddr,
    /// `CHAT_ADMIN_TOKEN`: the bearer token of all of its routes but the health probes.
    pub token: SecretString,
}

impl AdminListener {
    /// Reads the settings. Returns `None` if there is no address.
    pub(super) fn read(source: &mut Source) -> Result<Option<Self>, ConfigError> {
        let address = source.parse("CHAT_ADMIN_LISTEN", "an address such as 127.0.0.1:9090")?;
        let token = source.long_secret("CHAT_ADMIN_TOKEN", SHORTEST_TOKEN)?;
        let alone = |name: &str, other: &str| {
            Err(ConfigError::Bad { name: name.to_owned(), reason: format!("it has no effect without {other}") })
        };
        match (address, token) {
            (Some(address), Some(token)) => Ok(Some(Self { address, token })),
            (None, None) => Ok(None),
            // Rejected, because an operator who sets one of them expects the listener.
            (Some(_), None) => alone("CHAT_ADMIN_LISTEN", "CHAT_ADMIN_TOKEN"),
            (None, Some(_)) => alone("CHAT_ADMIN_TOKEN", "CHAT_ADMIN_LISTEN"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "a token of at least 32 characters";

    fn read(values: &[(&str, &str)]) -> Result<Option<AdminListener>, String> {
        let mut source = values.iter().fold(Source::default(), |source, (name, value)| source.with(name, *value));
        AdminListener::read(&mut source).map_err(|error| error.to_string())
    }

    #[test]
    fn needs_address_and_token() {
        assert!(read(&[]).unwrap().is_none());
        let both = [("CHAT_ADMIN_LISTEN", "127.0.0.1:9090"), ("CHAT_ADMIN_TOKEN", TOKEN)];
        assert_eq!(read(&both).unwrap().unwrap().address, "127.0.0.1:9090".parse().unwrap());
        for (given, missing) in [(both[0], "CHAT_ADMIN_TOKEN"), (both[1], "CHAT_ADMIN_LISTEN")] {
            let error = read(&[given]).unwrap_err();
            assert!(error.starts_with(given.0) && error.contains(missing), "{error}");
        }
    }

    #[test]
    fn rejects_short_tokens_and_bad_addresses() {
        for (address, token, name) in
            [("127.0.0.1:9090", "short", "CHAT_ADMIN_TOKEN"), ("9090", TOKEN, "CHAT_ADMIN_LISTEN")]
        {
            let error = read(&[("CHAT_ADMIN_LISTEN", address), ("CHAT_ADMIN_TOKEN", token)]).unwrap_err();
            assert!(error.starts_with(name), "{error}");
        }
    }
}
